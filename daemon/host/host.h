/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hosts: machines on which kernels boot. A driver is one const struct; the
 * worker child calls boot(), which blocks until the run is over. Everything
 * that comes out of the guest is untrusted: drivers bound what they keep.
 */
#ifndef FL_HOST_HOST_H
#define FL_HOST_HOST_H

#include <jansson.h>
#include <stdint.h>
#include "../job.h"
#include "../util/err.h"
#include "../util/strv.h"

enum fl_outcome {
	FL_RUN_DONE, /* every case gave its samples */
	FL_RUN_CASE_FAILED, /* it went through; some case failed, see cases */
	FL_RUN_PANIC, /* panic or fatal oops; reason holds its text */
	FL_RUN_HANG, /* no progress for timeout_s */
	FL_RUN_OOM, /* the kernel's OOM killer stopped it */
	FL_RUN_NO_BOOT, /* it ended before the agent spoke, without a panic */
	FL_RUN_HOST_FAILED, /* qemu missing, ssh down: never the kernel's fault */
};

const char *fl_outcome_str(enum fl_outcome o);
/* Negative when s is not an outcome. */
int fl_outcome_parse(const char *s);

enum fl_clock_kind { FL_CLOCK_EXACT, FL_CLOCK_WALL };
const char *fl_clock_kind_str(enum fl_clock_kind k); /* "exact", "wall" */

/* What the configuration says of a host; strings owned by fl_conf. */
struct fl_host {
	const char *name;
	const char *driver; /* "qemu", "fake" */
	enum fl_clock_kind clock;
	const char *cpu; /* QEMU CPU model without feature flags */
	int64_t memory_mb;
	int64_t cpus;
	const char *append; /* extra kernel arguments */
	json_t *options; /* driver's own keys (fake: noise, …); may be NULL */
};

/*
 * The instruction set shown to the guest. PLAIN hides erms and fsrm
 * (DESIGN: a string instruction counts once per iteration); STRINGS shows
 * them: a shift must hold under both.
 */
enum fl_isa { FL_ISA_PLAIN, FL_ISA_STRINGS };

struct fl_boot {
	const struct fl_host *host;
	const char *image; /* the kernel to boot */
	const char *agent; /* the static guest agent (qemu) */
	const char *dir; /* existing folder for console.log, events.jsonl, … */
	const struct fl_case *const *cases;
	size_t ncases;
	enum fl_isa isa;
	/*
	 * Which perturbed run this is: 0 is unperturbed; k > 0 changes the
	 * padding of the initramfs and the phase of the start, by a fixed
	 * rule, so that run k is the same run on every machine.
	 */
	unsigned perturb;
	/* A profiling boot: guest time between two samples; 0: it measures. */
	int64_t profile_ns;
	const char *system_map; /* of image, for a profiling boot */
	double timeout_s; /* no progress for so long: hang */
	double total_s; /* the whole boot at most */
};

struct fl_boot_result {
	enum fl_outcome outcome;
	char *reason; /* heap; why, for people; "" when done */
	/*
	 * [{"case": name, "status": "done|failed|lost", "reason": "…",
	 *   "kpis": {"instructions_per_op": [v, …], …}}]; one entry per case
	 * asked for; samples in the order measured; finite numbers only.
	 */
	json_t *cases;
	json_t *env; /* flat object of what the guest said of itself */
	/* Of a profiling boot: one entry per case that is done (samples.h);
	 * its KPIs are disturbed. NULL otherwise. */
	json_t *profiles;
	double boot_s, total_s; /* real seconds: to the agent, to the end */
};

void fl_boot_result_clear(struct fl_boot_result *r);

struct fl_host_ops {
	const char *name;
	/* Builder that makes images for it: "kbuild" or "fake". */
	const char *builder;
	/*
	 * Everything besides the commit, the config and the case that decides
	 * a number on this host with this isa: new flat JSON object.
	 */
	int (*recipe)(const struct fl_host *host, enum fl_isa isa, json_t **ret,
		      struct fl_err *err);
	/* USER error with the remedy when something is missing. */
	int (*check)(const struct fl_host *host, struct fl_err *err);
	/* Negative only for our own trouble (class INFRA or BUG). */
	int (*boot)(const struct fl_boot *boot, struct fl_boot_result *ret,
		    struct fl_err *err);
};

extern const struct fl_host_ops fl_host_qemu, fl_host_fake;
/* NULL when there is no such driver. */
const struct fl_host_ops *fl_host_driver(const char *name);

#endif
