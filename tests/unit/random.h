/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Seeded randomness of tests and benchmarks; set rng to anything but 0. */
#ifndef FL_TESTS_RANDOM_H
#define FL_TESTS_RANDOM_H

#include <math.h>
#include <stdint.h>
#include "../../daemon/util/cleanup.h"

static uint64_t rng = 1;

/* xorshift64 (Marsaglia 2003), in (0, 1). */
static inline double uniform(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return ((double)(rng >> 11) + 0.5) / 9007199254740992.0;
}

static inline _unused_ double gauss(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static inline _unused_ int below(int n)
{
	return (int)(uniform() * n);
}

#endif
