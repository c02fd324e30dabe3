// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The order of Linux version names. A name is a list of tokens (a number, or
 * a run of anything else); lists compare token by token, and the end of a
 * list counts as a token itself, between "-rc" and all others:
 * v6.18-rc7 < v6.18 < v6.18-rt1 < v6.18.1. Pure; fails never.
 */
#include "git.h"

#include <ctype.h>
#include <string.h>

enum kind { PRERELEASE, END, WORD, NUMBER };

struct token {
	enum kind kind;
	const char *s;
	size_t n;
};

static bool is_prerelease(const char *s)
{
	return (!strncmp(s, "-rc", 3) && isdigit((unsigned char)s[3])) ||
	       (!strncmp(s, "-pre", 4) && isdigit((unsigned char)s[4]));
}

static struct token next(const char **p)
{
	struct token t = { .kind = END, .s = *p };
	const char *s = *p;

	if (isdigit((unsigned char)*s)) {
		t.kind = NUMBER;
		while (*t.s == '0') /* leading zeros do not count */
			t.s++;
		for (s = t.s; isdigit((unsigned char)*s); s++)
			;
	} else if (is_prerelease(s)) {
		t.kind = PRERELEASE;
		s += s[1] == 'r' ? 3 : 4;
	} else if (*s) {
		t.kind = WORD;
		do
			s++;
		while (*s && !isdigit((unsigned char)*s) && !is_prerelease(s));
	}
	t.n = (size_t)(s - t.s);
	*p = s;
	return t;
}

static int token_cmp(const struct token *a, const struct token *b)
{
	int r;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	/* Without leading zeros the longer number is the larger one. */
	if (a->kind == NUMBER && a->n != b->n)
		return a->n < b->n ? -1 : 1;
	r = memcmp(a->s, b->s, a->n < b->n ? a->n : b->n);
	if (r)
		return r < 0 ? -1 : 1;
	return (a->n > b->n) - (a->n < b->n);
}

int fl_version_cmp(const char *a, const char *b)
{
	/* Some trees tag "6.18", some "v6.18". */
	if (*a == 'v' && isdigit((unsigned char)a[1]))
		a++;
	if (*b == 'v' && isdigit((unsigned char)b[1]))
		b++;
	for (;;) {
		struct token ta = next(&a), tb = next(&b);
		int r = token_cmp(&ta, &tb);

		if (r || ta.kind == END)
			return r;
	}
}
