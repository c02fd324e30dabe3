// SPDX-License-Identifier: GPL-2.0-or-later
/* See log.h. Single-threaded by design, like the whole program. */
#include "log.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include "buf.h"
#include "clock.h"

static enum fl_log_level max_level = FL_LOG_INFO;
static int lines_open; /* of progress on the terminal */

void fl_log_set_level(enum fl_log_level level)
{
	max_level = level;
}

static void clear_line(void)
{
	if (lines_open > 1)
		fprintf(stderr, "\033[%dA", lines_open - 1);
	if (lines_open)
		fputs("\r\033[J", stderr);
	lines_open = 0;
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
		clear_line();
		fprintf(stderr, "%.*s", width - 1, text);
		fflush(stderr);
		lines_open = 1;
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

bool fl_progress_live(void)
{
	return max_level >= FL_LOG_INFO && isatty(STDERR_FILENO);
}

/* How many bytes of s fill `width` columns, one a character. */
static int bytes_in(const char *s, int width)
{
	int n = 0;

	for (; s[n] && s[n] != '\n'; n++)
		if (((unsigned char)s[n] & 0xc0) != 0x80 && !width--)
			break;
	return n;
}

void fl_progress_block(const char *text)
{
	struct winsize ws = { 0 };
	int width = 80;

	if (!fl_progress_live())
		return;
	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) && ws.ws_col > 20)
		width = ws.ws_col;
	clear_line();
	/* No wrapping: characters of two columns would break the count. */
	fputs("\033[?7l", stderr);
	for (;;) {
		fprintf(stderr, "%.*s", bytes_in(text, width - 1), text);
		lines_open++;
		text = strchr(text, '\n');
		if (!text++)
			break;
		fputc('\n', stderr);
	}
	fputs("\033[?7h", stderr);
	fflush(stderr);
}

void fl_note(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;

	if (max_level < FL_LOG_INFO)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	fl_text_plain(text, "\t");
	clear_line();
	fprintf(stderr, "%s\n", text);
	free(text);
}
