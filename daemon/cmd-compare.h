/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs that judge: compare and nightly (cmd-compare.c), trend, noise. */
#ifndef FL_CMD_COMPARE_H
#define FL_CMD_COMPARE_H

#include "cli.h"

int fl_cmd_compare(struct fl_cli *cli, struct fl_err *err);
int fl_cmd_nightly(struct fl_cli *cli, struct fl_err *err);
int fl_cmd_noise(struct fl_cli *cli, struct fl_err *err);
int fl_cmd_trend(struct fl_cli *cli, struct fl_err *err);

/* Rows of FL_ROWS_RESULTS, grouped by KPI; without `all`, what is not same.
 * (cmd-compare-table.c) */
void fl_print_results(const json_t *rows, bool all);

#endif
