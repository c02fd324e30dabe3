/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel addresses to names, from the build's own System.map. The file comes
 * out of a tree's make and is not trusted: what does not look like a symbol
 * is left out. Pure.
 */
#ifndef FL_HOST_SYMBOLS_H
#define FL_HOST_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>
#include "../util/cleanup.h"
#include "../util/err.h"

#define FL_SYMBOL_MAX 255 /* bytes of a name; longer ones are left out */

struct fl_symbols;

/*
 * Lines of "address type name", in any order. Names lose what the compiler
 * hung on (".isra.0", ".cold", …), so that two builds agree on them; of names
 * at one address the one with fewer leading underscores is kept. USER error
 * when there is no symbol at all.
 */
int fl_symbols_read(const char *text, size_t n, struct fl_symbols **ret,
		    struct fl_err *err);
void fl_symbols_free(struct fl_symbols *s);
FL_DEFINE_FREEP(fl_symbols_free, struct fl_symbols)

/* The function that addr lies in; NULL when it lies in none. Owned by s. */
const char *fl_symbols_find(const struct fl_symbols *s, uint64_t addr);
/* Where a name as it stands in the file begins; 0 when it is not there. */
uint64_t fl_symbols_address(const struct fl_symbols *s, const char *name);

#endif
