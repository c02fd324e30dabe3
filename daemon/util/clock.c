// SPDX-License-Identifier: GPL-2.0-or-later
/* See clock.h. */
#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t fl_clock_now(void)
{
	const char *fixed = getenv("FAULTLINE_NOW");

	return fixed && *fixed ? strtoll(fixed, NULL, 10) : time(NULL);
}

int64_t fl_clock_mono_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

char *fl_clock_format(int64_t t, char *out, size_t n)
{
	time_t tt = (time_t)t;
	struct tm tm;

	if (!gmtime_r(&tt, &tm) || !strftime(out, n, "%Y-%m-%d %H:%M", &tm))
		snprintf(out, n, "?");
	return out;
}

char *fl_clock_span(double seconds, char *out, size_t n)
{
	long s = seconds < 0 ? 0 : (long)(seconds + 0.5);

	if (s < 60)
		snprintf(out, n, "%ld s", s);
	else if (s < 3600)
		snprintf(out, n, "%ld min %02ld s", s / 60, s % 60);
	else
		snprintf(out, n, "%ld h %02ld min", s / 3600, s / 60 % 60);
	return out;
}
