/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verb `bisect run`, for the table in cmd-bisect.c. */
#ifndef FL_CMD_BISECT_RUN_H
#define FL_CMD_BISECT_RUN_H

#include "cli.h"

int fl_cmd_bisect_run(struct fl_cli *cli, struct fl_err *err);
/* The result of fl_brun() in words, at most 79 columns wide; stdout. */
void fl_cmd_bisect_run_print(const json_t *result);

#endif
