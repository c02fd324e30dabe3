// SPDX-License-Identifier: GPL-2.0-or-later
/* The message's bytes. Delivery and strict parsing: tests/t/20-smtp.t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "../../daemon/mail/mail.h"

static char *compose(struct fl_mail m)
{
	_cleanup_strv_ struct fl_strv to = { 0 };
	struct fl_buf out = { 0 };
	struct fl_err err = { 0 };

	fl_strv_add(&to, "Reader <reader@example.org>");
	m.from = m.from ? m.from : "Fault Line <fl@example.org>";
	m.to = m.to ? m.to : &to;
	m.subject = m.subject ? m.subject : "subject";
	m.message_id = m.message_id ? m.message_id : "1.a@example.org";
	m.body = m.body ? m.body : "body\n";
	if (fl_mail_compose(&m, &out, &err) < 0) {
		assert_null(out.s);
		assert_int_equal(err.code, -EINVAL);
		assert_true(*err.text);
		return NULL;
	}
	return fl_buf_steal(&out);
}

/* The field with its name, unfolded; a failed test when it is not there. */
static char *field(const char *message, const char *name)
{
	_cleanup_free_ char *start = fl_asprintf("\r\n%s: ", name);
	_cleanup_free_ char *all = fl_asprintf("\r\n%s", message);
	_cleanup_buf_ struct fl_buf b = { 0 };
	const char *p = strstr(all, start);

	assert_non_null(p);
	for (p += 2; strncmp(p, "\r\n", 2) != 0 || p[2] == ' '; p++)
		if (*p != '\r' && *p != '\n')
			fl_buf_putc(&b, *p);
	return fl_buf_steal(&b);
}

static void expect_field(struct fl_mail m, const char *name, const char *want)
{
	_cleanup_free_ char *message = compose(m);
	_cleanup_free_ char *got = NULL;

	assert_non_null(message);
	got = field(message, name);
	assert_string_equal(got, want);
}

static void addresses(void **state _unused_)
{
	static const struct {
		const char *box, *addr;
	} t[] = {
		{ "a@b.c", "a@b.c" },
		{ "  a@b.c ", "a@b.c" },
		{ "<a@b.c>", "a@b.c" },
		{ "A B <a@b.c>", "a@b.c" },
		{ "\"A <x@y> B\" <a@b.c>", "a@b.c" },
		{ "J\xc3\xb6rg <a+b'c=d@b-1.c>", "a+b'c=d@b-1.c" },
		{ "root@localhost", "root@localhost" },
		{ "a@[127.0.0.1]", "a@[127.0.0.1]" },
		{ "", NULL },
		{ "nobody", NULL },
		{ "@b.c", NULL },
		{ "a@", NULL },
		{ "A <a@b.c> B", NULL },
		{ "A <a b@c.d>", NULL },
		{ "a@b.c, d@e.f", NULL },
		{ "a@b.c>", NULL },
		{ "a\xc3\xa4@b.c", NULL },
		{ "A <a@b.c\r\nBcc: d@e.f>", NULL },
		{ "A\n <a@b.c>", NULL },
		{ "A <a@b.c> SIZE=1>", NULL },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *got = fl_mail_address(t[i].box);

		if (t[i].addr)
			assert_non_null(got);
		if (t[i].addr)
			assert_string_equal(got, t[i].addr);
		else
			assert_null(got);
	}
}

static void display_names(void **state _unused_)
{
	expect_field((struct fl_mail){ .from = "A B <a@b.c>" }, "From",
		     "From: A B <a@b.c>");
	expect_field((struct fl_mail){ .from = "a@b.c" }, "From",
		     "From: a@b.c");
	expect_field((struct fl_mail){ .from = "A. (x) B <a@b.c>" }, "From",
		     "From: \"A. (x) B\" <a@b.c>");
	expect_field((struct fl_mail){ .from = "\"B, A\" <a@b.c>" }, "From",
		     "From: \"B, A\" <a@b.c>");
	expect_field((struct fl_mail){ .from = "A \"x\\y\" B <a@b.c>" }, "From",
		     "From: \"A \\\"x\\\\y\\\" B\" <a@b.c>");
	expect_field((struct fl_mail){ .from = "J\xc3\xb6rg, X <a@b.c>" },
		     "From", "From: =?UTF-8?Q?J=C3=B6rg=2C_X?= <a@b.c>");
	/* A name must not smuggle in an encoded word either. */
	expect_field((struct fl_mail){ .from = "=?UTF-8?Q?x?= <a@b.c>" },
		     "From",
		     "From: =?UTF-8?Q?=3D=3FUTF-8=3FQ=3Fx=3F=3D?= <a@b.c>");
}

static void subjects(void **state _unused_)
{
	expect_field((struct fl_mail){ .subject = "[a:b]  0123456789:  x" },
		     "Subject", "Subject: [a:b]  0123456789:  x");
	expect_field((struct fl_mail){ .subject = " a " }, "Subject",
		     "Subject: a");
	expect_field((struct fl_mail){ .subject = "a \xc2\xb1 5 %" }, "Subject",
		     "Subject: a =?UTF-8?Q?=C2=B1_5_=25?=");
	expect_field((struct fl_mail){ .subject = "a\xff z" }, "Subject",
		     "Subject: =?UTF-8?Q?a=EF=BF=BD_z?=");
	expect_field((struct fl_mail){ .subject = "a\tb" }, "Subject",
		     "Subject: =?UTF-8?Q?a=09b?=");
	expect_field((struct fl_mail){ .subject = "x =?us-ascii?q?y?=" },
		     "Subject",
		     "Subject: x =?UTF-8?Q?=3D=3Fus-ascii=3Fq=3Fy=3F=3D?=");
}

static void injections(void **state _unused_)
{
	_cleanup_strv_ struct fl_strv bad = { 0 };
	static const char *const name[] = { "a/b" }, *const text[] = { "x" };

	fl_strv_add(&bad, "A <a@b.c>\nBcc: x@y.z");
	assert_null(compose((struct fl_mail){ .subject = "a\nBcc: b@c.d" }));
	assert_null(compose((struct fl_mail){ .subject = "a\rBcc: b@c.d" }));
	assert_null(compose((struct fl_mail){ .from = "A\r\n <a@b.c>" }));
	assert_null(compose((struct fl_mail){ .to = &bad }));
	assert_null(compose((struct fl_mail){ .cc = &bad }));
	assert_null(compose((struct fl_mail){ .to = &(struct fl_strv){ 0 } }));
	assert_null(compose((struct fl_mail){ .message_id = "a b@c" }));
	assert_null(compose((struct fl_mail){ .message_id = "nodomain" }));
	assert_null(compose((struct fl_mail){ .in_reply_to = "a@b>\r\nX: y" }));
	assert_null(compose((struct fl_mail){ .in_reply_to = "<a@b>" }));
	assert_null(compose((struct fl_mail){
		.attach_names = name, .attach_texts = text, .nattach = 1 }));
}

static void threads(void **state _unused_)
{
	struct fl_mail m = { .in_reply_to = "2.b@c.d", .date = 951782400 };
	_cleanup_free_ char *alone = compose((struct fl_mail){ 0 });

	expect_field(m, "In-Reply-To", "In-Reply-To: <2.b@c.d>");
	expect_field(m, "References", "References: <2.b@c.d>");
	expect_field(m, "Message-ID", "Message-ID: <1.a@example.org>");
	expect_field(m, "Date", "Date: Tue, 29 Feb 2000 00:00:00 +0000");
	assert_null(strstr(alone, "In-Reply-To"));
	assert_null(strstr(alone, "References"));
}

static const char *text_of(const char *message)
{
	return strstr(message, "\r\n\r\n") + 4;
}

static void bodies(void **state _unused_)
{
	static const struct {
		const char *body, *encoding, *text;
	} t[] = {
		{ "", "7bit", "" },
		{ "a\nb\n", "7bit", "a\r\nb\r\n" },
		{ "a\r\nb", "7bit", "a\r\nb\r\n" },
		{ "a  \n\n.\n", "7bit", "a  \r\n\r\n.\r\n" },
		{ "\xc2\xb1\t=\n", "8bit", "\xc2\xb1\t=\r\n" },
		{ "a=\rb \n\tc\t\n", "quoted-printable",
		  "a=3D=0Db=20\r\n\tc=09\r\n" },
		{ "\x1b[0m \xc2\xb1", "quoted-printable", "=1B[0m =C2=B1\r\n" },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(t); i++) {
		struct fl_mail m = { .body = t[i].body };
		_cleanup_free_ char *message = compose(m);
		_cleanup_free_ char *encoding = fl_asprintf(
			"Content-Transfer-Encoding: %s", t[i].encoding);

		expect_field(m, "Content-Transfer-Encoding", encoding);
		assert_string_equal(text_of(message), t[i].text);
	}
}

static void long_lines(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf body = { 0 };
	_cleanup_free_ char *fits = NULL, *longer = NULL;

	fl_buf_repeat(&body, 'x', 998);
	fits = compose((struct fl_mail){ .body = body.s });
	assert_non_null(strstr(fits, "Encoding: 7bit"));
	fl_buf_putc(&body, 'x');
	longer = compose((struct fl_mail){ .body = body.s });
	assert_non_null(strstr(longer, "Encoding: quoted-printable"));
	for (const char *p = text_of(longer); *p; p = strchr(p, '\n') + 1)
		assert_true(strcspn(p, "\r") <= 76);
}

static void boundary(void **state _unused_)
{
	static const char *const names[] = { "x.txt" };
	const char *texts[] = { "text" };
	struct fl_mail m = { .attach_names = names,
			     .attach_texts = texts,
			     .nattach = 1 };
	_cleanup_free_ char *a = compose(m), *b = compose(m), *c = NULL;
	_cleanup_free_ char *used = NULL, *other = NULL;
	const char *start = strstr(a, "boundary=\"") + 10;

	assert_string_equal(a, b);
	used = fl_strndup(start, strcspn(start, "\""));
	m.message_id = "2.a@example.org";
	other = compose(m);
	assert_null(strstr(other, used));
	/* A text that holds the boundary gets another one. */
	m.message_id = NULL;
	texts[0] = used;
	c = compose(m);
	start = strstr(c, "boundary=\"") + 10;
	assert_int_not_equal(strncmp(start, used, strlen(used)), 0);
}

static void message_ids(void **state _unused_)
{
	_cleanup_free_ char *a = NULL, *b = NULL, *c = NULL;

	setenv("FAULTLINE_NOW", "1796000000", 1);
	a = fl_mail_message_id("Fault Line <fl@example.org>");
	b = fl_mail_message_id("Fault Line <fl@example.org>");
	c = fl_mail_message_id("nothing");
	unsetenv("FAULTLINE_NOW");
	assert_int_equal(strncmp(a, "20261130005320.", 15), 0);
	assert_int_equal(strspn(a + 15, "0123456789abcdef"), 16);
	assert_string_equal(a + 31, "@example.org");
	assert_string_not_equal(a, b);
	assert_string_equal(c + 31, "@localhost");
}

/* Random bytes without line breaks (and NUL) but rich in special cases. */
static char *noise(uint64_t *seed, size_t max, bool breaks)
{
	static const char *const rich[] = {
		" ", "  ", "=?", "?=", "\"", "\\", "<", "@", "\xc3\xa4", "\t"
	};
	struct fl_buf b = { 0 };
	size_t n = 1 + (*seed >> 33) % max;

	for (size_t i = 0; i < n; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		unsigned char c = (unsigned char)(*seed >> 56);

		if (*seed >> 40 & 1)
			fl_buf_puts(&b, rich[c % FL_ARRAY_SIZE(rich)]);
		else if (c && (breaks || (c != '\n' && c != '\r')))
			fl_buf_putc(&b, (char)c);
	}
	return fl_buf_steal(&b);
}

static void check_lines(const char *message)
{
	const char *end = strstr(message, "\r\n\r\n");
	size_t fields = 0;

	assert_non_null(end);
	for (const char *p = message; *p;) {
		size_t n = strcspn(p, "\r\n");

		assert_true(n <= 998);
		assert_int_equal(strncmp(p + n, "\r\n", 2), 0);
		if (p < end) {
			fields += *p != ' ';
			assert_true(n <= 330);
			assert_true(strspn(p, " ") < n);
		}
		for (size_t i = 0; p < end && i < n; i++)
			assert_true(p[i] >= ' ' && p[i] <= '~');
		p += n + 2;
	}
	assert_int_equal(fields, 8);
}

/* Whatever a commit holds: eight fields, ASCII headers, lines that fit. */
static void any_bytes(void **state _unused_)
{
	uint64_t seed = 42;

	for (int i = 0; i < 500; i++) {
		_cleanup_free_ char *subject = noise(&seed, 300, false);
		_cleanup_free_ char *name = noise(&seed, 100, false);
		_cleanup_free_ char *body = noise(&seed, 2500, true);
		_cleanup_free_ char *from = fl_asprintf("%s <a@b.c>", name);
		_cleanup_free_ char *message = compose((struct fl_mail){
			.from = from, .subject = subject, .body = body });

		assert_non_null(message);
		check_lines(message);
	}
}

static void refuses_bad_envelopes(void **state _unused_)
{
	const struct fl_smtp smtp = { .url = "smtp://127.0.0.1:1" };
	_cleanup_strv_ struct fl_strv rcpt = { 0 };
	_cleanup_free_ char *a = NULL, *b = NULL, *c = NULL;

	assert_int_equal(fl_mail_send(&smtp, "x@y.z", &rcpt, "", 0, &a),
			 FL_SEND_REJECTED);
	assert_string_equal(a, "the mail has no recipient");
	fl_strv_add(&rcpt, "good@example.org");
	assert_int_equal(fl_mail_send(&smtp, "x", &rcpt, "", 0, &b),
			 FL_SEND_REJECTED);
	assert_string_equal(b, "no usable address in 'x'");
	fl_strv_add(&rcpt, "a@b.c> SIZE=1");
	assert_int_equal(fl_mail_send(&smtp, "x@y.z", &rcpt, "", 0, &c),
			 FL_SEND_REJECTED);
	assert_string_equal(c, "no usable address in 'a@b.c> SIZE=1'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(display_names),
		cmocka_unit_test(subjects),
		cmocka_unit_test(injections),
		cmocka_unit_test(threads),
		cmocka_unit_test(bodies),
		cmocka_unit_test(long_lines),
		cmocka_unit_test(boundary),
		cmocka_unit_test(message_ids),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(refuses_bad_envelopes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
