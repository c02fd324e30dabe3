// SPDX-License-Identifier: GPL-2.0-or-later
/* See plan.h: the lock, the loop, and the start of workers. */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include "plan-need.h"
#include "sys/proc.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/log.h"
#include "worker.h"

/* A worker has its own deadlines; this is the planner's, for a stuck one. */
#define WORKER_GRACE_MS (300 * 1000)
#define TICK_MS 500
#define SMALL_ROOM (1 << 20)

static const struct fl_request_ops *const request_kinds[] = {
	&fl_request_fetch,   &fl_request_build,	 &fl_request_run,
	&fl_request_compare, &fl_request_bisect, &fl_request_nightly,
	&fl_request_profile,
};

static int take_lock(struct fl_plan *p, struct fl_err *err)
{
	_cleanup_free_ char *var = fl_plan_path(p, "var");
	_cleanup_free_ char *path = fl_path_join(var, "lock");
	char who[32] = "";
	int r = fl_fs_mkdirs(var, err);

	if (r < 0)
		return r;
	p->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (p->lock_fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot open '%s': %s", path,
				  strerror(errno));
	/* The kernel drops the lock with its holder: it cannot be stale. */
	if (flock(p->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (read(p->lock_fd, who, sizeof(who) - 1) < 0)
			who[0] = '\0';
		who[strcspn(who, "\n")] = '\0';
		return fl_err_set(
			err, -EBUSY, FL_E_USER,
			"another faultline (pid %s) is at work in '%s'; wait for it or stop it",
			*who ? who : "unknown", p->conf->dir);
	}
	snprintf(who, sizeof(who), "%d\n", getpid());
	if (ftruncate(p->lock_fd, 0) < 0 ||
	    write(p->lock_fd, who, strlen(who)) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot write '%s': %s", path,
				  strerror(errno));
	return 0;
}

char *fl_plan_work_dir(const struct fl_plan *p, int64_t id, int64_t attempt)
{
	return fl_asprintf("%s/var/work/%lld.%lld", p->conf->dir, (long long)id,
			   (long long)attempt);
}

/* Work whose worker is gone: a finished bundle counts, else it runs again. */
static int settle(struct fl_plan *p, const struct fl_work *w,
		  struct fl_err *err)
{
	_cleanup_free_ char *dir = fl_plan_work_dir(p, w->id, w->attempt);
	_cleanup_free_ char *result = fl_path_join(dir, FL_WORKER_RESULT);
	int r;

	if (fl_fs_exists(result)) {
		r = fl_plan_ingest(p, w, dir, "", err);
		/* That work failed is for its own request to say. */
		p->failure = (struct fl_err){ 0 };
		return r;
	}
	r = fl_store_work_end(p->store, w->id, w->attempt, "queued",
			      "interrupted", 0, 0, err);
	fl_fs_remove(dir, NULL);
	return r < 0 ? r : 0;
}

/* What a killed planner left. */
static int recover(struct fl_plan *p, struct fl_err *err)
{
	int64_t after = 0;

	for (;;) {
		_cleanup_(fl_work_clear) struct fl_work w = { 0 };
		int r = fl_store_work_running(p->store, after, &w, err);

		if (r <= 0)
			return r < 0 ? r : fl_plan_sweep(p, err);
		after = w.id;
		r = settle(p, &w, err);
		if (r < 0)
			return r;
	}
}

int fl_plan_open(struct fl_conf *conf, struct fl_store *store,
		 struct fl_plan **ret, struct fl_err *err)
{
	_cleanup_(fl_plan_closep) struct fl_plan *p = fl_calloc(1, sizeof(*p));
	int r;

	p->conf = conf;
	p->store = store;
	p->exec = &fl_exec_local;
	p->stage = "starting";
	p->lock_fd = -1;
	p->started_ms = fl_clock_mono_ms();
	r = take_lock(p, err);
	if (!r)
		r = fl_loop_new(&p->loop, err);
	if (!r)
		r = recover(p, err);
	if (r < 0)
		return r;
	*ret = fl_steal(p);
	return 0;
}

static void forget_child(struct fl_plan *p, int i)
{
	free(p->child[i].dir);
	free(p->child[i].label);
	p->child[i] = p->child[--p->nchild];
}

void fl_plan_close(struct fl_plan *p)
{
	if (!p)
		return;
	/* Work that nobody waits for any more, or until the next start. */
	while (p->nchild) {
		_cleanup_(fl_work_clear) struct fl_work w = { 0 };
		int64_t id = p->child[0].work_id;

		fl_proc_kill(p->child[0].pid, 2000);
		forget_child(p, 0);
		if (fl_store_work_running(p->store, id - 1, &w, NULL) > 0 &&
		    w.id == id)
			settle(p, &w, NULL);
	}
	while (p->targets) {
		struct fl_target *t = p->targets;

		p->targets = t->next;
		fl_target_free(t);
	}
	fl_loop_free(p->loop);
	if (p->lock_fd >= 0)
		close(p->lock_fd);
	fl_progress_end();
	free(p);
}

static void fail(struct fl_plan *p, const struct fl_err *err)
{
	if (!p->failure.code)
		p->failure = *err;
	fl_loop_quit(p->loop, 1);
}

/* ---- requests --------------------------------------------------------------- */

static int advance(struct fl_plan *p, struct fl_err *err)
{
	struct fl_request *q = p->request;
	const struct fl_request_ops *ops = NULL;
	int r = fl_store_begin(p->store, err);

	if (r < 0)
		return r;
	p->ahead_build_s = 0;
	p->stage = q->kind;
	for (size_t i = 0; i < FL_ARRAY_SIZE(request_kinds); i++)
		if (!strcmp(request_kinds[i]->kind, q->kind))
			ops = request_kinds[i];
	r = ops ? ops->advance(p, q, err) :
		  fl_err_set(err, -EINVAL, FL_E_BUG, "no request of kind '%s'",
			     q->kind);
	if (r < 0) {
		fl_store_rollback(p->store);
		fl_store_request_update(p->store, q->id, q->doc, "failed",
					err->text, NULL);
		return r;
	}
	if (r != FL_PENDING) {
		free(q->state);
		q->state = fl_strdup("done");
	}
	r = fl_store_request_update(p->store, q->id, q->doc, q->state,
				    q->reason ? q->reason : "", err);
	if (r < 0) {
		fl_store_rollback(p->store);
		return r;
	}
	return fl_store_commit(p->store, err);
}

/* ---- workers ------------------------------------------------------------------ */

static int running(const struct fl_plan *p, const char *kind)
{
	int n = 0;

	for (int i = 0; i < p->nchild; i++)
		n += !strcmp(p->child[i].kind, kind);
	return n;
}

static bool exclusive_runs(const struct fl_plan *p)
{
	for (int i = 0; i < p->nchild; i++)
		if (p->child[i].exclusive)
			return true;
	return false;
}

static int free_slot(const struct fl_plan *p)
{
	for (int slot = 0;; slot++) {
		bool used = false;

		for (int i = 0; i < p->nchild; i++)
			used |= !strcmp(p->child[i].kind, "build") &&
				p->child[i].slot == slot;
		if (!used)
			return slot;
	}
}

static bool is_wall(const struct fl_work *w)
{
	const json_t *host = json_object_get(w->spec, "host");

	return !strcmp(fl_json_str_or(host, "clock", ""), "wall");
}

/* May one more of this kind start now? */
static bool may_start(const struct fl_plan *p, const struct fl_work *w)
{
	if (p->nchild >= FL_PLAN_CHILDREN - 1 || exclusive_runs(p))
		return false;
	if (!strcmp(w->kind, "build"))
		return running(p, "build") < p->conf->build_slots;
	if (strcmp(w->kind, "run"))
		return running(p, w->kind) < 1;
	if (is_wall(w)) /* builds first, then the host to itself */
		return !p->nchild &&
		       !fl_store_work_count(p->store, "build", "queued");
	return running(p, "run") < p->conf->run_slots;
}

static void set_label(struct fl_plan *p, struct fl_plan_child *c,
		      const struct fl_work *w)
{
	_cleanup_free_ char *name = NULL;
	json_auto_t *rows = NULL;

	if (!strcmp(w->kind, "build")) {
		name = fl_store_described(p->store,
					  fl_json_str_or(w->spec, "sha", ""));
		c->label = fl_asprintf("build %s", name);
		c->expected_s = fl_store_mean_make_s(p->store, 200);
	} else if (!strcmp(w->kind, "run")) {
		if (!fl_store_rows(p->store, FL_ROWS_RUN, &rows, NULL, "i",
				   w->subject_id))
			name = fl_strdup(fl_json_str_or(json_array_get(rows, 0),
							"version", "?"));
		c->label = fl_asprintf(
			"%s %s #%lld",
			fl_json_int_or(w->spec, "profile_ns", 0) ? "profile" :
								   "boot",
			name ? name : "?",
			(long long)fl_json_int_or(w->spec, "boot_no", 0));
		c->expected_s = fl_store_mean_run_s(
			p->store, 0,
			json_array_size(json_object_get(w->spec, "cases")), 25);
	} else {
		c->label = fl_asprintf("%s %s", w->kind,
				       fl_json_str_or(w->spec, "name", ""));
		c->expected_s = 20;
	}
}

static int start_child(struct fl_plan *p, struct fl_work *w, struct fl_err *err)
{
	struct fl_plan_child *c = &p->child[p->nchild];
	_cleanup_free_ char *dir = NULL, *spec = NULL;
	int r = fl_store_work_start(p->store, w, err);

	if (r < 0)
		return r;
	*c = (struct fl_plan_child){ .work_id = w->id,
				     .attempt = w->attempt,
				     .subject_id = w->subject_id,
				     .started_ms = fl_clock_mono_ms() };
	snprintf(c->kind, sizeof(c->kind), "%s", w->kind);
	c->exclusive = !strcmp(w->kind, "run") && is_wall(w);
	dir = fl_plan_work_dir(p, w->id, w->attempt);
	spec = fl_path_join(dir, FL_WORKER_SPEC);
	if (!strcmp(w->kind, "build")) {
		_cleanup_free_ char *slot = NULL;

		c->slot = free_slot(p);
		slot = fl_asprintf("%s/var/build/%d", p->conf->dir, c->slot);
		json_object_set_new(w->spec, "slot", json_string(slot));
	}
	r = fl_fs_remove(dir, err);
	if (!r)
		r = fl_fs_mkdirs(dir, err);
	if (!r)
		r = fl_json_save(spec, w->spec, err);
	if (!r)
		r = p->exec->start(dir, &c->pid, err);
	if (r < 0)
		return r;
	c->dir = fl_steal(dir);
	set_label(p, c, w);
	p->nchild++;
	return 0;
}

static void on_child(pid_t pid, const siginfo_t *si, void *arg);

static int dispatch_kind(struct fl_plan *p, const char *kind,
			 struct fl_err *err)
{
	for (;;) {
		_cleanup_(fl_work_clear) struct fl_work w = { 0 };
		int r = fl_store_work_next(p->store, kind, &w, err);

		if (r <= 0)
			return r;
		if (!may_start(p, &w))
			return 0;
		r = start_child(p, &w, err);
		if (!r)
			r = fl_loop_add_child(p->loop,
					      p->child[p->nchild - 1].pid,
					      on_child, p, err);
		if (r < 0)
			return r;
	}
}

static int dispatch(struct fl_plan *p, struct fl_err *err)
{
	static const char *const kinds[] = { "fetch", "pick", "build", "run" };
	int r = 0;

	for (size_t i = 0; !r && i < FL_ARRAY_SIZE(kinds); i++)
		r = dispatch_kind(p, kinds[i], err);
	return r;
}

/* Advance, start what is due, and notice when all is over. */
static void turn(struct fl_plan *p)
{
	struct fl_err err = { 0 };
	int r;

	if (p->failure.code) {
		fl_loop_quit(p->loop, 1);
		return;
	}
	r = advance(p, &err);
	if (!r && strcmp(p->request->state, "open")) {
		fl_loop_quit(p->loop, 0);
		return;
	}
	if (!r)
		r = dispatch(p, &err);
	if (!r && !p->nchild && !fl_store_work_count(p->store, "", "queued"))
		r = fl_err_set(&err, -EDEADLK, FL_E_BUG,
			       "the request waits, but no work is left");
	if (r < 0)
		fail(p, &err);
}

/* For a worker that left no bundle: how it ended, and what it said last. */
static char *exit_text(const struct fl_plan_child *c, const siginfo_t *si)
{
	_cleanup_free_ char *log = fl_path_join(c->dir, "worker.log");
	_cleanup_buf_ struct fl_buf said = { 0 };
	const char *last;
	size_t n;

	fl_fs_read_tail(log, 300, &said, NULL);
	for (n = said.len; n && strchr(" \n", said.s[n - 1]); n--)
		said.s[n - 1] = '\0';
	last = strrchr(fl_buf_str(&said), '\n');
	last = last ? last + 1 : fl_buf_str(&said);
	/* What it cannot say when there is no room for its words either. */
	if (!n && fl_fs_free_bytes(c->dir) < SMALL_ROOM)
		last = "the disk is full";
	return fl_asprintf("the worker %s %d%s%s",
			   si->si_code == CLD_EXITED ? "ended with status" :
						       "was killed by signal",
			   si->si_status, *last ? ": " : "", last);
}

static void on_child(pid_t pid, const siginfo_t *si, void *arg)
{
	_cleanup_(fl_work_clear) struct fl_work w = { 0 };
	struct fl_plan *p = arg;
	struct fl_err err = { 0 };
	_cleanup_free_ char *why = NULL;
	int i = 0, r = 0;

	while (i < p->nchild && p->child[i].pid != pid)
		i++;
	if (i == p->nchild)
		return;
	why = exit_text(&p->child[i], si);
	/* The row itself, for its spec: work ids grow, so "after" finds it. */
	r = fl_store_work_running(p->store, p->child[i].work_id - 1, &w, &err);
	if (r > 0 && w.id == p->child[i].work_id)
		r = fl_plan_ingest(p, &w, p->child[i].dir, why, &err);
	forget_child(p, i);
	p->ended++;
	if (r < 0)
		fail(p, &err);
	else
		turn(p);
}

static void check_deadlines(struct fl_plan *p)
{
	int64_t now = fl_clock_mono_ms();

	for (int i = 0; i < p->nchild; i++) {
		_cleanup_free_ char *spec_path =
			fl_path_join(p->child[i].dir, FL_WORKER_SPEC);
		json_auto_t *spec = NULL;
		double limit;

		if (now - p->child[i].started_ms < WORKER_GRACE_MS ||
		    fl_json_load(spec_path, 4u << 20, &spec, NULL) < 0)
			continue;
		limit = fl_json_num_or(spec, "total_s",
				       fl_json_num_or(spec, "timeout_s", 7200));
		if ((double)(now - p->child[i].started_ms) >
		    limit * 1000 + WORKER_GRACE_MS) {
			fl_warn("%s is stuck; its worker is killed",
				p->child[i].label);
			kill(-p->child[i].pid, SIGKILL);
		}
	}
}

static void on_tick(void *arg)
{
	struct fl_plan *p = arg;
	int64_t due = fl_store_work_due(p->store);

	check_deadlines(p);
	fl_plan_progress(p);
	if (due && due <= fl_clock_now() && !p->nchild)
		turn(p);
}

static void on_signal(int signo, void *arg)
{
	struct fl_plan *p = arg;
	struct fl_err err = { 0 };

	fl_err_set(&err, -EINTR, FL_E_USER,
		   "stopped by %s; the same command goes on from here",
		   strsignal(signo));
	fail(p, &err);
}

static void on_start(void *arg)
{
	turn(arg);
}

int fl_plan_request(struct fl_plan *p, const char *kind, const char *key,
		    const json_t *doc, struct fl_request *done,
		    struct fl_err *err)
{
	int code = 0;
	int r = fl_store_request(p->store, kind, key, doc, done, err);

	if (r < 0)
		return r;
	p->request = done;
	r = fl_loop_add_signal(p->loop, SIGINT, on_signal, p, err);
	if (!r)
		r = fl_loop_add_signal(p->loop, SIGTERM, on_signal, p, err);
	if (!r)
		r = fl_loop_add_timer(p->loop, TICK_MS, TICK_MS, on_tick, p,
				      NULL, err);
	if (!r)
		r = fl_loop_add_timer(p->loop, 0, 0, on_start, p, NULL, err);
	if (!r)
		r = fl_loop_run(p->loop, &code, err);
	fl_progress_end();
	if (r < 0)
		return r;
	if (p->failure.code) {
		if (err)
			*err = p->failure;
		return p->failure.code;
	}
	return 0;
}
