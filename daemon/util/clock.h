/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time. fl_clock_now() is integer UTC seconds for rows; FAULTLINE_NOW in the
 * environment replaces it (tests). Durations use the monotonic clock.
 */
#ifndef FL_UTIL_CLOCK_H
#define FL_UTIL_CLOCK_H

#include <stdint.h>
#include <stddef.h>

int64_t fl_clock_now(void);
int64_t fl_clock_mono_ms(void);
/* "2026-11-30 15:27" in UTC into out (>= 20 bytes). Returns out. */
char *fl_clock_format(int64_t t, char *out, size_t n);
/* "9 s", "3 min 25 s", "2 h 05 min" into out (>= 24 bytes). Returns out. */
char *fl_clock_span(double seconds, char *out, size_t n);

#endif
