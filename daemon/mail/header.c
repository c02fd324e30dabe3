// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mailboxes and header fields. What may stand in a header is decided here:
 * printable ASCII goes out as it is, all else as Q encoded words of whole
 * UTF-8 characters, so a reader sees the text and no parser sees syntax.
 */
#include "header.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "../util/json.h"
#include "mail.h"

#define LINE_MAX_ENCODED 76 /* RFC 2047 section 2 */
#define WORD_MAX_RAW 200 /* longer words are encoded so that they can fold */
#define NAME_MAX_RAW 60
#define WIDE_GAP "          " /* nor can long gaps fold */
#define ADDRESS_MAX 254 /* RFC 5321 section 4.5.3.1.3, less the <> */
#define MSGID_MAX 400

char *fl_mail_utf8(const char *s)
{
	json_auto_t *whole = json_string(s), *fixed = NULL;

	if (whole)
		return fl_strdup(s);
	fixed = fl_json_text_value(s, strlen(s));
	return fl_strdup(json_string_value(fixed));
}

static int check_line(const char *name, const char *value, struct fl_err *err)
{
	if (!strpbrk(value, "\r\n"))
		return 0;
	return fl_err_set(err, -EINVAL, FL_E_USER,
			  "line break in the value of mail header '%s'", name);
}

static size_t column(const struct fl_buf *out)
{
	const char *nl = out->len ? memrchr(out->s, '\n', out->len) : NULL;

	return nl ? out->len - (size_t)(nl + 1 - out->s) : out->len;
}

/* Bytes of the character at s, which is valid UTF-8. */
static size_t char_len(const char *s)
{
	unsigned char c = (unsigned char)*s;

	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Appends n bytes of UTF-8 as encoded words; the line must have room. */
static void put_encoded(struct fl_buf *out, const char *s, size_t n)
{
	bool in_word = false;

	for (size_t i = 0; i < n;) {
		size_t len = char_len(s + i), room = 0;
		unsigned char c = (unsigned char)s[i];
		/* What RFC 2047 section 5 allows inside a phrase. */
		bool plain = isascii(c) && (isalnum(c) || strchr("!*+-/ ", c));

		room = plain ? 1 : 3 * len;
		if (in_word && column(out) + room + 2 > LINE_MAX_ENCODED) {
			fl_buf_puts(out, "?=\r\n ");
			in_word = false;
		}
		if (!in_word)
			fl_buf_puts(out, "=?UTF-8?Q?");
		in_word = true;
		if (plain)
			fl_buf_puts(out, c == ' ' ? "_" : (char[]){ s[i], 0 });
		for (size_t k = 0; !plain && k < len; k++)
			fl_buf_printf(out, "=%02X", (unsigned char)s[i + k]);
		i += len;
	}
	fl_buf_puts(out, "?=");
}

static bool must_encode(const char *word, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (word[i] <= ' ' || word[i] > '~')
			return true;
		if (word[i] == '=' && i + 1 < n && word[i + 1] == '?')
			return true;
	}
	return n > WORD_MAX_RAW;
}

/* One space-led piece of raw text; folds in front of it when that helps. */
static void put_raw_word(struct fl_buf *out, const char *s, size_t spaces,
			 size_t n, bool may_fold)
{
	if (may_fold && column(out) + spaces + n > LINE_MAX_ENCODED)
		fl_buf_puts(out, "\r\n");
	fl_buf_add(out, s, spaces + n);
}

/* Where the first word begins that cannot stand as it is; or the end. */
static const char *first_encoded(const char *s)
{
	if (strstr(s, WIDE_GAP))
		return s + strspn(s, " ");
	for (;;) {
		size_t n;

		s += strspn(s, " ");
		n = strcspn(s, " ");
		if (!n || must_encode(s, n))
			return s;
		s += n;
	}
}

/*
 * From the first word that needs it to the end, the text is one run of
 * encoded words: white space between two of them would be lost otherwise.
 */
static void put_text(struct fl_buf *out, const char *s)
{
	const char *first = first_encoded(s);
	bool may_fold = false;

	while (*s) {
		size_t gap = strspn(s, " "), n = strcspn(s + gap, " ");

		if (s + gap == first) {
			if (may_fold && column(out) + gap > 50)
				fl_buf_puts(out, "\r\n");
			fl_buf_add(out, s, gap);
			put_encoded(out, first, strlen(first));
			return;
		}
		put_raw_word(out, s, gap, n, may_fold);
		may_fold = true;
		s += gap + n;
	}
}

int fl_header_text(struct fl_buf *out, const char *name, const char *value,
		   struct fl_err *err)
{
	_cleanup_free_ char *clean = NULL, *line = NULL;
	size_t n;
	int r = check_line(name, value, err);

	if (r < 0)
		return r;
	clean = fl_mail_utf8(value + strspn(value, " "));
	n = strlen(clean);
	while (n && clean[n - 1] == ' ')
		clean[--n] = '\0';
	fl_buf_printf(out, "%s:", name);
	line = fl_asprintf(" %s", clean);
	put_text(out, n ? line : "");
	fl_buf_puts(out, "\r\n");
	return 0;
}

static bool is_atext(char c)
{
	return isascii(c) && (isalnum(c) || strchr("!#$%&'*+-/=?^_`{|}~", c)) &&
	       c;
}

/* A local part of atoms and dots, a domain or an address literal. */
static bool address_ok(const char *a)
{
	const char *at = strrchr(a, '@');

	if (!at || at == a || !at[1] || strlen(a) > ADDRESS_MAX)
		return false;
	for (const char *p = a; p < at; p++)
		if (*p != '.' && !is_atext(*p))
			return false;
	for (const char *p = at + 1; *p; p++)
		if (!isascii(*p) || !(isalnum(*p) || strchr(".-[]:", *p)))
			return false;
	return true;
}

/* The display name without quotes and outer white space. */
static char *plain_name(const char *s, size_t n)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	if (n < 2 || s[0] != '"' || s[n - 1] != '"')
		return fl_strndup(s, n);
	for (size_t i = 1; i < n - 1; i++) {
		if (s[i] == '\\' && i + 1 < n - 1)
			i++;
		fl_buf_putc(&b, s[i]);
	}
	return fl_buf_steal(&b);
}

/* False, and nothing set, when there is no usable address in box. */
static bool split_mailbox(const char *box, char **name, char **addr)
{
	_cleanup_free_ char *a = NULL;
	const char *lt;
	size_t n;

	box += strspn(box, " \t");
	n = strlen(box);
	while (n && isspace((unsigned char)box[n - 1]))
		n--;
	lt = n ? memrchr(box, '<', n) : NULL;
	if (lt && box[n - 1] == '>')
		a = fl_strndup(lt + 1, n - 2 - (size_t)(lt - box));
	else
		a = fl_strndup(box, n);
	if (!address_ok(a))
		return false;
	*name = plain_name(box, lt ? (size_t)(lt - box) : 0);
	*addr = fl_steal(a);
	return true;
}

char *fl_mail_address(const char *mailbox)
{
	_cleanup_free_ char *name = NULL;
	char *addr = NULL;

	if (strpbrk(mailbox, "\r\n") || !split_mailbox(mailbox, &name, &addr))
		return NULL;
	return addr;
}

/* Atoms with single spaces as they are, other printable ASCII in quotes. */
static char *ascii_phrase(const char *name)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	bool atoms = !strstr(name, "  ");

	for (const char *p = name; *p; p++)
		atoms = atoms && (*p == ' ' || is_atext(*p));
	if (atoms)
		return fl_strdup(name);
	fl_buf_putc(&b, '"');
	for (const char *p = name; *p; p++) {
		if (*p == '"' || *p == '\\')
			fl_buf_putc(&b, '\\');
		fl_buf_putc(&b, *p);
	}
	fl_buf_putc(&b, '"');
	return fl_buf_steal(&b);
}

static bool name_is_raw(const char *name)
{
	for (const char *p = name; *p; p++)
		if (*p < ' ' || *p > '~')
			return false;
	return !strstr(name, "=?") && strlen(name) <= NAME_MAX_RAW;
}

static void put_mailbox(struct fl_buf *out, const char *raw_name,
			const char *addr, bool may_fold)
{
	_cleanup_free_ char *name = fl_mail_utf8(raw_name);
	_cleanup_free_ char *text = NULL, *phrase = NULL;

	if (name_is_raw(name)) {
		phrase = ascii_phrase(name);
		text = *name ? fl_asprintf(" %s <%s>", phrase, addr) :
			       fl_asprintf(" %s", addr);
		put_raw_word(out, text, 1, strlen(text) - 1, may_fold);
		return;
	}
	if (may_fold && column(out) > 40)
		fl_buf_puts(out, "\r\n");
	fl_buf_putc(out, ' ');
	put_encoded(out, name, strlen(name));
	text = fl_asprintf(" <%s>", addr);
	put_raw_word(out, text, 1, strlen(text) - 1, true);
}

int fl_header_mailboxes(struct fl_buf *out, const char *name,
			char *const *boxes, size_t n, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf field = { 0 };

	fl_buf_printf(&field, "%s:", name);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *display = NULL, *addr = NULL;
		int r = check_line(name, boxes[i], err);

		if (r < 0)
			return r;
		if (!split_mailbox(boxes[i], &display, &addr))
			return fl_err_set(
				err, -EINVAL, FL_E_USER,
				"no usable address in '%s' for mail header '%s': write Name <user@host>",
				boxes[i], name);
		put_mailbox(&field, display, addr, i > 0);
		fl_buf_puts(&field, i + 1 < n ? "," : "\r\n");
	}
	fl_buf_add(out, fl_buf_str(&field), field.len);
	return 0;
}

int fl_header_msgid(struct fl_buf *out, const char *name, const char *id,
		    struct fl_err *err)
{
	const char *at = strchr(id, '@');
	bool ok = at && at != id && at[1] && strlen(id) <= MSGID_MAX;

	for (const char *p = id; *p; p++)
		ok = ok && *p > ' ' && *p <= '~' && !strchr("<>()\\\",;", *p);
	if (!ok)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"mail header '%s' needs a message id like local@domain",
			name);
	fl_buf_printf(out, "%s: <%s>\r\n", name, id);
	return 0;
}
