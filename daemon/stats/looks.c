// SPDX-License-Identifier: GPL-2.0-or-later
/* See looks.h. */
#include "looks.h"

const struct fl_looks fl_looks_default = {
	.n = 4,
	.boots = { 6, 8, 12, 20 },
	.share = { 0.1, 0.2, 0.3, 0.4 },
};

int fl_looks_at(const struct fl_looks *plan, size_t na, size_t nb)
{
	size_t n = na < nb ? na : nb;
	int at = -1;

	if (!plan)
		return 0;
	while (at + 1 < (int)plan->n && plan->boots[at + 1] <= n)
		at++;
	return at;
}

size_t fl_looks_next(const struct fl_looks *plan, size_t na, size_t nb)
{
	size_t at;

	if (!plan)
		return 0;
	at = (size_t)fl_looks_at(plan, na, nb) + 1;
	return at < plan->n ? plan->boots[at] : 0;
}
