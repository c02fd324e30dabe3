// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The verdicts of a comparison: from boots and the noise model to rows. All
 * series of the comparison are judged together, since a hundred series hold
 * five changes out of nothing at p < 0.05. See compare.h.
 */
#include "compare.h"

#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <string.h>
#include "noise.h"
#include "stats/fdr.h"
#include "stats/stats.h"

#define MIN_REPORTABLE 0.0005 /* DESIGN: 0.05 % */
#define SPREADS 3
#define ALPHA 0.05
#define FALSE_DISCOVERIES 0.05
/* Of a change, seen with the string instructions shown, in instructions. */
#define SECOND_ISA_SHARE 0.5

/* One KPI of one case. */
struct series {
	size_t at; /* index of the case */
	const struct fl_kpi *kpi;
	int64_t kpi_id;
	struct fl_boots boots[2];
	struct fl_noise noise;
	double threshold;
	bool zero; /* a value without a logarithm */
	size_t look; /* of the plan */
};

struct judge {
	struct fl_target *t;
	const struct fl_comparison *c;
	const struct fl_looks *plan;
	struct series *s;
	struct fl_compare_result *res; /* parallel to s */
	size_t n;
};

static void judge_clear(struct judge *j)
{
	for (size_t i = 0; i < j->n; i++) {
		fl_boots_clear(&j->s[i].boots[0]);
		fl_boots_clear(&j->s[i].boots[1]);
	}
	free(j->s);
	free(j->res);
}

const struct fl_looks *fl_compare_looks(const struct fl_comparison *c)
{
	return c->boots ? NULL : &fl_looks_default;
}

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

static int64_t kernel_of(const struct judge *j, int side)
{
	return side ? j->c->head_kernel_id : j->c->base_kernel_id;
}

static double level(const struct judge *j, const struct series *s, int side,
		    enum fl_isa isa)
{
	return fl_target_level(j->t, kernel_of(j, side), isa,
			       j->t->case_ids[s->at], s->kpi_id,
			       (struct fl_span){ j->c->after_run, 0 });
}

/*
 * Does the change hold with erms and fsrm shown? Compared in absolute units:
 * string iterations inflate both sides, so the ratio shrinks by itself.
 */
static const char *second_isa(const struct judge *j, const struct series *s)
{
	double plain = exp(level(j, s, 1, FL_ISA_PLAIN)) -
		       exp(level(j, s, 0, FL_ISA_PLAIN));
	double shown = exp(level(j, s, 1, FL_ISA_STRINGS)) -
		       exp(level(j, s, 0, FL_ISA_STRINGS));

	if (isnan(plain) || isnan(shown))
		return NULL;
	return shown / plain >= SECOND_ISA_SHARE ? "holds" : "artefact";
}

/* ---- loading --------------------------------------------------------------- */

/* 1 when both sides have boots, 0 when not. */
static int load_series(struct judge *j, struct series *s, struct fl_err *err)
{
	const struct fl_span span = { j->c->after_run, 0 };
	const char *name = j->t->job->cases[s->at].name;
	int64_t id = j->t->case_ids[s->at];
	int r = fl_store_kpi(j->t->p->store, s->kpi->name, s->kpi->unit,
			     s->kpi->better, &s->kpi_id, err);

	for (int i = 0; r >= 0 && i < 2; i++) {
		r = fl_target_logs(j->t, kernel_of(j, i), FL_ISA_PLAIN, id,
				   s->kpi_id, span, &s->boots[i], err);
		if (r == -ERANGE) {
			s->zero = true;
			r = fl_store_boots(j->t->p->store, kernel_of(j, i),
					   j->t->recipe[FL_ISA_PLAIN], id,
					   s->kpi_id, span, &s->boots[i], err);
		}
	}
	if (r >= 0)
		r = fl_noise_known(j->t, id, s->kpi_id, &s->noise, err);
	s->threshold = fl_compare_threshold(j->t, name, s->kpi->name);
	return r < 0 ? r : s->boots[0].n && s->boots[1].n;
}

static int load_all(struct judge *j, struct fl_err *err)
{
	size_t kpis = 0;

	while (fl_job_kpi_at(j->t->job, kpis))
		kpis++;
	j->s = fl_calloc(j->t->job->ncases * kpis + 1, sizeof(*j->s));
	j->res = fl_calloc(j->t->job->ncases * kpis + 1, sizeof(*j->res));
	for (size_t at = 0; at < j->t->job->ncases; at++) {
		for (size_t k = 0; k < kpis; k++) {
			struct series *s = &j->s[j->n];
			int r;

			if (!fl_job_kpi_at(j->t->job, k)->better)
				continue;
			*s = (struct series){
				.at = at, .kpi = fl_job_kpi_at(j->t->job, k)
			};
			r = load_series(j, s, err);
			if (r < 0)
				return r;
			if (r) {
				j->n++;
				continue;
			}
			fl_boots_clear(&s->boots[0]);
			fl_boots_clear(&s->boots[1]);
		}
	}
	return 0;
}

/* ---- judging ---------------------------------------------------------------- */

/* Boots of one side that this look may see. */
static size_t seen(const struct judge *j, const struct series *s, int side)
{
	size_t n = s->boots[side].n;

	return j->plan && n > j->plan->boots[s->look] ?
		       j->plan->boots[s->look] :
		       n;
}

/* Boots that were added together were measured together, in turn. */
static void fill_blocks(const struct judge *j, int *block, size_t n)
{
	size_t look = 0;

	for (size_t i = 0; i < n; i++) {
		while (look + 1 < j->plan->n && i >= j->plan->boots[look])
			look++;
		block[i] = (int)look;
	}
}

static void judge_one(struct judge *j, size_t i)
{
	struct series *s = &j->s[i];
	size_t na = seen(j, s, 0), nb = seen(j, s, 1);
	_cleanup_free_ int *block_a = fl_calloc(na, sizeof(*block_a));
	_cleanup_free_ int *block_b = fl_calloc(nb, sizeof(*block_b));
	struct fl_compare_params par = {
		.better = s->kpi->better,
		.alpha = ALPHA,
		.delta = s->threshold,
		.seed = (uint64_t)j->c->id,
		.s0sq = s->noise.s0sq,
		.d0 = s->noise.d0,
		.looks = j->plan,
		.modes = s->noise.modes.bimodal ? &s->noise.modes : NULL,
		.var_image = s->noise.sa2,
		.df_image = s->noise.df_a,
	};

	if (j->plan) {
		fill_blocks(j, block_a, na);
		fill_blocks(j, block_b, nb);
		par.block_a = block_a;
		par.block_b = block_b;
	}
	if (j->t->exact)
		par.exact_floor = fl_compare_exact_floor(
			fmax(fmax(fl_stats_sd(s->boots[0].v, na),
				  fl_stats_sd(s->boots[1].v, nb)),
			     sqrt(s->noise.s0sq)));
	fl_stats_compare(s->boots[0].v, na, s->boots[1].v, nb, &par,
			 &j->res[i]);
}

/* A series goes to its next look while that one is due, and undecided. */
static void judge_looks(struct judge *j, size_t last)
{
	bool again;

	for (size_t i = 0; i < j->n; i++)
		if (!j->s[i].zero)
			judge_one(j, i);
	do {
		again = false;
		fl_fdr_results(j->res, j->n, FALSE_DISCOVERIES);
		for (size_t i = 0; i < j->n; i++) {
			struct series *s = &j->s[i];

			if (s->zero || j->res[i].verdict != FL_UNCLEAR ||
			    !j->res[i].more || s->look >= last)
				continue;
			s->look++;
			judge_one(j, i);
			again = true;
		}
	} while (again);
}

/* ---- rows --------------------------------------------------------------------- */

static void zero_row(const struct series *s, struct fl_result_row *row)
{
	double mean[2];

	for (int i = 0; i < 2; i++)
		mean[i] = fl_stats_mean(s->boots[i].v, s->boots[i].n);
	row->base_value = mean[0];
	row->head_value = mean[1];
	row->effect = row->lo = row->hi = row->p = row->hidden = NAN;
	row->p_t = row->p_fdr = row->base_sd = row->head_sd = NAN;
	if (mean[0] == 0 && mean[1] == 0) {
		row->verdict = fl_verdict_str(FL_SAME);
		row->effect = 0;
	} else {
		row->verdict = fl_verdict_str(FL_UNCLEAR);
		row->reason = "a value of zero has no ratio";
	}
}

/* What a reader should know of a verdict beside its figures. */
static char *remark(const struct fl_compare_result *res, size_t na, size_t nb)
{
	if (res->by_modes)
		return fl_asprintf(
			"the share of boots in the higher mode moved: %zu of %zu, then %zu of %zu",
			res->upper_a, na, res->upper_b, nb);
	if (res->noisy)
		return fl_strdup(
			"noisier than this host was before: judged by these boots alone");
	return NULL;
}

static void fill_row(const struct judge *j, size_t i, struct fl_result_row *row)
{
	const struct series *s = &j->s[i];
	const struct fl_compare_result *res = &j->res[i];

	row->base_value =
		exp(fl_stats_mean(s->boots[0].v, (size_t)row->base_boots));
	row->head_value =
		exp(fl_stats_mean(s->boots[1].v, (size_t)row->head_boots));
	row->base_sd = res->sd_a;
	row->head_sd = res->sd_b;
	row->effect = res->effect;
	row->lo = res->lo;
	row->hi = res->hi;
	row->p = res->p;
	row->p_t = res->p_t;
	row->p_fdr = res->p_adjusted;
	row->hidden = res->hidden;
	row->verdict = fl_verdict_str(res->verdict);
	row->shift = res->shift;
	row->modes = s->noise.modes.bimodal;
	if (res->shift && j->t->exact)
		row->second_isa = second_isa(j, s);
}

int fl_compare_judge(struct fl_target *t, const struct fl_comparison *c,
		     size_t look, struct fl_caseset *moved,
		     struct fl_caseset *unclear, struct fl_err *err)
{
	_cleanup_(judge_clear) struct judge j = { .t = t,
						  .c = c,
						  .plan = fl_compare_looks(c) };
	int r = load_all(&j, err);

	memset(unclear->want, 0, unclear->n * sizeof(*unclear->want));
	if (r < 0)
		return r;
	judge_looks(&j, look);
	for (size_t i = 0; !r && i < j.n; i++) {
		const struct series *s = &j.s[i];
		_cleanup_free_ char *why = NULL;
		struct fl_result_row row = {
			.case_id = t->case_ids[s->at],
			.kpi_id = s->kpi_id,
			.threshold = s->threshold,
			.base_boots = (int64_t)seen(&j, s, 0),
			.head_boots = (int64_t)seen(&j, s, 1),
		};

		if (s->zero)
			zero_row(s, &row);
		else
			fill_row(&j, i, &row);
		why = s->zero ? NULL :
				remark(&j.res[i], (size_t)row.base_boots,
				       (size_t)row.head_boots);
		if (why)
			row.reason = why;
		moved->want[s->at] |= row.shift;
		unclear->want[s->at] |= !s->zero && s->kpi->better &&
					j.res[i].verdict == FL_UNCLEAR &&
					j.res[i].more > 0;
		r = fl_store_result(t->p->store, c->id, &row, err);
	}
	return r;
}
