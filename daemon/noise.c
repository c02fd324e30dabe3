// SPDX-License-Identifier: GPL-2.0-or-later
/* See noise.h. */
#include "noise.h"

#include <errno.h>
#include <math.h>

/* Older boots say little about the machine of today. */
#define MAX_RUNS 2000
#define EXACT_NU0 2
/* Their differences hold the culprits' steps too; the median of fewer could
 * be one of these. */
#define MIN_IMAGES 8
/* A variance of that few images is a poor guess: it counts once it is real. */
#define IMAGE_P 0.05

static struct fl_noise_key key_of(const struct fl_target *t, int64_t case_id,
				  int64_t kpi_id)
{
	return (struct fl_noise_key){ t->host_id, case_id, kpi_id,
				      t->recipe[FL_ISA_PLAIN] };
}

/* Logs of the series; -ERANGE when a value has none. */
static int observations(struct fl_target *t, const struct fl_noise_key *key,
			bool neighbours, struct fl_noise_obs **ret, size_t *n,
			struct fl_err *err)
{
	_cleanup_free_ struct fl_noise_sample *s = NULL;
	_cleanup_free_ struct fl_noise_obs *obs = NULL;
	int r = fl_store_noise_samples(t->p->store, key, neighbours, MAX_RUNS,
				       &s, n, err);

	if (r < 0)
		return r;
	obs = fl_calloc(*n + 1, sizeof(*obs));
	for (size_t i = 0; i < *n; i++) {
		if (!(s[i].value > 0))
			return -ERANGE;
		obs[i] = (struct fl_noise_obs){ s[i].image, s[i].run,
						log(s[i].value) };
	}
	*ret = fl_steal(obs);
	return 0;
}

static json_t *modes_json(const struct fl_modes *m)
{
	return m->bimodal ? json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "cut",
				      m->cut, "low", m->low, "high", m->high,
				      "upper", m->upper, "sd", m->sd, "within",
				      m->within) :
			    NULL;
}

static void modes_parse(const json_t *j, struct fl_modes *m)
{
	*m = (struct fl_modes){
		.bimodal = j != NULL,
		.cut = fl_json_num_or(j, "cut", 0),
		.low = fl_json_num_or(j, "low", 0),
		.high = fl_json_num_or(j, "high", 0),
		.upper = fl_json_num_or(j, "upper", 0),
		.sd = fl_json_num_or(j, "sd", 0),
		.within = fl_json_num_or(j, "within", 0),
	};
}

/*
 * Two fits: boots and repetitions from all that was measured; images only
 * from commits that stand side by side in a bisection, since two releases
 * differ by more than their layout.
 */
static int update_one(struct fl_target *t, int64_t case_id, int64_t kpi_id,
		      struct fl_err *err)
{
	const struct fl_noise_key key = key_of(t, case_id, kpi_id);
	struct fl_noise_params par = {
		.images = FL_NOISE_UNRELATED,
		.floor_s0sq = t->exact ? FL_NOISE_EXACT_S0SQ : 0,
		.floor_nu0 = t->exact ? EXACT_NU0 : 0,
	};
	_cleanup_free_ struct fl_noise_obs *all = NULL, *near = NULL;
	struct fl_noise m, images = { 0 };
	struct fl_noise_row row;
	json_auto_t *modes = NULL;
	size_t n = 0, nnear = 0;
	int r = observations(t, &key, false, &all, &n, err);

	if (!r)
		r = observations(t, &key, true, &near, &nnear, err);
	if (r == -ERANGE) /* a KPI that is zero has no logs and no model */
		return 0;
	if (r < 0)
		return r;
	if (fl_noise_fit(all, n, &par, &m) < 0)
		return 0;
	par.images = FL_NOISE_NEIGHBOURS;
	if (fl_noise_fit(near, nnear, &par, &images) < 0 ||
	    images.images < MIN_IMAGES)
		images = (struct fl_noise){ 0 };
	modes = modes_json(&m.modes);
	row = (struct fl_noise_row){
		.images = (int64_t)m.images,
		.boots = (int64_t)m.boots,
		.repetitions = m.reps,
		.se2 = m.se2,
		.su2 = m.su2,
		.sa2 = images.p_a < IMAGE_P ? images.sa2 : 0,
		.df_a = images.df_a,
		.s0sq = m.s0sq,
		.d0 = m.d0,
		.modes = modes,
	};
	return fl_store_noise_set(t->p->store, &key, &row, err);
}

int fl_noise_refresh(struct fl_target *t, struct fl_err *err)
{
	for (size_t i = 0; i < t->job->ncases; i++) {
		for (size_t k = 0; fl_job_kpi_at(t->job, k); k++) {
			const struct fl_kpi *kpi = fl_job_kpi_at(t->job, k);
			int64_t id;
			int r = fl_store_kpi(t->p->store, kpi->name, kpi->unit,
					     kpi->better, &id, err);

			if (!r)
				r = update_one(t, t->case_ids[i], id, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int fl_noise_known(struct fl_target *t, int64_t case_id, int64_t kpi_id,
		   struct fl_noise *ret, struct fl_err *err)
{
	const struct fl_noise_key key = key_of(t, case_id, kpi_id);
	struct fl_noise_row row = { 0 };
	int r = fl_store_noise_get(t->p->store, &key, &row, err);

	*ret = (struct fl_noise){ 0 };
	if (r <= 0)
		return r;
	ret->images = (size_t)row.images;
	ret->boots = (size_t)row.boots;
	ret->reps = row.repetitions;
	ret->se2 = row.se2;
	ret->su2 = row.su2;
	ret->sa2 = row.sa2;
	ret->df_a = row.df_a;
	fl_noise_derive(ret);
	ret->s0sq = row.s0sq;
	ret->d0 = row.d0;
	modes_parse(row.modes, &ret->modes);
	json_decref(row.modes);
	return 0;
}
