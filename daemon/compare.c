// SPDX-License-Identifier: GPL-2.0-or-later
/* See compare.h. */
#include "compare.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include "stats/stats.h"
#include "util/fs.h"

#define MIN_REPORTABLE 0.0005 /* DESIGN: 0.05 % */
#define SPREADS 3
#define ALPHA 0.05
/* Of a change, seen with the string instructions shown, in instructions. */
#define SECOND_ISA_SHARE 0.5
#define MAX_CONFIG (4u << 20)

struct sides {
	struct fl_target *t;
	int64_t comparison, kernel[2];
	size_t at; /* index of the case */
	const struct fl_kpi *kpi;
	int64_t kpi_id;
};

double fl_compare_exact_floor(double spread)
{
	double floor = log1p(MIN_REPORTABLE);

	return spread * SPREADS > floor ? spread * SPREADS : floor;
}

double fl_compare_threshold(const struct fl_target *t, const char *case_name,
			    const char *kpi)
{
	const struct fl_conf *c = t->p->conf;
	double d = t->exact ? c->threshold_exact : c->threshold_wall;
	json_t *v;
	size_t i;

	/* Later entries win, as everywhere. */
	json_array_foreach(t->job->thresholds, i, v) {
		const char *want = fl_json_str_or(v, "kpi", kpi);
		const char *pattern = fl_json_str_or(v, "case", "*");

		if (!strcmp(want, kpi) && !fnmatch(pattern, case_name, 0))
			d = fl_json_num_or(v, t->exact ? "exact" : "wall",
					   d * 100) /
			    100;
	}
	return log1p(d);
}

static double first_log(struct sides *s, int side, enum fl_isa isa)
{
	_cleanup_free_ double *v = NULL;
	size_t n = 0;

	if (fl_target_logs(s->t, s->kernel[side], isa, s->t->case_ids[s->at],
			   s->kpi_id, &v, &n, NULL) < 0 ||
	    !n)
		return NAN;
	return fl_stats_mean(v, n);
}

/*
 * Does the change hold with erms and fsrm shown? Compared in absolute units:
 * string iterations inflate both sides, so the ratio shrinks by itself.
 */
static const char *second_isa(struct sides *s)
{
	double plain = exp(first_log(s, 1, FL_ISA_PLAIN)) -
		       exp(first_log(s, 0, FL_ISA_PLAIN));
	double shown = exp(first_log(s, 1, FL_ISA_STRINGS)) -
		       exp(first_log(s, 0, FL_ISA_STRINGS));

	if (isnan(plain) || isnan(shown))
		return NULL;
	return shown / plain >= SECOND_ISA_SHARE ? "holds" : "artefact";
}

static void zero_row(struct sides *s, struct fl_result_row *row)
{
	_cleanup_free_ double *v[2] = { NULL, NULL };
	size_t n[2] = { 0, 0 };
	double sum[2] = { 0, 0 };

	for (int i = 0; i < 2; i++) {
		fl_store_boot_values(s->t->p->store, s->kernel[i],
				     s->t->recipe[FL_ISA_PLAIN],
				     s->t->case_ids[s->at], s->kpi_id, &v[i],
				     &n[i], NULL);
		for (size_t j = 0; j < n[i]; j++)
			sum[i] += v[i][j];
	}
	row->base_boots = (int64_t)n[0];
	row->head_boots = (int64_t)n[1];
	row->base_value = n[0] ? sum[0] / (double)n[0] : NAN;
	row->head_value = n[1] ? sum[1] / (double)n[1] : NAN;
	row->effect = row->lo = row->hi = row->p = row->hidden = NAN;
	row->base_sd = row->head_sd = NAN;
	if (sum[0] == 0 && sum[1] == 0) {
		row->verdict = fl_verdict_str(FL_SAME);
		row->effect = 0;
	} else {
		row->verdict = fl_verdict_str(FL_UNCLEAR);
		row->reason = "a value of zero has no ratio";
	}
}

static int judge(struct sides *s, struct fl_result_row *row, struct fl_err *err)
{
	_cleanup_free_ double *a = NULL, *b = NULL;
	struct fl_compare_result res;
	struct fl_compare_params par = {
		.better = s->kpi->better,
		.alpha = ALPHA,
		.delta = row->threshold,
		.seed = (uint64_t)s->comparison,
	};
	size_t na = 0, nb = 0;
	int64_t id = s->t->case_ids[s->at];
	int r = fl_target_logs(s->t, s->kernel[0], FL_ISA_PLAIN, id, s->kpi_id,
			       &a, &na, err);

	if (!r)
		r = fl_target_logs(s->t, s->kernel[1], FL_ISA_PLAIN, id,
				   s->kpi_id, &b, &nb, err);
	if (r == -ERANGE) {
		zero_row(s, row);
		return 1;
	}
	if (r < 0 || !na || !nb)
		return r;
	if (s->t->exact)
		par.exact_floor = fl_compare_exact_floor(
			fmax(fl_stats_sd(a, na), fl_stats_sd(b, nb)));
	fl_stats_compare(a, na, b, nb, &par, &res);
	row->base_value = exp(fl_stats_mean(a, na));
	row->head_value = exp(fl_stats_mean(b, nb));
	row->base_boots = (int64_t)na;
	row->head_boots = (int64_t)nb;
	row->base_sd = res.sd_a;
	row->head_sd = res.sd_b;
	row->effect = res.effect;
	row->lo = res.lo;
	row->hi = res.hi;
	row->p = res.p;
	row->hidden = res.hidden;
	row->verdict = fl_verdict_str(res.verdict);
	row->shift = res.shift;
	return 1;
}

/* Judges every KPI of every case; shifted cases are added to moved. */
static int judge_all(struct fl_target *t, const struct fl_comparison *c,
		     struct fl_caseset *moved, struct fl_err *err)
{
	struct sides s = { .t = t,
			   .comparison = c->id,
			   .kernel = { c->base_kernel_id, c->head_kernel_id } };

	for (s.at = 0; s.at < t->job->ncases; s.at++) {
		for (size_t k = 0; (s.kpi = fl_kpi_at(k)); k++) {
			struct fl_result_row row = { 0 };
			int r = fl_store_kpi(t->p->store, s.kpi->name,
					     s.kpi->unit, s.kpi->better,
					     &s.kpi_id, err);

			row.case_id = t->case_ids[s.at];
			row.kpi_id = s.kpi_id;
			row.threshold = fl_compare_threshold(
				t, t->job->cases[s.at].name, s.kpi->name);
			if (!r)
				r = judge(&s, &row, err);
			if (r > 0 && row.shift && t->exact)
				row.second_isa = second_isa(&s);
			if (r > 0) {
				r = fl_store_result(t->p->store, c->id, &row,
						    err);
				moved->want[s.at] |= row.shift;
			}
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int sorted_lines(const char *path, struct fl_strv *lines)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r = fl_fs_read(path, MAX_CONFIG, &text, NULL);

	fl_strv_split(lines, fl_buf_str(&text), "\n");
	fl_strv_sort(lines);
	return r;
}

/* Options that only one of two final configs has, '-' and '+' in front;
 * NULL when a file cannot be read. */
static char *config_diff(const char *base, const char *head)
{
	_cleanup_strv_ struct fl_strv a = { 0 }, b = { 0 };
	struct fl_buf out = { 0 };

	if (sorted_lines(base, &a) < 0 || sorted_lines(head, &b) < 0)
		return NULL;
	for (size_t i = 0, j = 0; i < a.n || j < b.n;) {
		int d = i == a.n ? 1 : j == b.n ? -1 : strcmp(a.s[i], b.s[j]);
		const char *line = d > 0 ? b.s[j] : a.s[i];

		if (d && strstr(line, "CONFIG_"))
			fl_buf_printf(&out, "%c%s\n", d < 0 ? '-' : '+', line);
		i += d <= 0;
		j += d >= 0;
	}
	return fl_buf_steal(&out);
}

static int finish(struct fl_target *t, const struct fl_comparison *c,
		  const struct fl_kernel k[2], struct fl_err *err)
{
	_cleanup_free_ char *base_dir = fl_plan_path(t->p, k[0].dir);
	_cleanup_free_ char *head_dir = fl_plan_path(t->p, k[1].dir);
	_cleanup_free_ char *base = fl_path_join(base_dir, "config");
	_cleanup_free_ char *head = fl_path_join(head_dir, "config");
	_cleanup_free_ char *diff = config_diff(base, head);
	int r = fl_store_comparison_config_diff(t->p->store, c->id, diff, err);

	return r < 0 ? r :
		       fl_store_comparison_finish(t->p->store, c->id, "done",
						  "", err);
}

/* Interleaved, ABBA: drift of the machine falls on both sides alike. */
static int need_both(struct fl_target *t, const struct fl_kernel k[2],
		     const struct fl_caseset *set, enum fl_isa isa,
		     int64_t boots, int *which, struct fl_err *err)
{
	int worst = FL_READY;

	for (int64_t n = 1; n <= boots; n++) {
		for (int i = 0; i < 2; i++) {
			int side = n % 2 ? i : 1 - i;
			int r = fl_need_boots(t, k[side].id, isa, set, n,
					      FL_PRIO_NIGHTLY, err);

			if (r < 0)
				return r;
			if (r == FL_UNAVAILABLE) {
				*which = side;
				return r;
			}
			if (r == FL_PENDING)
				worst = r;
		}
	}
	return worst;
}

static int give_up(struct fl_target *t, const struct fl_comparison *c,
		   const struct fl_kernel *k, struct fl_err *err)
{
	_cleanup_free_ char *name = fl_store_described(t->p->store, k->sha);
	_cleanup_free_ char *status = NULL, *why = NULL, *text = NULL;
	int r;

	if (strcmp(k->status, "built")) {
		text = fl_asprintf("%s does not build: %s", name, k->reason);
	} else {
		r = fl_store_broken_why(t->p->store, k->id, t->recipe[0],
					&status, &why, err);
		if (r < 0)
			return r;
		text = fl_asprintf("%s does not come through (%s): %s", name,
				   status, why);
	}
	r = fl_store_comparison_finish(t->p->store, c->id, "failed", text, err);
	return r < 0 ? r : FL_UNAVAILABLE;
}

static int measure(struct fl_target *t, const struct fl_comparison *c,
		   const struct fl_kernel k[2], struct fl_err *err)
{
	_cleanup_(fl_caseset_clear) struct fl_caseset all, moved;
	int which = 0, r;

	fl_caseset_init(&all, t);
	fl_caseset_init(&moved, t);
	fl_caseset_add_all(&all);
	r = need_both(t, k, &all, FL_ISA_PLAIN, c->boots, &which, err);
	if (r == FL_UNAVAILABLE)
		return give_up(t, c, &k[which], err);
	if (r != FL_READY)
		return r;
	r = judge_all(t, c, &moved, err);
	if (!r && t->exact) {
		r = need_both(t, k, &moved, FL_ISA_STRINGS, 1, &which, err);
		if (r == FL_PENDING || r < 0)
			return r;
		/* With both views of what moved, the rows are final. */
		r = judge_all(t, c, &moved, err);
	}
	return r < 0 ? r : finish(t, c, k, err);
}

int fl_compare_advance(struct fl_target *t, const char *base_sha,
		       const char *head_sha, int64_t boots, int64_t *id,
		       struct fl_err *err)
{
	const char *const sha[2] = { base_sha, head_sha };
	struct fl_kernel k[2] = { { 0 }, { 0 } };
	_cleanup_(fl_comparison_clear) struct fl_comparison c = {
		.host_id = t->host_id,
		.job_id = t->job_id,
		.recipe_id = t->recipe[FL_ISA_PLAIN],
		.boots = boots,
	};
	int ready[2] = { 0, 0 }, r = 0;

	for (int i = 0; r >= 0 && i < 2; i++)
		r = ready[i] =
			fl_need_kernel(t, sha[i], FL_PRIO_NIGHTLY, &k[i], err);
	if (r < 0)
		goto out;
	c.base_kernel_id = k[0].id;
	c.head_kernel_id = k[1].id;
	r = fl_store_comparison(t->p->store, &c, err);
	if (r < 0)
		goto out;
	*id = c.id;
	if (!strcmp(c.status, "done"))
		r = FL_READY;
	else if (ready[0] == FL_UNAVAILABLE || ready[1] == FL_UNAVAILABLE)
		r = give_up(t, &c, &k[ready[0] != FL_UNAVAILABLE], err);
	else if (ready[0] == FL_READY && ready[1] == FL_READY)
		r = measure(t, &c, k, err);
	else
		r = FL_PENDING;
	/* A base that is built first can boot while the head builds. */
	if (r == FL_PENDING && ready[0] == FL_READY && ready[1] == FL_PENDING &&
	    t->exact) {
		_cleanup_(fl_caseset_clear) struct fl_caseset all;
		int early;

		fl_caseset_init(&all, t);
		fl_caseset_add_all(&all);
		early = fl_need_boots(t, k[0].id, FL_ISA_PLAIN, &all, boots,
				      FL_PRIO_NIGHTLY, err);
		if (early < 0)
			r = early;
	}
out:
	fl_kernel_clear(&k[0]);
	fl_kernel_clear(&k[1]);
	return r;
}
