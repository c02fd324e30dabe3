// SPDX-License-Identifier: GPL-2.0-only
/*
 * Events: one JSON object a line on a serial port of their own, so that
 * console noise cannot corrupt them. Sending waits until the bytes have left,
 * so that no transmit interrupt falls into a timed window.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define STR_MAX 2048
/* Room for the closing brackets, whatever was left out before. */
#define TAIL 8

static int port = -1;

int fl_report_open(void)
{
	struct termios t;

	port = open(FL_EVENT_PORT, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (port < 0)
		return -1;
	if (tcgetattr(port, &t) < 0)
		return -1;
	cfmakeraw(&t);
	return tcsetattr(port, TCSANOW, &t);
}

void fl_report_raw(struct fl_line *l, const char *fmt, ...)
{
	size_t room = sizeof(l->text) - TAIL - l->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, room, fmt, ap);
	va_end(ap);
	/* What does not fit is left out whole: the line stays valid JSON. */
	if (n > 0 && (size_t)n < room)
		l->len += (size_t)n;
	l->text[l->len] = '\0';
}

void fl_report_begin(struct fl_line *l, const char *event)
{
	l->len = 0;
	fl_report_raw(l, "{\"event\":\"%s\"", event);
}

void fl_report_str(struct fl_line *l, const char *key, const char *text)
{
	char out[STR_MAX * 6 + 1];
	size_t n = 0;

	for (size_t i = 0; i < STR_MAX && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];

		/* Bytes past ASCII go out as Latin-1: valid in any case. */
		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			n += (size_t)sprintf(out + n, "\\u%04x", c);
		else
			out[n++] = (char)c;
	}
	out[n] = '\0';
	fl_report_raw(l, ",\"%s\":\"%s\"", key, out);
}

void fl_report_num(struct fl_line *l, const char *key, double v)
{
	fl_report_raw(l, ",\"%s\":%.10g", key, v);
}

void fl_report_send(struct fl_line *l)
{
	size_t done = 0;

	l->text[l->len++] = '}';
	l->text[l->len++] = '\n';
	while (done < l->len) {
		ssize_t n = write(port, l->text + done, l->len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return; /* nobody to tell; the host sees silence */
		done += (size_t)n;
	}
	tcdrain(port);
}
