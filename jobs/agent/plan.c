// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the plan (protocol.h). The host wrote it, so anything unexpected is
 * a defect there: the whole plan is refused with the line that is wrong.
 */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int refuse(char why[FL_REASON_MAX], unsigned line, const char *what)
{
	snprintf(why, FL_REASON_MAX, "plan line %u: %s", line, what);
	return -1;
}

static bool number(const char *s, uint64_t min, uint64_t max, uint64_t *ret)
{
	char *end;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*ret = strtoull(s, &end, 10);
	return !errno && !*end && *ret >= min && *ret <= max;
}

static bool copy(char *to, size_t n, const char *from)
{
	size_t len = strlen(from);

	if (len >= n)
		return false;
	memcpy(to, from, len + 1);
	return true;
}

/* Index of value in words, -1 when it is none of them. */
static int word(const char *value, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], value))
			return i;
	return -1;
}

/* A number of tasks, or per cents of the CPUs: at least one task. */
static bool set_tasks(struct fl_plan_case *c, const char *value)
{
	size_t n = strlen(value);
	char digits[16] = "";
	uint64_t v;

	if (!n || n >= sizeof(digits))
		return false;
	memcpy(digits, value, n);
	if (digits[n - 1] == '%')
		digits[n - 1] = '\0';
	if (!number(digits, 1, 65536, &v))
		return false;
	if (value[n - 1] == '%')
		v = v * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) / 100;
	c->nr_task = v ? (unsigned)v : 1;
	return c->nr_task <= FL_TASKS_MAX;
}

/* 1 when set, 0 when the key is none of these, -1 when the value is bad. */
static int set_word(struct fl_plan_case *c, const char *key, const char *value)
{
	static const char *const modes[] = { "process", "thread", NULL },
				 *const pins[] = { "core", "smt", "none",
						   NULL },
				 *const caches[] = { "warm", "dropped", NULL },
				 *const thps[] = { "always", "madvise", "never",
						   NULL };
	int i;

	if (!strcmp(key, "mode")) {
		i = word(value, modes);
		c->thread = i == 1;
	} else if (!strcmp(key, "pin")) {
		i = word(value, pins);
		c->pin = i < 0 ? FL_PIN_NONE : (enum fl_pin)i;
	} else if (!strcmp(key, "cache")) {
		i = word(value, caches);
		c->dropped = i == 1;
	} else if (!strcmp(key, "thp")) {
		i = word(value, thps);
		if (i >= 0)
			copy(c->thp, sizeof(c->thp), value);
	} else {
		return 0;
	}
	return i < 0 ? -1 : 1;
}

static bool set_param(struct fl_plan_case *c, const char *key,
		      const char *value)
{
	int done = set_word(c, key, value);
	uint64_t v = 0;

	if (done)
		return done > 0;

	if (!strcmp(key, "program")) {
		c->workload = fl_workload_find(value);
		return c->workload != NULL;
	}
	if (!strcmp(key, "fs"))
		return copy(c->fs, sizeof(c->fs), value);
	if (!strcmp(key, "memsize")) {
		if (!number(value, 4096, 1ULL << 46, &v) || v % 4096)
			return false;
		c->memsize = v;
		return true;
	}
	if (!strcmp(key, "nr_task"))
		return set_tasks(c, value);
	if (!number(value, 0, 65536, &v))
		return false;
	if (!strcmp(key, "warmup"))
		c->warmup = (unsigned)v;
	else if (!strcmp(key, "samples"))
		c->samples = (unsigned)v;
	else
		return false;
	return true;
}

static int read_case(struct fl_plan *plan, char *rest, unsigned line,
		     char why[FL_REASON_MAX])
{
	struct fl_plan_case *c = &plan->cases[plan->ncases];
	char *save = NULL, *word = strtok_r(rest, " ", &save);

	if (plan->ncases == FL_PLAN_CASES)
		return refuse(why, line, "too many cases");
	if (!word || !copy(c->name, sizeof(c->name), word))
		return refuse(why, line, "bad case name");
	while ((word = strtok_r(NULL, " ", &save))) {
		char *eq = strchr(word, '=');

		if (!eq)
			return refuse(why, line, "expected key=value");
		*eq = '\0';
		if (!set_param(c, word, eq + 1))
			return refuse(why, line, word);
	}
	if (!c->workload || !c->memsize || !c->nr_task || !c->samples ||
	    c->workload->file != !!c->fs[0])
		return refuse(why, line, "incomplete case");
	plan->ncases++;
	return 0;
}

/* A program of others: NAME FS SPEC. */
static int read_exec(struct fl_plan *plan, const char *rest, unsigned line,
		     char why[FL_REASON_MAX])
{
	struct fl_plan_case *c = &plan->cases[plan->ncases];
	_Static_assert(sizeof(c->name) == 160, "the width below");

	if (plan->ncases == FL_PLAN_CASES)
		return refuse(why, line, "too many cases");
	if (sscanf(rest, "%159s %7s %31s", c->name, c->fs, c->exec) != 3)
		return refuse(why, line, "expected NAME FS SPEC");
	plan->ncases++;
	return 0;
}

static int read_disk(struct fl_plan *plan, char *rest, unsigned line,
		     char why[FL_REASON_MAX])
{
	struct fl_plan_disk *d = &plan->disks[plan->ndisks];

	if (plan->ndisks == sizeof(plan->disks) / sizeof(*plan->disks))
		return refuse(why, line, "too many disks");
	if (sscanf(rest, "%7s %31s %31s", d->type, d->device, d->image) != 3)
		return refuse(why, line, "expected TYPE DEVICE IMAGE");
	plan->ndisks++;
	return 0;
}

/* 1 at the end statement, 0 to go on, -1 when refused. */
static int statement(struct fl_plan *plan, char *s, unsigned line,
		     char why[FL_REASON_MAX])
{
	char *rest = strchr(s, ' ');
	int taken;

	if (line == 1)
		return strcmp(s, FL_PLAN_MAGIC) ?
			       refuse(why, line, "bad magic") :
			       0;
	if (!strcmp(s, "end"))
		return 1;
	if (!rest)
		return refuse(why, line, "incomplete statement");
	*rest++ = '\0';
	if (!strcmp(s, "clock")) {
		plan->exact = !strcmp(rest, "exact");
		return plan->exact || !strcmp(rest, "wall") ?
			       0 :
			       refuse(why, line, "unknown clock");
	}
	if (!strcmp(s, "phase_ns"))
		return number(rest, 0, 1000000000, &plan->phase_ns) ?
			       0 :
			       refuse(why, line, "bad phase");
	taken = fl_profile_statement(s, rest);
	if (taken)
		return taken > 0 ? 0 : refuse(why, line, "bad period");
	if (!strcmp(s, "disk"))
		return read_disk(plan, rest, line, why);
	if (!strcmp(s, "case"))
		return read_case(plan, rest, line, why);
	if (!strcmp(s, "exec"))
		return read_exec(plan, rest, line, why);
	return refuse(why, line, "unknown statement");
}

int fl_plan_read(const char *path, struct fl_plan *plan,
		 char why[FL_REASON_MAX])
{
	static char text[FL_PLAN_MAX];
	FILE *f = fopen(path, "re");
	unsigned line = 0;
	int r = 0;

	if (!f) {
		snprintf(why, FL_REASON_MAX, "cannot open '%s': %s", path,
			 strerror(errno));
		return -1;
	}
	while (!r && fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		r = statement(plan, text, ++line, why);
	}
	fclose(f);
	if (!r)
		return refuse(why, line, "no end statement");
	return r > 0 ? 0 : -1;
}
