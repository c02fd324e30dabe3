// SPDX-License-Identifier: GPL-2.0-or-later
/* See symbols.h. Data symbols are kept too: they end the code before them. */
#include "symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS_DIGITS 16

struct symbol {
	uint64_t addr;
	char *name; /* without what the compiler hung on */
	char *full; /* as in the file */
	bool code;
};

struct fl_symbols {
	struct symbol *v;
	size_t n, cap;
};

void fl_symbols_free(struct fl_symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].name);
		free(s->v[i].full);
	}
	free(s->v);
	free(s);
}

/* Printable, and nothing that parts frames and counts in folded stacks. */
static bool good_name(const char *s, size_t n)
{
	if (!n || n > FL_SYMBOL_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] <= 0x20 || s[i] >= 0x7f || s[i] == ';')
			return false;
	return true;
}

/* Length of name before the first suffix of gcc's clones and cold parts. */
static size_t plain_length(const char *s, size_t n)
{
	static const char *const suffixes[] = { ".isra.", ".constprop.",
						".part.", ".cold" };
	size_t len = n;

	for (size_t i = 0; i < FL_ARRAY_SIZE(suffixes); i++) {
		const char *at =
			memmem(s, len, suffixes[i], strlen(suffixes[i]));

		if (at && at > s)
			len = (size_t)(at - s);
	}
	return len;
}

/* Ends of sections are no functions, whatever type they have. */
static bool is_code(char type, const char *s, size_t n)
{
	return strchr("tTwW", type) && (n < 4 || memcmp(s, "_e", 2) != 0 ||
					memcmp(s + n - 4, "text", 4) != 0);
}

static void take_line(struct fl_symbols *s, const char *line, size_t n)
{
	size_t digits = strspn(line, "0123456789abcdefABCDEF");
	const char *name = line + digits + 3;
	size_t len = n - digits - 3;
	char type;

	if (!digits || digits > ADDRESS_DIGITS || n < digits + 4 ||
	    line[digits] != ' ' || line[digits + 2] != ' ' ||
	    !good_name(name, len) || !strncmp(name, "__pfx_", 6))
		return;
	type = line[digits + 1];
	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 4096;
		s->v = fl_realloc(s->v, s->cap * sizeof(*s->v));
	}
	s->v[s->n++] = (struct symbol){
		.addr = strtoull(line, NULL, 16),
		.name = fl_strndup(name, plain_length(name, len)),
		.full = fl_strndup(name, len),
		.code = is_code(type, name, len),
	};
}

/* By address; at one address what is code, then the plainer name, comes
 * last, where a search for the last one that is not above finds it. */
static int by_address(const void *pa, const void *pb)
{
	const struct symbol *a = pa, *b = pb;
	size_t ua = strspn(a->full, "_"), ub = strspn(b->full, "_");

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->code != b->code)
		return a->code ? 1 : -1;
	if (ua != ub)
		return ua > ub ? -1 : 1;
	return -strcmp(a->full, b->full);
}

int fl_symbols_read(const char *text, size_t n, struct fl_symbols **ret,
		    struct fl_err *err)
{
	_cleanup_(fl_symbols_freep) struct fl_symbols *s =
		fl_calloc(1, sizeof(*s));

	for (size_t at = 0; at < n;) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t len = nl ? (size_t)(nl - (text + at)) : n - at;
		char line[ADDRESS_DIGITS + FL_SYMBOL_MAX + 4];

		if (len < sizeof(line)) { /* text need not end with a NUL */
			memcpy(line, text + at, len);
			line[len] = '\0';
			take_line(s, line, len);
		}
		at += len + 1;
	}
	if (!s->n)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "a System.map without any symbol");
	qsort(s->v, s->n, sizeof(*s->v), by_address);
	*ret = fl_steal(s);
	return 0;
}

const char *fl_symbols_find(const struct fl_symbols *s, uint64_t addr)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) { /* the first one above addr */
		size_t mid = lo + (hi - lo) / 2;

		if (s->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && s->v[lo - 1].code ? s->v[lo - 1].name : NULL;
}

uint64_t fl_symbols_address(const struct fl_symbols *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->v[i].full, name))
			return s->v[i].addr;
	return 0;
}
