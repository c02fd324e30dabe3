/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What profiling boots do beyond measuring ones. It is in a program of its own,
 * built from the same sources with FL_AGENT_PROFILE: whatever the profiler
 * becomes, the agent of measuring boots stays the same, bit by bit.
 */
#ifndef FL_AGENT_PROFILE_H
#define FL_AGENT_PROFILE_H

#include "agent.h"

#ifdef FL_AGENT_PROFILE

/* Takes "profile N" of the plan: 1, 0 when it is another statement, -1 bad. */
int fl_profile_statement(const char *word, const char *rest);
/*
 * By each task, before and after its window: 0 or an errno. Of a case with
 * parts only what lies between resume and pause is sampled.
 */
int fl_profile_begin(const struct fl_plan *plan, const struct fl_plan_case *c,
		     unsigned index);
void fl_profile_resume(void);
void fl_profile_pause(void);
int fl_profile_end(unsigned index);
/* By the agent when all tasks are over; false: a task left nothing. */
bool fl_profile_report(const struct fl_plan_case *c);

/* What a task leaves in its file: this, then perf's records. */
struct fl_profile_head {
	uint64_t ran_ns; /* how long it was sampled */
	uint64_t full; /* the buffer was too small */
};
void fl_profile_file(char out[32], unsigned index);
extern uint64_t fl_profile_ns; /* between two samples, on average */

/* After the last event: the host looks at the kernel and ends the machine. */
void fl_profile_wait(void);

#else

static inline int fl_profile_statement(const char *word, const char *rest)
{
	(void)word;
	(void)rest;
	return 0;
}

static inline int fl_profile_begin(const struct fl_plan *plan,
				   const struct fl_plan_case *c, unsigned index)
{
	(void)plan;
	(void)c;
	(void)index;
	return 0;
}

static inline void fl_profile_resume(void)
{
}

static inline void fl_profile_pause(void)
{
}

static inline int fl_profile_end(unsigned index)
{
	(void)index;
	return 0;
}

static inline bool fl_profile_report(const struct fl_plan_case *c)
{
	(void)c;
	return true;
}

static inline void fl_profile_wait(void)
{
}

#endif
#endif
