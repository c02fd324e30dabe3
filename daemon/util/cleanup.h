/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scope-bound ownership. `_cleanup_(fl_buf_clear) struct fl_buf b = {0};`
 * runs fl_buf_clear(&b) when b leaves scope; `return fl_steal(p);` hands the
 * object out instead. FL_DEFINE_FREEP(fl_run_free, struct fl_run) makes the
 * pointer form fl_run_freep for heap objects.
 */
#ifndef FL_UTIL_CLEANUP_H
#define FL_UTIL_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _printf_(a, b) __attribute__((format(printf, a, b), nonnull(a)))
#define _unused_ __attribute__((unused))

#define FL_DEFINE_FREEP(func, type)                   \
	static inline _unused_ void func##p(type **p) \
	{                                             \
		func(*p);                             \
	}

#define fl_steal(p)                         \
	({                                  \
		__typeof__(p) steal_ = (p); \
		(p) = NULL;                 \
		steal_;                     \
	})

#define FL_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline _unused_ void fl_freep(void *p)
{
	free(*(void **)p);
}

static inline _unused_ void fl_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline _unused_ void fl_closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ _cleanup_(fl_freep)
#define _cleanup_fclose_ _cleanup_(fl_fclosep)
#define _cleanup_close_ _cleanup_(fl_closep)

#endif
