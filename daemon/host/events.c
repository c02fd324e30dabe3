// SPDX-License-Identifier: GPL-2.0-or-later
/* See events.h. Called by the qemu driver when a boot is over. */
#include "events.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "../../jobs/agent/protocol.h"
#include "../util/json.h"
#include "samples.h"

#define SAMPLES_MAX 4096
#define ENV_MAX 128
#define ENV_TEXT_MAX 4096
#define REASON_MAX 1000

struct reader {
	struct fl_events *ev;
	const struct fl_case *const *cases;
	size_t ncases;
	const char *clock;
};

static json_t *entry(struct reader *rd, size_t i)
{
	return json_array_get(rd->ev->cases, i);
}

static void set_status(struct reader *rd, size_t i, const char *status,
		       json_t *reason)
{
	json_object_set_new(entry(rd, i), "status", json_string(status));
	json_object_set_new(entry(rd, i), "reason", reason);
}

static bool plain_key(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return n && n <= 64 && !s[n];
}

/* A flat object of strings and finite numbers. */
static int take_env(struct reader *rd, const json_t *env, struct fl_err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(env) || json_object_size(env) > ENV_MAX)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "env: expected a small object");
	json_object_foreach((json_t *)env, key, v) {
		bool ok = json_is_string(v) ?
				  json_string_length(v) <= ENV_TEXT_MAX :
				  json_is_number(v) &&
					  isfinite(json_number_value(v));

		if (!ok || !plain_key(key))
			return fl_err_set(err, -EINVAL, FL_E_INFRA,
					  "env: bad member '%.64s'", key);
	}
	json_object_update(rd->ev->env, (json_t *)env);
	return 0;
}

static int check_samples(const char *kpi, const json_t *list, bool positive,
			 struct fl_err *err)
{
	size_t n = json_array_size(list);

	if (!n || n > SAMPLES_MAX)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "kpi '%.64s': expected 1 to %d samples", kpi,
				  SAMPLES_MAX);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		double d = json_number_value(v);

		if (!json_is_number(v) || !isfinite(d) || d < 0 ||
		    (positive && d <= 0))
			return fl_err_set(
				err, -EINVAL, FL_E_INFRA,
				"kpi '%.64s': sample %zu is no valid number",
				kpi, i);
	}
	return 0;
}

/* A program of others has the KPIs that it declares: each of them, no more. */
static int take_exec_kpis(struct reader *rd, size_t i, const json_t *kpis,
			  struct fl_err *err)
{
	const json_t *want = json_object_get(rd->cases[i]->params, "kpis");
	json_t *v;
	size_t k;

	if (json_object_size(kpis) != json_array_size(want))
		return fl_err_set(err, -EINVAL, FL_E_INFRA, "expected %zu kpis",
				  json_array_size(want));
	json_array_foreach((json_t *)want, k, v) {
		const char *name = fl_json_str_or(v, "name", "");
		int r = check_samples(name, json_object_get(kpis, name), true,
				      err);

		if (r < 0)
			return r;
	}
	json_object_set(entry(rd, i), "kpis", (json_t *)kpis);
	return 0;
}

static int take_kpis(struct reader *rd, size_t i, const json_t *kpis,
		     struct fl_err *err)
{
	const char *primary = fl_kpi_primary(rd->clock, rd->cases[i]->params);
	const char *key;
	json_t *list;

	if (fl_case_is_exec(rd->cases[i]->params))
		return take_exec_kpis(rd, i, kpis, err);
	if (!json_object_get(kpis, primary))
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "kpi '%s' is missing", primary);
	json_object_foreach((json_t *)kpis, key, list) {
		int r;

		if (!fl_kpi_find(key))
			return fl_err_set(err, -EINVAL, FL_E_INFRA,
					  "unknown kpi '%.64s'", key);
		r = check_samples(key, list, !strcmp(key, primary), err);
		if (r < 0)
			return r;
	}
	json_object_set(entry(rd, i), "kpis", (json_t *)kpis);
	return 0;
}

/* Per cents of CPUs are resolved in the guest; kept until the end. */
static int take_tasks(struct reader *rd, size_t i, const json_t *info,
		      struct fl_err *err)
{
	int64_t n;

	if (!json_is_string(json_object_get(rd->cases[i]->params, "nr_task")))
		return 0;
	n = fl_json_int_or(info, "nr_task", 0);
	if (n < 1 || n > FL_TASKS_MAX)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "bad number of tasks");
	json_object_set_new(entry(rd, i), "nr_task", json_integer(n));
	return 0;
}

static ptrdiff_t find_case(const struct reader *rd, const json_t *event)
{
	const char *name = fl_json_str_or(event, "case", "");

	for (size_t i = 0; i < rd->ncases; i++)
		if (!strcmp(rd->cases[i]->name, name))
			return (ptrdiff_t)i;
	return -1;
}

static json_t *bounded_text(const json_t *event, const char *key)
{
	const char *s = fl_json_str_or(event, key, "");

	return fl_json_text_value(s, strnlen(s, REASON_MAX));
}

/* An event about a case: begun, done, failed, in this order. */
static int case_event(struct reader *rd, const char *what, const json_t *event,
		      struct fl_err *err)
{
	ptrdiff_t i = find_case(rd, event);
	struct fl_events *ev = rd->ev;
	int r;

	if (i < 0)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "unknown case '%.64s'",
				  fl_json_str_or(event, "case", ""));
	if (!strcmp(what, "case_start")) {
		const char *status =
			fl_json_str_or(entry(rd, (size_t)i), "status", "");

		if (ev->running >= 0 || strcmp(status, "lost") != 0)
			return fl_err_set(err, -EINVAL, FL_E_INFRA,
					  "case '%s' begins out of turn",
					  rd->cases[i]->name);
		ev->running = i;
		return 0;
	}
	if (ev->running != i)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "case '%s' ends without a beginning",
				  rd->cases[i]->name);
	if (!strcmp(what, "profile"))
		return fl_samples_event(ev->profiles, event, err);
	if (!strcmp(what, "case_failed")) {
		set_status(rd, (size_t)i, "failed",
			   bounded_text(event, "reason"));
		ev->failed++;
	} else {
		r = take_kpis(rd, (size_t)i, json_object_get(event, "kpis"),
			      err);
		if (!r)
			r = take_tasks(rd, (size_t)i,
				       json_object_get(event, "info"), err);
		if (r < 0)
			return r;
		set_status(rd, (size_t)i, "done", json_string(""));
		ev->done++;
	}
	ev->running = -1;
	return 0;
}

static int take_event(struct reader *rd, const json_t *event,
		      struct fl_err *err)
{
	const char *what = fl_json_str_or(event, "event", "");
	struct fl_events *ev = rd->ev;

	if (ev->ended || ev->refused)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "an event after the end");
	if (!strcmp(what, "plan_refused")) {
		ev->refused = fl_strdup(fl_json_str_or(event, "reason", "?"));
		return 0;
	}
	if (!strcmp(what, "agent_start") && !ev->started) {
		ev->started = true;
		return take_env(rd, json_object_get(event, "env"), err);
	}
	if (!ev->started)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "an event before the agent's start");
	if (!strcmp(what, "end")) {
		ev->ended = true;
		return 0;
	}
	if (!strcmp(what, "case_start") || !strcmp(what, "profile") ||
	    !strcmp(what, "case_done") || !strcmp(what, "case_failed"))
		return case_event(rd, what, event, err);
	return fl_err_set(err, -EINVAL, FL_E_INFRA, "unknown event '%.64s'",
			  what);
}

static int take_line(struct reader *rd, const char *line, size_t n,
		     struct fl_err *err)
{
	json_auto_t *event = NULL;
	json_error_t je;

	if (n > FL_EVENT_MAX)
		return fl_err_set(err, -EINVAL, FL_E_INFRA, "%zu bytes long",
				  n);
	event = json_loadb(line, n, JSON_REJECT_DUPLICATES, &je);
	if (!json_is_object(event))
		return fl_err_set(err, -EINVAL, FL_E_INFRA, "not an object: %s",
				  event ? "" : je.text);
	return take_event(rd, event, err);
}

static void refuse(struct fl_events *ev, size_t number, const char *text)
{
	_cleanup_free_ char *raw = NULL;
	json_auto_t *clean = NULL;

	if (ev->bad)
		return;
	/* The text may quote the guest: valid UTF-8 for the database. */
	raw = fl_asprintf("event line %zu: %s", number, text);
	clean = fl_json_text_value(raw, strlen(raw));
	ev->bad = fl_strdup(json_string_value(clean));
}

/* Cases that neither ended nor failed are lost, with what is known of why. */
static void finish(struct reader *rd)
{
	struct fl_events *ev = rd->ev;

	for (size_t i = 0; i < rd->ncases; i++) {
		if (strcmp(fl_json_str_or(entry(rd, i), "status", ""),
			   "lost") != 0)
			continue;
		ev->lost++;
		set_status(rd, i, "lost",
			   json_string(
				   (ptrdiff_t)i == ev->running ?
					   "the guest ended during this case" :
				   ev->bad ?
					   ev->bad :
					   "the guest ended before this case"));
	}
}

static int64_t tasks_of(struct reader *rd, size_t i)
{
	return fl_json_int_or(entry(rd, i), "nr_task",
			      fl_json_int_or(rd->cases[i]->params, "nr_task",
					     0));
}

/* The case that differs from case i in its one task only; NULL when none. */
static const json_t *one_task(struct reader *rd, size_t i)
{
	json_auto_t *me = json_copy(rd->cases[i]->params);

	json_object_set_new(me, "nr_task", json_integer(1));
	for (size_t k = 0; k < rd->ncases; k++)
		if (json_equal(me, rd->cases[k]->params))
			return json_object_get(json_object_get(entry(rd, k),
							       "kpis"),
					       "workload");
	return NULL;
}

static double mean(const json_t *list)
{
	double sum = 0;

	for (size_t i = 0; i < json_array_size(list); i++)
		sum += json_number_value(json_array_get(list, i));
	return sum / (double)json_array_size(list);
}

/* What n tasks do together, against n times what one does alone. */
static void add_scalability(struct reader *rd, size_t i)
{
	json_t *kpis = json_object_get(entry(rd, i), "kpis"), *ratios;
	const json_t *all = json_object_get(kpis, "workload"), *alone;
	int64_t n = tasks_of(rd, i);

	alone = n > 1 && all ? one_task(rd, i) : NULL;
	if (!alone || mean(alone) <= 0)
		return;
	ratios = json_array();
	for (size_t k = 0; k < json_array_size(all); k++)
		json_array_append_new(
			ratios,
			json_real(json_number_value(json_array_get(all, k)) /
				  ((double)n * mean(alone))));
	json_object_set_new(kpis, "scalability", ratios);
}

void fl_events_read(const char *buf, size_t n, enum fl_clock_kind clock,
		    const struct fl_case *const *cases, size_t ncases,
		    struct fl_events *ret)
{
	struct reader rd = {
		.ev = ret,
		.cases = cases,
		.ncases = ncases,
		.clock = fl_clock_kind_str(clock),
	};
	size_t number = 1;

	*ret = (struct fl_events){ .running = -1 };
	ret->cases = json_array();
	ret->env = json_object();
	ret->profiles = json_array();
	for (size_t i = 0; i < ncases; i++)
		json_array_append_new(ret->cases,
				      json_pack("{s:s, s:s, s:s, s:{}}", "case",
						cases[i]->name, "status",
						"lost", "reason", "", "kpis"));
	for (size_t at = 0; at < n; number++) {
		const char *nl = memchr(buf + at, '\n', n - at);
		struct fl_err err = { 0 };
		size_t len;

		if (!nl)
			break; /* cut off by the guest's end */
		len = (size_t)(nl - (buf + at));
		if (len && take_line(&rd, buf + at, len, &err) < 0)
			refuse(ret, number, err.text);
		at += len + 1;
	}
	finish(&rd);
	for (size_t i = 0; i < ncases; i++)
		add_scalability(&rd, i);
	for (size_t i = 0; i < ncases; i++)
		json_object_del(entry(&rd, i), "nr_task");
}

void fl_events_clear(struct fl_events *ev)
{
	free(ev->refused);
	free(ev->bad);
	json_decref(ev->cases);
	json_decref(ev->env);
	json_decref(ev->profiles);
	*ev = (struct fl_events){ 0 };
}
