/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs that judge: compare and nightly (cmd-compare.c), trend. */
#ifndef FL_CMD_COMPARE_H
#define FL_CMD_COMPARE_H

#include "cli.h"

int fl_cmd_compare(struct fl_cli *cli, struct fl_err *err);
int fl_cmd_nightly(struct fl_cli *cli, struct fl_err *err);
int fl_cmd_trend(struct fl_cli *cli, struct fl_err *err);

#endif
