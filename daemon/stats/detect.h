/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history of a series: its noise, single spikes, and the points at which
 * its level changed. Pure functions; bad input (not finite, constant, short,
 * empty) gives a result that finds nothing, never an error. Formulas, sources
 * and measured figures: docs/STATISTICS.md, "History".
 */
#ifndef FL_STATS_DETECT_H
#define FL_STATS_DETECT_H

#include <stdbool.h>
#include <stddef.h>

struct fl_detect_params {
	/* What the recipe is known to scatter: standard deviation of one
	 * value, in units of the series. 0: not known. */
	double floor;
	double delta; /* smallest difference of two levels that matters */
};

/* The p below which a boundary is kept and the newest values are suspect. */
#define FL_DETECT_ALPHA 0.001
/* Values beyond this count as missing, like NaN and infinities. */
#define FL_DETECT_HUGE 1e100

/* Values [from, to) are on one level. */
struct fl_segment {
	size_t from, to;
	double level; /* mean without spikes and missing values */
	double sd; /* around the level; 0 for one value */
	size_t n; /* values behind level and sd */
};

/* The level changes between value at-1 and value at. */
struct fl_change {
	size_t at;
	/* The first value after the change is one of lo..hi (about 95 %). */
	size_t lo, hi;
	double effect, effect_lo, effect_hi; /* new minus old level, 95 % */
	/* Of the t that kept it. Where to cut was chosen by the data, so this
	 * ranks changes and is no rate of false alarms. */
	double p;
	bool small; /* less than delta: real, and asked not to be told */
};

struct fl_spike {
	size_t at;
	double effect; /* value minus level of its segment */
	bool small; /* less than delta */
};

/*
 * The newest one or two values lie off the last level: too few to believe.
 * Both sides have to be measured again. n == 0: no suspect.
 */
struct fl_suspect {
	size_t at, n;
	double effect, effect_lo, effect_hi, p;
};

struct fl_detection {
	size_t n, missing;
	/* Standard deviation of one value; correlation of neighbours (0..0.9);
	 * how much longer the series must be for it, (1+rho)/(1-rho). */
	double sigma, rho, inflation;
	struct fl_segment *segments; /* nchanges + 1, or none */
	struct fl_change *changes;
	struct fl_spike *spikes;
	size_t nsegments, nchanges, nspikes;
	struct fl_suspect suspect;
};

/*
 * y: n values in the order of history, on the scale on which a change is a
 * constant (logs for ratios). Fills ret; fl_detection_clear() releases it.
 * Time n log n: 300 values take 0.1 ms.
 */
void fl_detect(const double *y, size_t n, const struct fl_detect_params *params,
	       struct fl_detection *ret);
void fl_detection_clear(struct fl_detection *d);

#endif
