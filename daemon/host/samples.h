/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles on their way from the guest: trees of addresses become trees of
 * functions, and samples on a string instruction are told from the others by
 * the code itself. Pure, but for fl_samples_name(), which reads its files.
 *
 * As the guest sends it (jobs/agent/protocol.h), collected per case:
 *   {"case", "period_ns", "samples", "user", "lost",
 *    "nodes": [[parent, address, count], …]}
 * As drivers return it and bundles carry it:
 *   {"case", "period_ns", "samples", "user", "lost", "rep",
 *    "nodes": [[parent, "function", count, rep], …]}
 * A node's parent is its caller, which comes before it; -1: it has none.
 * count: samples in the function itself; rep: those of them on a string
 * instruction, null where the code is not known. user: samples outside of
 * the kernel, which are in no node.
 */
#ifndef FL_HOST_SAMPLES_H
#define FL_HOST_SAMPLES_H

#include <jansson.h>
#include <stdbool.h>
#include "../util/buf.h"
#include "symbols.h"

#define FL_SAMPLES_NODES 65536 /* of one case, at most */
#define FL_SAMPLES_DEPTH 128 /* callers of a node, at most */

/* Samples of a profiling boot lie this far apart in guest time, on average. */
#define FL_PROFILE_NS_EXACT 100000
#define FL_PROFILE_NS_WALL 1000000

/*
 * One "profile" event of a running case into list: begins its entry, or adds
 * the next nodes to it. Anything that does not fit is refused.
 */
int fl_samples_event(json_t *list, const json_t *event, struct fl_err *err);

/* The bytes of a kernel's code, as they were executed. */
struct fl_code {
	uint64_t base; /* address of the first */
	const unsigned char *bytes;
	size_t n;
};

/* Is there a string instruction with a repeat prefix at p? */
bool fl_code_is_rep(const unsigned char *p, size_t n);

/*
 * One case: addresses to functions, equal stacks together. code NULL, or code
 * in which too few callers stand behind a call: rep is null. An error when
 * the counts do not add up.
 */
int fl_samples_functions(const json_t *raw, const struct fl_symbols *symbols,
			 const struct fl_code *code, json_t **ret,
			 struct fl_err *err);

/*
 * All cases of a boot, new array; those that fl_samples_functions() refuses
 * are left out. system_map: a file; code: a file with the bytes from
 * fl_samples_code() on, or NULL. An error without symbols.
 */
int fl_samples_name(const json_t *list, const char *system_map,
		    const char *code, json_t **ret, struct fl_err *err);

/*
 * Where the kernel's code lies in guest memory when KASLR is off; false when
 * symbols lack its ends or they make no sense.
 */
bool fl_samples_code(const struct fl_symbols *symbols, uint64_t *virt,
		     uint64_t *phys, uint64_t *n);

/* Reads a System.map of up to 64 MiB. */
int fl_samples_symbols(const char *system_map, struct fl_symbols **ret,
		       struct fl_err *err);

#endif
