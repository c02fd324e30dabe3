/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest agent and the host side agree on: the plan (host to guest,
 * a file in the initramfs), the events (guest to host, JSON lines on the
 * second serial port) and the file system images in the initramfs.
 * Included by the agent and by daemon/host/.
 */
#ifndef FL_AGENT_PROTOCOL_H
#define FL_AGENT_PROTOCOL_H

/*
 * Part of every recipe: bump it whenever a change to the agent or to a
 * workload can move a number. The clocks have one each: pinning moves the
 * wall clock's numbers (2), and nothing where there is one CPU.
 */
#define FL_WORKLOAD_VERSION 1
#define FL_WORKLOAD_VERSION_WALL 2

/*
 * The plan is text, one statement a line, in this order:
 *   faultline-plan 1
 *   clock exact|wall
 *   phase_ns N              guest time to burn before the first case
 *   profile N               sample every N ns inside the windows, send the
 *                           profiles, and wait at the end to be stopped
 *   disk TYPE DEVICE IMAGE  a RAM disk to fill and mount, 0 to 2 of them
 *   case NAME key=value …   repeated; keys are those of fl_plan_read()
 *   exec NAME FS SPEC       a case that runs a program of others
 *   end
 *
 * A case that is done says {"event":"case_done", "case": NAME, "kpis": {KPI:
 * [samples], …}, "info": {"nr_task": N, …}}: nr_task with per cents of CPUs
 * resolved, the rest of info is for people.
 *
 * SPEC is the path of a file of members `key=value`, a NUL after each: arg
 * (one for each word of the command, the program's absolute path first), limit
 * (seconds), space (bytes on /tmp; optional), kpi (a name) and after it, unless
 * its values are in JSON lines, pattern (POSIX extended, one group).
 */
#define FL_PLAN_PATH "/plan"
#define FL_PLAN_MAGIC "faultline-plan 1"
#define FL_PLAN_MAX (256 << 10)
#define FL_PLAN_CASES 512
#define FL_CASE_NAME_MAX 160
#define FL_TASKS_MAX 4096
#define FL_EXEC_KPIS 16
#define FL_EXEC_DIR "exec" /* of the specs in the initramfs */
#define FL_EXEC_JOB "job" /* of files that the job names by relative paths */

/*
 * An image holds the non-zero blocks of a file system: this magic, then
 * records of two little-endian 64-bit numbers (offset, length) and the
 * bytes. A record of length 0 ends it; its offset is the disk's size.
 */
#define FL_IMAGE_MAGIC "FLIMAGE1"
#define FL_IMAGE_BLOCK 4096

/*
 * A profile comes after its window and before the end of its case, as one or
 * more events "profile" with members case, period_ns, samples, user (outside
 * of the kernel), lost, first (nodes sent before) and
 * nodes: [[parent, address, count], …], a tree of callers: parent is the
 * index of the caller (-1: none), which comes before; address is relative to
 * FL_PROFILE_BASE, where a sample hit (count > 0) or where a caller goes on
 * (count 0).
 */
#define FL_PROFILER_VERSION 1 /* part of the recipe of profiles */
#define FL_PROFILE_BASE 0xffffffff80000000ULL /* x86-64: where memory 0 is */
#define FL_PROFILE_STACK 48 /* callers of a sample that are kept */

#define FL_EVENT_PORT "/dev/ttyS1"
#define FL_EVENT_MAX (64 << 10) /* one line, with its newline */

/* Guest seconds of a timed window under the exact clock, in TSC ticks. */
#define FL_EXACT_WINDOW 600000000ULL

#endif
