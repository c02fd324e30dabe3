// SPDX-License-Identifier: GPL-2.0-or-later
/* See log.h. Single-threaded by design, like the whole program. */
#include "log.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include "buf.h"
#include "clock.h"

static enum fl_log_level max_level = FL_LOG_INFO;
static bool line_open;

void fl_log_set_level(enum fl_log_level level)
{
	max_level = level;
}

static void clear_line(void)
{
	if (line_open)
		fputs("\r\033[K", stderr);
	line_open = false;
}

void fl_log_at(enum fl_log_level level, const char *fmt, ...)
{
	static const char *const word[] = { "error: ", "warning: ", "", "" };
	char *text = NULL;
	va_list ap;

	if (level > max_level)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	/* One line each, also when it quotes a compiler or a remote. */
	fl_text_plain(text, "\t");
	clear_line();
	fprintf(stderr, "faultline: %s%s\n", word[level], text);
	free(text);
}

void fl_progress(const char *fmt, ...)
{
	static char last[512];
	static int64_t last_ms;
	struct winsize ws = { 0 };
	int width = 80;
	char text[512];
	va_list ap;

	if (max_level < FL_LOG_INFO)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (isatty(STDERR_FILENO)) {
		if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) && ws.ws_col > 20)
			width = ws.ws_col;
		fprintf(stderr, "\r\033[K%.*s", width - 1, text);
		fflush(stderr);
		line_open = true;
		return;
	}
	if (!strcmp(text, last) ||
	    (last_ms && fl_clock_mono_ms() - last_ms < 10000))
		return;
	last_ms = fl_clock_mono_ms();
	memcpy(last, text, sizeof(last));
	fprintf(stderr, "%s\n", text);
}

void fl_progress_end(void)
{
	clear_line();
}
