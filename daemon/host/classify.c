// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See guest.h: what a finished boot means. The kernel's own last words weigh
 * most, then how far the agent came, then how the machine stopped.
 */
#include "guest.h"

#include <errno.h>
#include <string.h>
#include "../kmsg.h"
#include "../util/json.h"

static int settle(struct fl_boot_result *ret, enum fl_outcome o, char *reason)
{
	ret->outcome = o;
	ret->reason = reason;
	return 0;
}

/* Where it was, for reasons: "in case 'X'", "before the agent started". */
static char *where(const struct fl_events *ev)
{
	if (ev->running >= 0)
		return fl_asprintf(
			"in case '%s'",
			fl_json_str_or(json_array_get(ev->cases,
						      (size_t)ev->running),
				       "case", "?"));
	return fl_strdup(ev->started ? "between cases" :
				       "before the agent started");
}

/* The last line with anything on it, printable bytes only; heap. */
static char *last_line(const char *s, size_t n)
{
	size_t end, start, m = 0;
	char line[200];

	while (n && (s[n - 1] == '\n' || s[n - 1] == '\r' || s[n - 1] == ' '))
		n--;
	end = n;
	for (start = end; start && s[start - 1] != '\n'; start--)
		;
	for (size_t i = start; i < end && m < sizeof(line) - 1; i++)
		if (s[i] >= 0x20 && s[i] < 0x7f)
			line[m++] = s[i];
	line[m] = '\0';
	return fl_strdup(line);
}

static const char *first_case_reason(const struct fl_events *ev,
				     const char **name)
{
	size_t i;
	json_t *c;

	json_array_foreach(ev->cases, i, c) {
		*name = fl_json_str_or(c, "case", "?");
		if (strcmp(fl_json_str_or(c, "status", ""), "done") != 0)
			return fl_json_str_or(c, "reason", "?");
	}
	return "?";
}

static int classify_ended(const struct fl_events *ev, const struct fl_kmsg *k,
			  struct fl_boot_result *ret)
{
	const char *name = "?", *why;

	if (!ev->failed && !ev->lost)
		return settle(ret, FL_RUN_DONE, fl_strdup(""));
	why = first_case_reason(ev, &name);
	if (k->count[FL_KMSG_OOM])
		return settle(ret, FL_RUN_OOM,
			      fl_asprintf("case '%s': %s\n%s", name, why,
					  k->line[FL_KMSG_OOM]));
	return settle(ret, FL_RUN_CASE_FAILED,
		      fl_asprintf("case '%s': %s%s", name, why,
				  ev->failed + ev->lost > 1 ? " (and others)" :
							      ""));
}

static int classify_stopped(const struct fl_guest_facts *f,
			    const struct fl_events *ev, const struct fl_kmsg *k,
			    struct fl_boot_result *ret)
{
	_cleanup_free_ char *at = where(ev);
	const char *more = k->count[FL_KMSG_HUNG] ? k->text : "";
	const char *nl = *more ? "\n" : "";

	if (f->end == FL_GUEST_SILENT)
		return settle(ret, FL_RUN_HANG,
			      fl_asprintf("no output for %.0f s %s%s%s",
					  f->timeout_s, at, nl, more));
	if (f->end == FL_GUEST_LATE)
		return settle(ret, FL_RUN_HANG,
			      fl_asprintf("not finished after %.0f s, %s%s%s",
					  f->total_s, at, nl, more));
	return settle(ret, FL_RUN_HANG,
		      fl_asprintf("endless output %s%s%s", at, nl, more));
}

/* The machine ended by itself, without the agent's end and without a panic. */
static int classify_exit(const struct fl_guest_facts *f,
			 const struct fl_events *ev, struct fl_boot_result *ret)
{
	_cleanup_free_ char *at = where(ev);
	_cleanup_free_ char *line = NULL;

	if (f->code) {
		line = last_line(f->emulator_log, strlen(f->emulator_log));
		return settle(ret, FL_RUN_HOST_FAILED,
			      fl_asprintf("qemu failed (%d) %s: %s", f->code,
					  at, line));
	}
	line = last_line(f->console, f->console_len);
	if (ev->started)
		return settle(
			ret, FL_RUN_PANIC,
			fl_asprintf(
				"the guest reset itself without a message %s; last console line: %s",
				at, line));
	return settle(ret, FL_RUN_NO_BOOT,
		      fl_asprintf("the guest ended %s; last console line: %s",
				  at, *line ? line : "(none)"));
}

static void note_warnings(const struct fl_kmsg *k, json_t *env)
{
	unsigned n = k->count[FL_KMSG_WARNING] + k->count[FL_KMSG_BUG] +
		     k->count[FL_KMSG_HUNG];
	const char *line = k->line[FL_KMSG_BUG]	    ? k->line[FL_KMSG_BUG] :
			   k->line[FL_KMSG_WARNING] ? k->line[FL_KMSG_WARNING] :
						      k->line[FL_KMSG_HUNG];

	if (!n)
		return;
	json_object_set_new(env, "kernel_warnings", json_integer(n));
	json_object_set_new(env, "kernel_warning", json_string(line));
}

int fl_guest_classify(const struct fl_guest_facts *f, struct fl_events *ev,
		      struct fl_boot_result *ret, struct fl_err *err)
{
	_cleanup_(fl_kmsg_clear) struct fl_kmsg k = { 0 };
	int r;

	if (ev->refused)
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "the guest agent refused its plan: %s",
				  ev->refused);
	fl_kmsg_read(f->console, f->console_len, &k);
	if (fl_kmsg_fatal(&k))
		r = settle(ret, FL_RUN_PANIC, fl_strdup(k.text));
	else if (ev->ended)
		r = classify_ended(ev, &k, ret);
	else if (k.count[FL_KMSG_OOM])
		r = settle(ret, FL_RUN_OOM, fl_strdup(k.text));
	else if (f->end != FL_GUEST_EXITED)
		r = classify_stopped(f, ev, &k, ret);
	else
		r = classify_exit(f, ev, ret);
	note_warnings(&k, ev->env);
	ret->cases = fl_steal(ev->cases);
	ret->env = fl_steal(ev->env);
	return r;
}
