// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The chart of `stat detect`: a column is a stretch of the series, drawn at
 * the mean of its values, with the levels behind it.
 */
#include "cmd-stat.h"

#include <math.h>
#include <string.h>

#define COLUMNS 64
#define ROWS 9
#define AXIS 10

struct chart {
	size_t n, columns;
	double mean[COLUMNS], level[COLUMNS];
	char foot[COLUMNS + 1];
	double lo, hi;
};

static size_t column_of(const struct chart *c, size_t i)
{
	return (size_t)((double)i * (double)c->columns / (double)c->n);
}

static void fill(struct chart *c, const double *y, const struct fl_detection *d)
{
	size_t count[COLUMNS] = { 0 }, g = 0, spike = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t at = column_of(c, i);

		while (g + 1 < d->nsegments && i >= d->segments[g].to)
			g++;
		c->level[at] = d->segments[g].level;
		if (spike < d->nspikes && d->spikes[spike].at == i)
			spike++;
		else
			c->mean[at] +=
				(y[i] - c->mean[at]) / (double)++count[at];
	}
	for (size_t i = 0; i < c->columns; i++)
		if (!count[i])
			c->mean[i] = NAN;
}

/* Spikes are marked below, so that they do not flatten all else. */
static void mark(struct chart *c, const struct fl_detection *d)
{
	memset(c->foot, ' ', c->columns);
	c->foot[c->columns] = '\0';
	for (size_t i = 0; i < d->nspikes; i++)
		c->foot[column_of(c, d->spikes[i].at)] = 'x';
	for (size_t i = 0; i < d->nchanges; i++)
		if (!d->changes[i].small)
			c->foot[column_of(c, d->changes[i].at)] = '^';
	if (d->suspect.n)
		c->foot[column_of(c, d->suspect.at)] = '?';
}

static int row_of(const struct chart *c, double y)
{
	double part = c->hi > c->lo ? (y - c->lo) / (c->hi - c->lo) : 0.5;

	return isnan(y) ? -1 : (int)((1 - part) * (ROWS - 1) + 0.5);
}

static void print_row(const struct chart *c, int row,
		      const struct fl_scale *scale)
{
	char text[COLUMNS + 1], axis[32] = "";
	size_t end = 0;

	for (size_t i = 0; i < c->columns; i++) {
		text[i] = ' ';
		if (row_of(c, c->level[i]) == row)
			text[i] = '-';
		if (row_of(c, c->mean[i]) == row)
			text[i] = '*';
		if (text[i] != ' ')
			end = i + 1;
	}
	text[end] = '\0';
	if (row == 0 || row == ROWS - 1)
		snprintf(axis, sizeof(axis), "%.6g",
			 fl_scale_from(scale, row ? c->lo : c->hi));
	printf("%*s |%s\n", AXIS, axis, text);
}

void fl_stat_chart(const double *y, size_t n, const struct fl_detection *d,
		   const struct fl_scale *scale)
{
	struct chart c = { .n = n, .lo = INFINITY, .hi = -INFINITY };

	c.columns = n < COLUMNS ? n : COLUMNS;
	fill(&c, y, d);
	mark(&c, d);
	for (size_t i = 0; i < c.columns; i++) {
		c.lo = fmin(c.lo, fmin(c.mean[i], c.level[i]));
		c.hi = fmax(c.hi, fmax(c.mean[i], c.level[i]));
	}
	for (int row = 0; row < ROWS; row++)
		print_row(&c, row, scale);
	for (size_t i = c.columns; i && c.foot[i - 1] == ' '; i--)
		c.foot[i - 1] = '\0';
	if (*c.foot)
		printf("%*s  %s\n", AXIS, "", c.foot);
}
