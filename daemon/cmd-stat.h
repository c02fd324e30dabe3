/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verbs on numbers that people bring along, and what they share with trend. */
#ifndef FL_CMD_STAT_H
#define FL_CMD_STAT_H

#include "cli.h"
#include "numbers.h"
#include "stats/detect.h"

/*
 * Ratios of positive numbers (the series are natural logs), or differences.
 * Differences are used where asked for or where a value is not positive.
 */
struct fl_scale {
	bool log;
	bool forced; /* differences because of a value, not of --linear */
	double delta; /* --threshold on that scale */
};

/*
 * Takes --linear and --threshold; `middle` is the value of which a percentage
 * is taken on the scale of differences.
 */
int fl_scale_take(const struct fl_cli *cli, bool positive, double middle,
		  const char *threshold, struct fl_scale *ret,
		  struct fl_err *err);
/* A value of a file on the scale, and back. */
double fl_scale_to(const struct fl_scale *s, double v);
double fl_scale_from(const struct fl_scale *s, double y);
/* "+5.40%", or "+12.5" as a difference. Returns out. */
#define FL_EFFECT 32
char *fl_effect(const struct fl_scale *s, double effect, char out[FL_EFFECT]);
/* "1.02%", or "12.5": a standard deviation. Returns out. */
char *fl_spread(const struct fl_scale *s, double sd, char out[FL_EFFECT]);
/* A number, or null where JSON has none. */
json_t *fl_json_real_or_null(double v);

int fl_cmd_stat_detect(struct fl_cli *cli, struct fl_err *err);

/* A chart of a history, 70 columns wide: values, levels, changes below. */
void fl_stat_chart(const double *y, size_t n, const struct fl_detection *d,
		   const struct fl_scale *scale);

#endif
