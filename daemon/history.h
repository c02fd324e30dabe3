/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history of a pair's heads: a newest head that leaves the level of its
 * series, or a change that a few heads bear out by now, is a suspect. A
 * suspect is never a shift: it is measured again beside the last head of the
 * old level, and that comparison decides.
 */
#ifndef FL_HISTORY_H
#define FL_HISTORY_H

#include "plan-need.h"

/*
 * Suspects among the series of this target that end at head_sha:
 * [{"case", "kpi", "from", "to"}], one for each pair of heads, at most
 * FL_MAX_SUSPECTS. Heads that are no ancestors of head_sha belong to other
 * branches. *ret is a new reference.
 */
#define FL_MAX_SUSPECTS 3
int fl_history_suspects(struct fl_target *t, const char *head_sha, json_t **ret,
			struct fl_err *err);

/*
 * Measures each suspect of the list again, explains what turns out to be a
 * shift. Sets "comparison" in the entries. Call until it is not PENDING.
 */
int fl_history_advance(struct fl_target *t, json_t *suspects, int64_t boots,
		       struct fl_err *err);

#endif
