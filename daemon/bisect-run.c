// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The loop of `faultline bisect run`: ask the hunt, check out, run, write it
 * down, tell the hunt. What the journal holds is told to it in the same order
 * first; the hunt is pure, so it stands where it stood.
 */
#include "bisect-run.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "util/clock.h"
#include "util/fs.h"
#include "util/log.h"

/* ---- from the journal ----------------------------------------------------- */

static int replay(struct fl_brun_hunt *h, struct fl_err *err)
{
	json_t *e;
	size_t i;
	int r;

	h->replaying = true;
	json_array_foreach(h->state.entries, i, e) {
		h->stage = fl_hunt_update(h->hunt);
		r = fl_brun_take(h, e, err);
		if (r < 0)
			return r;
	}
	h->stage = fl_hunt_update(h->hunt);
	h->replaying = false;
	h->current = -1; /* the work tree may be anywhere */
	return 0;
}

/* ---- one more run --------------------------------------------------------- */

static void tick(double seconds, void *arg)
{
	fl_brun_view_tick(arg, seconds);
}

/* A first number with another unit than the others' would be off by 1000. */
static void check_unit(const struct fl_brun_hunt *h, struct fl_brun_run *run)
{
	if (run->why || !h->have_unit || !strcmp(run->unit, h->unit))
		return;
	run->why = fl_asprintf("its number is in '%s', others were in '%s'",
			       run->unit, h->unit);
	run->value = NAN;
}

static void say_log(const struct fl_brun_hunt *h, const char *sha)
{
	_cleanup_free_ char *log =
		fl_asprintf("%s/failed-%.12s.log", h->state.dir, sha);

	if (fl_fs_exists(log))
		fl_info("what the command said: %s", log);
}

/*
 * An end point that gives no number at its first run ends it all, and is not
 * written down: most often it is the command that is wrong.
 */
static int check_end(const struct fl_brun_hunt *h,
		     const struct fl_brun_run *run, struct fl_err *err)
{
	int i = h->ask.commit;
	const struct fl_brun_node *node = &h->graph.node[i];
	bool end = i == 0 || i == h->graph.n - 1;

	if (!run->why || !end || node->value[0].n || node->value[1].n)
		return 0;
	say_log(h, node->commit.sha);
	if (run->relative)
		return fl_err_set(
			err, -ENODATA, FL_E_USER,
			"'%s' cannot be tested: %s (it is started in the top folder of each commit; a script that is not committed needs its whole path)",
			i ? h->bad : h->good, run->why);
	return fl_err_set(err, -ENODATA, FL_E_USER, "'%s' cannot be tested: %s",
			  i ? h->bad : h->good, run->why);
}

static json_t *entry_of(const struct fl_brun_hunt *h,
			const struct fl_brun_run *run)
{
	json_t *e = json_pack(
		"{s:s, s:s, s:f, s:I}", "commit",
		h->graph.node[h->ask.commit].commit.sha, "role",
		h->ask.role == FL_HUNT_VERIFY ? "verify" : "search", "seconds",
		run->seconds, "at", (json_int_t)fl_clock_now());

	if (run->why) {
		json_object_set_new(e, "failed",
				    fl_json_text_value(run->why,
						       strlen(run->why)));
		json_object_set_new(e, "never", json_boolean(run->never));
	} else {
		json_object_set_new(e, "value", json_real(run->value));
		json_object_set_new(e, "unit",
				    fl_json_text_value(run->unit,
						       strlen(run->unit)));
	}
	return e;
}

static int measure(struct fl_brun_hunt *h, struct fl_err *err)
{
	const char *sha = h->ask.role == FL_HUNT_VERIFY ?
				  fl_brun_graph_beside(&h->graph, h->ask.commit,
						       h->candidate) :
				  h->graph.node[h->ask.commit].commit.sha;
	_cleanup_(fl_brun_run_clear) struct fl_brun_run run = { 0 };
	struct fl_brun_command c = {
		.argv = h->opts->command,
		.dir = h->state.tree,
		.state = h->state.dir,
		.repo = fl_git_path(h->git),
		.sha = sha,
		.timeout_s = h->opts->timeout_s,
		.tick = tick,
		.arg = h,
	};
	int64_t start = fl_clock_mono_ms();
	json_auto_t *e = NULL;
	int r;

	fl_brun_view_tick(h, 0);
	r = fl_git_linked(h->git, h->state.name, h->state.tree, sha, err);
	if (!r && fl_brun_stopped())
		r = -EINTR;
	if (!r)
		r = fl_brun_command(&c, &run, err);
	if (r < 0)
		return r;
	check_unit(h, &run);
	run.seconds = (double)(fl_clock_mono_ms() - start) / 1000;
	r = check_end(h, &run, err);
	if (r < 0)
		return r;
	e = entry_of(h, &run);
	if (strcmp(sha, h->graph.node[h->ask.commit].commit.sha) != 0)
		json_object_set_new(e, "ran", json_string(sha));
	r = fl_brun_state_add(&h->state, e, err);
	if (!r)
		r = fl_brun_take(h, e, err);
	if (r < 0)
		return r;
	fl_hunt_update(h->hunt);
	fl_brun_view_ran(h, &run);
	return 0;
}

static int loop(struct fl_brun_hunt *h, struct fl_err *err)
{
	for (;;) {
		enum fl_hunt_state stage = fl_hunt_update(h->hunt);
		int r;

		h->candidate = stage == FL_HUNT_VERIFYING ?
				       fl_brun_most_probable(h) :
				       -1;
		if (stage != h->stage)
			fl_brun_view_stage(h, stage);
		h->stage = stage;
		if (stage == FL_HUNT_DONE ||
		    fl_hunt_next(h->hunt, 1, &h->ask) < 1)
			return 0;
		r = fl_brun_stopped() ? -EINTR : measure(h, err);
		if (r < 0)
			return r;
	}
}

/* ---- a hunt --------------------------------------------------------------- */

static void hunt_clear(struct fl_brun_hunt *h)
{
	fl_hunt_free(h->hunt);
	free(h->told);
	fl_brun_graph_clear(&h->graph);
	fl_brun_state_clear(&h->state);
}

/* All that decides what a value means and what follows from it. */
static json_t *header_of(const struct fl_brun_opts *o, const char *good,
			 const char *bad)
{
	json_t *command = json_array(), *paths = json_array();

	for (char **a = o->command; *a; a++)
		json_array_append_new(command,
				      fl_json_text_value(*a, strlen(*a)));
	for (size_t i = 0; i < o->paths.n; i++)
		json_array_append_new(
			paths, fl_json_text_value(o->paths.s[i],
						  strlen(o->paths.s[i])));
	return json_pack("{s:i, s:s, s:s, s:o, s:o, s:b, s:b, s:f, s:f}",
			 "version", 1, "good", good, "bad", bad, "command",
			 command, "paths", paths, "first_parent",
			 o->first_parent, "exact", o->exact, "confidence",
			 o->confidence, "threshold", o->threshold);
}

static int open_state(struct fl_brun_hunt *h, struct fl_err *err)
{
	int last = h->graph.n - 1;
	json_auto_t *header = header_of(h->opts, h->graph.node[0].commit.sha,
					h->graph.node[last].commit.sha);
	_cleanup_free_ char *base =
		h->opts->state ? fl_strdup(h->opts->state) :
				 fl_asprintf("%s/faultline/bisect-run",
					     fl_git_path(h->git));
	int r = fl_brun_state_open(base, header, h->opts->restart, &h->state,
				   err);

	if (!r)
		fl_brun_end_leftovers(h->state.dir);
	return r;
}

static int may_go_on(const struct fl_brun_hunt *h, struct fl_err *err)
{
	int before = h->runs + h->failed;

	if (!before || h->stage == FL_HUNT_DONE || h->opts->resume)
		return 0;
	return fl_err_set(
		err, -EEXIST, FL_E_USER,
		"this hunt was begun before and stopped after %d run%s; add --resume to go on with it, or --restart to begin anew",
		before, before == 1 ? "" : "s");
}

/* One line of history, from good to bad. */
static int hunt(const struct fl_brun_opts *opts, struct fl_git *git,
		const char *const names[2], const char *const shas[2],
		json_t **ret, struct fl_err *err)
{
	_cleanup_(hunt_clear) struct fl_brun_hunt h = {
		.opts = opts,
		.git = git,
		.good = names[0],
		.bad = names[1],
		.current = -1,
		.candidate = -1,
		.state = { .lock = -1, .journal = -1 },
	};
	bool there;
	int r = fl_brun_graph_load(git, shas[0], shas[1], opts, &h.graph, err);

	if (!r)
		r = open_state(&h, err);
	if (!r)
		r = fl_brun_model(&h, err);
	if (!r)
		r = replay(&h, err);
	if (!r)
		r = may_go_on(&h, err);
	if (r < 0)
		return r;
	there = h.stage == FL_HUNT_DONE;
	fl_brun_view_start(&h);
	r = there ? 0 : loop(&h, err);
	fl_brun_view_end();
	if (r == -EINTR)
		fl_info("interrupted after %d run%s; the same command with --resume goes on",
			h.runs + h.failed, h.runs + h.failed == 1 ? "" : "s");
	/* Kept while it may go on: what was built in there is worth time. */
	if (r != -EINTR || !h.runs)
		fl_git_linked_remove(git, h.state.name, h.state.tree, NULL);
	if (r < 0)
		return r;
	*ret = fl_brun_result(&h);
	json_object_set_new(*ret, "measured_before", json_boolean(there));
	return 0;
}

/* good is no ancestor: both ways from where the two meet. */
static int hunt_sides(const struct fl_brun_opts *opts, struct fl_git *git,
		      const char *good, const char *bad, json_t **ret,
		      struct fl_err *err)
{
	json_auto_t *to_bad = NULL, *to_good = NULL;
	_cleanup_free_ char *name = NULL;
	char fork[FL_SHA_HEX];
	int r = fl_git_merge_base(git, opts->good, opts->bad, fork, err);

	if (r < 0)
		return r;
	name = fl_git_describe(git, fork);
	if (!strcmp(fork, bad))
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' is an ancestor of '%s': name the older one first (--good %s --bad %s); a number that falls is found as well as one that rises",
			opts->bad, opts->good, opts->bad, opts->good);
	fl_note("%s is no ancestor of %s; they meet at %s, from where both are searched.",
		opts->good, opts->bad, name);
	r = hunt(opts, git, (const char *[]){ name, opts->bad },
		 (const char *[]){ fork, bad }, &to_bad, err);
	if (!r)
		r = hunt(opts, git, (const char *[]){ name, opts->good },
			 (const char *[]){ fork, good }, &to_good, err);
	if (!r)
		*ret = json_pack("{s:s, s:[O, O]}", "merge_base", fork, "sides",
				 to_bad, to_good);
	return r;
}

int fl_brun(const struct fl_brun_opts *opts, json_t **ret, struct fl_err *err)
{
	_cleanup_(fl_git_freep) struct fl_git *git = NULL;
	char good[FL_SHA_HEX] = "", bad[FL_SHA_HEX] = "";
	int r = fl_git_discover(opts->repo, &git, err);

	if (!r)
		r = fl_git_resolve(git, opts->good, good, err);
	if (!r)
		r = fl_git_resolve(git, opts->bad, bad, err);
	if (!r && !strcmp(good, bad))
		r = fl_err_set(
			err, -EINVAL, FL_E_USER,
			"'%s' and '%s' are the same commit, %.12s: there is nothing between them",
			opts->good, opts->bad, good);
	if (!r)
		r = fl_git_is_ancestor(git, good, bad, err);
	if (r < 0)
		return r;
	fl_brun_catch_signals();
	if (!r)
		return hunt_sides(opts, git, good, bad, ret, err);
	return hunt(opts, git, (const char *[]){ opts->good, opts->bad },
		    (const char *[]){ good, bad }, ret, err);
}
