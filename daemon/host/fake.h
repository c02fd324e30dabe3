/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake host of the tests: a "kernel" is the file `fake-kernel` of a
 * commit, so that the chain from find to mail runs in seconds. Lines:
 *   build ok | fail | hang
 *   boot  ok | panic | hang | oom | no-boot
 *   value <case pattern> <number>      the last that matches wins
 *   profile <case pattern> <caller;callee> <count>
 *           samples of a profiling boot; a '*' at the end of the stack: on a
 *           string instruction; "[user]": outside of the kernel
 * Host keys in faultline.conf: fake-noise (relative standard deviation of a
 * boot), fake-delay (seconds that a boot takes).
 */
#ifndef FL_HOST_FAKE_H
#define FL_HOST_FAKE_H

#include <jansson.h>
#include "../kbuild.h"

#define FL_FAKE_FILE "fake-kernel"

/* The builder of this host: the image is the file itself. */
int fl_fake_build(const struct fl_build *b, struct fl_build_result *ret,
		  struct fl_err *err);

/* One case of a profiling boot as in samples.h; kernel: the file's text. */
json_t *fl_fake_profile(const char *kernel, const char *case_name,
			int64_t period_ns);

#endif
