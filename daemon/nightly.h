/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a comparison with shifts to one report per culprit; and the requests
 * of the one-shot verbs (fl_request_* in plan.h are defined in nightly.c and
 * request.c).
 */
#ifndef FL_NIGHTLY_H
#define FL_NIGHTLY_H

#include "plan-need.h"

/*
 * Explains the shifts of a finished comparison: measures the merge base,
 * bisects the side that moved, verifies, writes reports; goes on until every
 * shift is explained or was tried. READY when nothing is left to do.
 */
int fl_explain_advance(struct fl_target *t, int64_t comparison_id,
		       struct fl_err *err);

/*
 * Brings the bisections of a comparison that are open to their end, with what
 * their culprits leave over; opens none for other shifts.
 */
int fl_explain_follow(struct fl_target *t, int64_t comparison_id,
		      struct fl_err *err);

/*
 * The two ends of a pair by its patterns: the newest stable tag (no -rc
 * unless the pattern has it) and the newest that matches head. A value
 * without wildcards is a revision.
 */
int fl_pair_resolve(struct fl_git *git, const struct fl_conf_pair *pair,
		    char base[FL_SHA_HEX], char head[FL_SHA_HEX],
		    struct fl_err *err);

#endif
