// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of a message. They depend on struct fl_mail alone, so that what
 * was shown for approval is what is sent: the MIME boundary comes from the
 * message id, and nothing reads a clock but fl_mail_message_id().
 */
#include "mail.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "../util/clock.h"
#include "../util/fs.h"
#include "header.h"

#define LINE_MAX_BYTES 998 /* RFC 5322 section 2.1.1, less the CRLF */
#define QP_MAX 76
#define NAME_MAX_BYTES 200 /* times three, encoded, is still one line */

enum encoding { ENC_7BIT, ENC_8BIT, ENC_QP };

static const char *const encoding_str[] = { "7bit", "8bit",
					    "quoted-printable" };

/* What is needed to carry s: lone CR and control bytes count as binary. */
static enum encoding encoding_of(const char *s)
{
	enum encoding e = ENC_7BIT;
	size_t line = 0;

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '\r' && s[1] == '\n')
			continue;
		line = c == '\n' ? 0 : line + 1;
		if (line > LINE_MAX_BYTES || c == 0x7f ||
		    (c < ' ' && c != '\n' && c != '\t'))
			return ENC_QP;
		if (c > 0x7f)
			e = ENC_8BIT;
	}
	return e;
}

static bool is_eol(const char *s)
{
	return *s == '\n' || (*s == '\r' && s[1] == '\n');
}

/* RFC 2045 section 6.7: hard line breaks stay, soft ones keep lines short. */
static void put_qp(struct fl_buf *out, const char *s)
{
	size_t col = 0;

	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		bool blank = c == ' ' || c == '\t';
		bool ends = !s[1] || is_eol(s + 1);
		bool plain = blank ? !ends : c > ' ' && c < 0x7f && c != '=';
		size_t need = plain ? 1 : 3;

		if (is_eol(s)) {
			fl_buf_puts(out, "\r\n");
			s += *s == '\r';
			col = 0;
			continue;
		}
		if (col + need > QP_MAX - 1) {
			fl_buf_puts(out, "=\r\n");
			col = 0;
		}
		if (plain)
			fl_buf_putc(out, (char)c);
		else
			fl_buf_printf(out, "=%02X", c);
		col += need;
	}
}

static void put_lines(struct fl_buf *out, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, "\n");
		bool nl = s[n] == '\n';
		size_t text = nl && n && s[n - 1] == '\r' ? n - 1 : n;

		fl_buf_add(out, s, text);
		if (nl)
			fl_buf_puts(out, "\r\n");
		s += n + nl;
	}
}

/* Content headers (without the type's line), an empty line, the text. */
static void put_content(struct fl_buf *out, const char *text)
{
	enum encoding e = encoding_of(text);

	fl_buf_printf(out, "Content-Transfer-Encoding: %s\r\n\r\n",
		      encoding_str[e]);
	if (e == ENC_QP)
		put_qp(out, text);
	else
		put_lines(out, text);
}

/* The file name of an attachment; RFC 2231 when it is not a plain word. */
static int put_disposition(struct fl_buf *out, const char *name,
			   struct fl_err *err)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ._-";
	_cleanup_free_ char *clean = fl_mail_utf8(name);

	if (!*clean || strlen(clean) > NAME_MAX_BYTES ||
	    strpbrk(clean, "\r\n/"))
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"attachment name must be 1 to %d bytes without '/' or line breaks",
			NAME_MAX_BYTES);
	fl_buf_puts(out, "Content-Disposition: attachment;\r\n ");
	if (!clean[strspn(clean, plain)]) {
		fl_buf_printf(out, "filename=\"%s\"\r\n", clean);
		return 0;
	}
	fl_buf_puts(out, "filename*=UTF-8''");
	for (const char *p = clean; *p; p++) {
		if (strchr(plain, *p))
			fl_buf_putc(out, *p);
		else
			fl_buf_printf(out, "%%%02X", (unsigned char)*p);
	}
	fl_buf_puts(out, "\r\n");
	return 0;
}

/* A boundary that no line of any part begins with. */
static void make_boundary(const struct fl_mail *m, char out[40])
{
	char hash[FL_HASH_HEX];
	bool clash;

	fl_hash_bytes(m->message_id, strlen(m->message_id), hash);
	do {
		fl_hash_bytes(hash, sizeof(hash) - 1, hash);
		snprintf(out, 40, "=_%.32s", hash);
		clash = strstr(m->body, out);
		for (size_t i = 0; i < m->nattach; i++)
			clash = clash || strstr(m->attach_texts[i], out);
	} while (clash);
}

static bool any_8bit(const char *body, const struct fl_mail *m)
{
	bool any = encoding_of(body) == ENC_8BIT;

	for (size_t i = 0; i < m->nattach; i++) {
		_cleanup_free_ char *text = fl_mail_utf8(m->attach_texts[i]);

		any = any || encoding_of(text) == ENC_8BIT;
	}
	return any;
}

static int put_multipart(const struct fl_mail *m, const char *body,
			 struct fl_buf *out, struct fl_err *err)
{
	static const char type[] = "Content-Type: text/plain; charset=UTF-8";
	char boundary[40];

	make_boundary(m, boundary);
	fl_buf_printf(out,
		      "Content-Type: multipart/mixed;\r\n boundary=\"%s\"\r\n",
		      boundary);
	/* Its own encoding must cover the parts (RFC 2045 section 6.4). */
	fl_buf_printf(out, "Content-Transfer-Encoding: %s\r\n\r\n",
		      encoding_str[any_8bit(body, m) ? ENC_8BIT : ENC_7BIT]);
	fl_buf_printf(out, "--%s\r\n%s\r\n", boundary, type);
	put_content(out, body);
	for (size_t i = 0; i < m->nattach; i++) {
		_cleanup_free_ char *text = fl_mail_utf8(m->attach_texts[i]);
		int r;

		fl_buf_printf(out, "\r\n--%s\r\n%s\r\n", boundary, type);
		r = put_disposition(out, m->attach_names[i], err);
		if (r < 0)
			return r;
		put_content(out, text);
	}
	fl_buf_printf(out, "\r\n--%s--\r\n", boundary);
	return 0;
}

/* Not strftime(): its names follow the locale. */
static int put_date(struct fl_buf *out, int64_t date, struct fl_err *err)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed",
					"Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr",
					  "May", "Jun", "Jul", "Aug",
					  "Sep", "Oct", "Nov", "Dec" };
	time_t t = (time_t)date;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || tm.tm_year < 0 || tm.tm_year > 8099)
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "mail date out of range");
	fl_buf_printf(out, "Date: %s, %02d %s %04d %02d:%02d:%02d +0000\r\n",
		      days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon],
		      tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
	return 0;
}

static int put_recipients(const struct fl_mail *m, struct fl_buf *out,
			  struct fl_err *err)
{
	int r;

	if (!m->to || !m->to->n)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "the mail has no recipient: set 'to'");
	r = fl_header_mailboxes(out, "To", m->to->s, m->to->n, err);
	if (!r && m->cc && m->cc->n)
		r = fl_header_mailboxes(out, "Cc", m->cc->s, m->cc->n, err);
	return r;
}

static int put_headers(const struct fl_mail *m, struct fl_buf *out,
		       struct fl_err *err)
{
	char *from = (char *)m->from;
	int r = fl_header_mailboxes(out, "From", &from, 1, err);

	if (!r)
		r = put_recipients(m, out, err);
	if (!r)
		r = fl_header_text(out, "Subject", m->subject, err);
	if (!r)
		r = put_date(out, m->date, err);
	if (!r)
		r = fl_header_msgid(out, "Message-ID", m->message_id, err);
	if (!r && m->in_reply_to)
		r = fl_header_msgid(out, "In-Reply-To", m->in_reply_to, err);
	if (!r && m->in_reply_to)
		r = fl_header_msgid(out, "References", m->in_reply_to, err);
	fl_buf_puts(out, "MIME-Version: 1.0\r\n");
	return r;
}

int fl_mail_compose(const struct fl_mail *m, struct fl_buf *out,
		    struct fl_err *err)
{
	_cleanup_free_ char *body = fl_mail_utf8(m->body);
	_cleanup_buf_ struct fl_buf msg = { 0 };
	int r = put_headers(m, &msg, err);

	if (!r && m->nattach) {
		r = put_multipart(m, body, &msg, err);
	} else if (!r) {
		fl_buf_puts(&msg,
			    "Content-Type: text/plain; charset=UTF-8\r\n");
		put_content(&msg, body);
		if (msg.s[msg.len - 1] != '\n')
			fl_buf_puts(&msg, "\r\n");
	}
	if (!r)
		fl_buf_add(out, msg.s, msg.len);
	return r;
}

char *fl_mail_message_id(const char *from)
{
	_cleanup_free_ char *addr = fl_mail_address(from);
	const char *at = addr ? strrchr(addr, '@') : NULL;
	time_t t = (time_t)fl_clock_now();
	uint64_t random;
	struct tm tm;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random) ||
	    !gmtime_r(&t, &tm))
		abort();
	return fl_asprintf("%04d%02d%02d%02d%02d%02d.%016llx@%s",
			   tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			   tm.tm_hour, tm.tm_min, tm.tm_sec,
			   (unsigned long long)random,
			   at ? at + 1 : "localhost");
}
