// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See kmsg.h. Lines are cleaned first (carriage returns, escapes, "[   1.2] "
 * stamps), then looked up in one table, most severe pattern first.
 */
#include "kmsg.h"

#include <ctype.h>
#include <string.h>
#include "util/buf.h"
#include "util/err.h"

#define LINE_MAX_BYTES 512
#define EXCERPT_LINES 60

static const struct {
	enum fl_kmsg_kind kind;
	bool prefix; /* at the start of the line only */
	const char *text;
} patterns[] = {
	{ FL_KMSG_OOM, true, "Kernel panic - not syncing: Out of memory" },
	{ FL_KMSG_OOM, true,
	  "Kernel panic - not syncing: System is deadlocked on memory" },
	{ FL_KMSG_PANIC, true, "Kernel panic - not syncing" },
	{ FL_KMSG_HUNG, false, "soft lockup - CPU#" },
	{ FL_KMSG_HUNG, false, "hard LOCKUP on cpu" },
	{ FL_KMSG_HUNG, false, "blocked for more than" },
	{ FL_KMSG_HUNG, false, "detected stalls on CPUs/tasks" },
	{ FL_KMSG_HUNG, false, "self-detected stall on CPU" },
	{ FL_KMSG_OOPS, true, "Oops:" },
	{ FL_KMSG_OOPS, true, "BUG: unable to handle" },
	{ FL_KMSG_OOPS, true, "BUG: kernel NULL pointer dereference" },
	{ FL_KMSG_OOPS, true, "Unable to handle kernel" },
	{ FL_KMSG_OOPS, true, "general protection fault" },
	{ FL_KMSG_OOPS, true, "kernel BUG at" },
	{ FL_KMSG_OOPS, true, "PANIC: double fault" },
	{ FL_KMSG_OOPS, true, "traps: PANIC: double fault" },
	{ FL_KMSG_OOPS, true, "invalid opcode: 0000" },
	{ FL_KMSG_OOPS, true, "stack segment: 0000" },
	{ FL_KMSG_BUG, true, "BUG:" },
	{ FL_KMSG_WARNING, true, "WARNING:" },
	{ FL_KMSG_OOM, true, "Out of memory: Kill" },
	{ FL_KMSG_OOM, true, "Memory cgroup out of memory: Kill" },
};

/* Copies the line at log into out, cleaned; returns its length in log. */
static size_t take_line(const char *log, size_t n, char out[LINE_MAX_BYTES])
{
	const char *nl = memchr(log, '\n', n);
	size_t len = nl ? (size_t)(nl - log) : n, m = 0;

	for (size_t i = 0; i < len && m < LINE_MAX_BYTES - 1; i++) {
		unsigned char c = (unsigned char)log[i];

		if (c == 0x1b && i + 1 < len && log[i + 1] == '[') {
			/* a colour or cursor sequence, up to its letter */
			for (i += 2;
			     i < len && !isalpha((unsigned char)log[i]);)
				i++;
		} else if (c == '\t') {
			out[m++] = ' ';
		} else if (c >= 0x20 && c < 0x7f) {
			out[m++] = (char)c;
		}
	}
	out[m] = '\0';
	return nl ? len + 1 : len;
}

/* After "[   12.345678] " and "[    T1] ", as printk puts them. */
static const char *skip_stamp(const char *s)
{
	for (int i = 0; i < 2 && *s == '['; i++) {
		size_t n = strspn(s + 1, " 0123456789.TC") + 1;

		if (s[n] != ']')
			break;
		s += n + 1;
		s += *s == ' ';
	}
	return s;
}

static int classify(const char *line)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(patterns); i++) {
		const char *p = patterns[i].text;

		if (patterns[i].prefix ? !strncmp(line, p, strlen(p)) :
					 strstr(line, p) != NULL)
			return (int)i;
	}
	return -1;
}

/* How much a finding explains: higher wins as the start of the excerpt. */
static int weight(enum fl_kmsg_kind kind)
{
	switch (kind) {
	case FL_KMSG_OOPS:
		return 6;
	case FL_KMSG_PANIC:
		return 5;
	case FL_KMSG_OOM:
		return 4;
	case FL_KMSG_BUG:
		return 3;
	case FL_KMSG_HUNG:
		return 2;
	case FL_KMSG_WARNING:
	case FL_KMSG_KINDS:
		break;
	}
	return 1;
}

static char *excerpt(const char *log, size_t n)
{
	_cleanup_buf_ struct fl_buf out = { 0 };
	char line[LINE_MAX_BYTES];

	for (size_t at = 0, i = 0; at < n && i < EXCERPT_LINES; i++) {
		const char *s;

		at += take_line(log + at, n - at, line);
		s = skip_stamp(line);
		if (out.len + strlen(s) + 1 > FL_KMSG_TEXT_MAX)
			break;
		if (!*s)
			continue;
		fl_buf_printf(&out, "%s%s", out.len ? "\n" : "", s);
		/* Nothing of interest follows these. */
		if (strstr(s, "---[ end Kernel panic") ||
		    strstr(s, "Rebooting in"))
			break;
	}
	return fl_buf_steal(&out);
}

void fl_kmsg_read(const char *log, size_t n, struct fl_kmsg *ret)
{
	char line[LINE_MAX_BYTES];
	size_t best_at = 0;
	int best = 0;

	*ret = (struct fl_kmsg){ 0 };
	for (size_t at = 0; at < n;) {
		size_t start = at;
		enum fl_kmsg_kind kind;
		const char *s;
		int i;

		at += take_line(log + at, n - at, line);
		s = skip_stamp(line);
		i = classify(s);
		if (i < 0)
			continue;
		kind = patterns[i].kind;
		if (!ret->count[kind]++)
			ret->line[kind] = fl_strdup(s);
		if (weight(kind) > best) {
			best = weight(kind);
			best_at = start;
		}
	}
	ret->text = best ? excerpt(log + best_at, n - best_at) : fl_strdup("");
}

void fl_kmsg_clear(struct fl_kmsg *k)
{
	for (int i = 0; i < FL_KMSG_KINDS; i++)
		free(k->line[i]);
	free(k->text);
	*k = (struct fl_kmsg){ 0 };
}

bool fl_kmsg_fatal(const struct fl_kmsg *k)
{
	return k->count[FL_KMSG_PANIC] || k->count[FL_KMSG_OOPS];
}
