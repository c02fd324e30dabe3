/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log: one line per event on stderr, "faultline: <text>". On a terminal
 * the progress line (progress.h) is cleared first, so the two never mix.
 */
#ifndef FL_UTIL_LOG_H
#define FL_UTIL_LOG_H

#include <stdbool.h>
#include "cleanup.h"

enum fl_log_level { FL_LOG_ERROR, FL_LOG_WARN, FL_LOG_INFO, FL_LOG_DEBUG };

void fl_log_set_level(enum fl_log_level level);
void fl_log_at(enum fl_log_level level, const char *fmt, ...) _printf_(2, 3);

#define fl_error(...) fl_log_at(FL_LOG_ERROR, __VA_ARGS__)
#define fl_warn(...) fl_log_at(FL_LOG_WARN, __VA_ARGS__)
#define fl_info(...) fl_log_at(FL_LOG_INFO, __VA_ARGS__)
#define fl_debug(...) fl_log_at(FL_LOG_DEBUG, __VA_ARGS__)

/*
 * The progress line: replaced in place when stderr is a terminal. Elsewhere
 * each distinct text is one line, at most one per ten seconds.
 */
void fl_progress(const char *fmt, ...) _printf_(1, 2);
void fl_progress_end(void);
/* Is progress wanted, and stderr a terminal? */
bool fl_progress_live(void);
/*
 * Several lines in place of the progress line, where it is live; "\n" between
 * them, cut where the terminal ends.
 */
void fl_progress_block(const char *text);
/* A line of progress that stays: as fl_info(), without the program's name. */
void fl_note(const char *fmt, ...) _printf_(1, 2);

#endif
