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
 * By each task, before and after its window; who fails gives up, with a reason
 * in its slot. Of a case with parts only what lies between resume and pause is
 * sampled.
 */
void fl_profile_begin(const struct fl_plan *plan, const struct fl_plan_case *c,
		      unsigned index, struct fl_slot *s);
void fl_profile_resume(void);
void fl_profile_pause(void);
void fl_profile_end(unsigned index, struct fl_slot *s);
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

/* Macros: even an empty inline function makes the compiler choose other
 * registers around it. */
#define fl_profile_statement(word, rest) 0
#define fl_profile_begin(plan, c, index, s) ((void)0)
#define fl_profile_resume() ((void)0)
#define fl_profile_pause() ((void)0)
#define fl_profile_end(index, s) ((void)0)
#define fl_profile_report(c) true
#define fl_profile_wait() ((void)0)

#endif
#endif
