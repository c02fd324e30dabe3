// SPDX-License-Identifier: GPL-2.0-or-later
/* See elf-needs.h. Called when a job names a program of others. */
#include "elf-needs.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "util/buf.h"
#include "util/fs.h"

#define FILE_MAX (64u << 20)
#define NEEDED_MAX 256 /* of one file, and files in all */
#define NAME_MAX_BYTES 4096

/* Where the loaders of the distributions look by themselves. */
static const char *const standard[] = {
	"/lib/x86_64-linux-gnu",
	"/usr/lib/x86_64-linux-gnu",
	"/lib64",
	"/usr/lib64",
	"/lib",
	"/usr/lib",
};

/* ---- one file ------------------------------------------------------------- */

struct bytes {
	const char *s;
	size_t n;
};

static int bad(struct fl_err *err, const char *what)
{
	return fl_err_set(err, -EINVAL, FL_E_USER, "broken ELF file: %s", what);
}

/* Copies, since a table in a file may lie at any address. */
static bool get(struct bytes b, uint64_t at, void *to, size_t n)
{
	if (at > b.n || b.n - at < n)
		return false;
	memcpy(to, b.s + at, n);
	return true;
}

/* The string at an offset, which ends inside the file; NULL when not. */
static char *text_at(struct bytes b, uint64_t at)
{
	const char *end;

	if (at >= b.n)
		return NULL;
	end = memchr(b.s + at, '\0',
		     b.n - at < NAME_MAX_BYTES ? b.n - at : NAME_MAX_BYTES);
	return end ? fl_strndup(b.s + at, (size_t)(end - (b.s + at))) : NULL;
}

static bool header(struct bytes b, const Elf64_Ehdr *e, unsigned i,
		   Elf64_Phdr *ph)
{
	return e->e_phoff <= b.n &&
	       get(b, e->e_phoff + (uint64_t)i * sizeof(*ph), ph, sizeof(*ph));
}

/* Where in the file a virtual address lies; UINT64_MAX: nowhere. */
static uint64_t offset_of(struct bytes b, const Elf64_Ehdr *e, uint64_t addr)
{
	Elf64_Phdr ph;

	for (unsigned i = 0; i < e->e_phnum && header(b, e, i, &ph); i++)
		if (ph.p_type == PT_LOAD && addr >= ph.p_vaddr &&
		    addr - ph.p_vaddr < ph.p_filesz && ph.p_offset <= b.n)
			return ph.p_offset + (addr - ph.p_vaddr);
	return UINT64_MAX;
}

static int read_names(struct bytes b, const Elf64_Phdr *dynamic, uint64_t names,
		      struct fl_elf *ret, struct fl_err *err)
{
	Elf64_Dyn d;

	for (uint64_t at = 0; at < dynamic->p_filesz; at += sizeof(d)) {
		_cleanup_free_ char *text = NULL;

		if (!get(b, dynamic->p_offset + at, &d, sizeof(d)))
			return bad(err, "its dynamic section is cut off");
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag != DT_NEEDED && d.d_tag != DT_RPATH &&
		    d.d_tag != DT_RUNPATH)
			continue;
		if (names >= b.n || d.d_un.d_val >= b.n ||
		    !(text = text_at(b, names + d.d_un.d_val)) || !*text)
			return bad(err, "a name in its dynamic section");
		if (d.d_tag == DT_RPATH && !ret->rpath) {
			ret->rpath = fl_steal(text);
		} else if (d.d_tag == DT_RUNPATH && !ret->runpath) {
			ret->runpath = fl_steal(text);
		} else if (d.d_tag == DT_NEEDED) {
			if (ret->needed.n == NEEDED_MAX)
				return bad(err, "it needs too many libraries");
			fl_strv_add(&ret->needed, text);
		}
	}
	return 0;
}

static int read_dynamic(struct bytes b, const Elf64_Ehdr *e,
			const Elf64_Phdr *dynamic, struct fl_elf *ret,
			struct fl_err *err)
{
	uint64_t names = UINT64_MAX;
	Elf64_Dyn d;

	if (dynamic->p_offset > b.n ||
	    dynamic->p_filesz > b.n - dynamic->p_offset)
		return bad(err, "its dynamic section is cut off");
	for (uint64_t at = 0; at < dynamic->p_filesz; at += sizeof(d)) {
		if (!get(b, dynamic->p_offset + at, &d, sizeof(d)) ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			names = offset_of(b, e, d.d_un.d_ptr);
	}
	return read_names(b, dynamic, names, ret, err);
}

bool fl_elf_magic(const void *data, size_t n)
{
	return n >= SELFMAG && !memcmp(data, ELFMAG, SELFMAG);
}

int fl_elf_read(const void *data, size_t n, struct fl_elf *ret,
		struct fl_err *err)
{
	struct bytes b = { data, n };
	Elf64_Ehdr e;
	Elf64_Phdr ph;
	int r = 0;

	*ret = (struct fl_elf){ 0 };
	if (!fl_elf_magic(data, n) || !get(b, 0, &e, sizeof(e)))
		return bad(err, "no header");
	if (e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_ident[EI_DATA] != ELFDATA2LSB || e.e_machine != EM_X86_64)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "an ELF file for another machine");
	if (e.e_type != ET_EXEC && e.e_type != ET_DYN)
		return bad(err, "neither a program nor a library");
	if (e.e_phentsize != sizeof(ph) || e.e_phnum == PN_XNUM)
		return bad(err, "its program headers");
	for (unsigned i = 0; !r && i < e.e_phnum; i++) {
		if (!header(b, &e, i, &ph)) {
			r = bad(err, "its program headers are cut off");
		} else if (ph.p_type == PT_INTERP && !ret->interp) {
			ret->interp = text_at(b, ph.p_offset);
			if (!ret->interp || ret->interp[0] != '/')
				r = bad(err, "the path of its loader");
		} else if (ph.p_type == PT_DYNAMIC) {
			r = read_dynamic(b, &e, &ph, ret, err);
		}
	}
	if (r < 0)
		fl_elf_clear(ret);
	return r;
}

void fl_elf_clear(struct fl_elf *e)
{
	free(e->interp);
	free(e->rpath);
	free(e->runpath);
	fl_strv_clear(&e->needed);
	*e = (struct fl_elf){ 0 };
}

/* ---- a program and all that it needs ---------------------------------------- */

char *fl_elf_normal(const char *path)
{
	_cleanup_strv_ struct fl_strv parts = { 0 };
	_cleanup_buf_ struct fl_buf b = { 0 };
	size_t n = 0;

	fl_strv_split(&parts, path, "/");
	for (size_t i = 0; i < parts.n; i++) {
		char *part = parts.s[i];

		if (!strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			n -= n > 0;
			continue;
		}
		parts.s[i] = parts.s[n];
		parts.s[n++] = part;
	}
	for (size_t i = 0; i < n; i++)
		fl_buf_printf(&b, "%s%s", i || *path == '/' ? "/" : "",
			      parts.s[i]);
	return fl_buf_steal(&b);
}

/* $ORIGIN is the folder of the file that says it; other variables are not
 * known here, and "" comes back. */
static char *expand(const char *dir, size_t n, const char *origin)
{
	static const char *const words[] = { "$ORIGIN", "${ORIGIN}" };
	_cleanup_buf_ struct fl_buf b = { 0 };

	for (size_t i = 0; i < n;) {
		size_t len = 0;

		for (size_t w = 0; w < FL_ARRAY_SIZE(words) && !len; w++)
			if (n - i >= strlen(words[w]) &&
			    !strncmp(dir + i, words[w], strlen(words[w])))
				len = strlen(words[w]);
		if (!len && dir[i] == '$')
			return fl_strdup("");
		if (len)
			fl_buf_puts(&b, origin);
		else
			fl_buf_putc(&b, dir[i]);
		i += len ? len : 1;
	}
	return fl_buf_steal(&b);
}

/* name in one of the folders of a path list; NULL when in none. */
static char *in_list(const char *list, const char *origin, const char *name)
{
	while (list && *list) {
		size_t n = strcspn(list, ":");
		_cleanup_free_ char *dir = expand(list, n, origin);
		_cleanup_free_ char *file = fl_path_join(dir, name);

		if (*dir == '/' && fl_fs_exists(file))
			return fl_elf_normal(file);
		list += n + (list[n] == ':');
	}
	return NULL;
}

struct search {
	struct fl_strv *files;
	/* RPATH of the program holds for its libraries too (ld.so(8)). */
	const char *rpath, *origin;
};

static char *find(const struct search *s, const struct fl_elf *e,
		  const char *origin, const char *name)
{
	char *found = NULL;

	if (strchr(name, '/'))
		return *name == '/' && fl_fs_exists(name) ? fl_strdup(name) :
							    NULL;
	found = in_list(e->runpath ? e->runpath : e->rpath, origin, name);
	if (!found && !e->runpath)
		found = in_list(s->rpath, s->origin, name);
	for (size_t i = 0; !found && i < FL_ARRAY_SIZE(standard); i++)
		found = in_list(standard[i], "", name);
	return found;
}

static int add(struct fl_strv *files, const char *path, struct fl_err *err)
{
	if (fl_strv_has(files, path))
		return 0;
	if (files->n == NEEDED_MAX)
		return fl_err_set(err, -E2BIG, FL_E_USER,
				  "needs more than %d files", NEEDED_MAX);
	fl_strv_add(files, path);
	return 0;
}

/*
 * The C library opens this one by name when a thread is cancelled or ends, and
 * aborts where it is not there.
 */
static int add_unwinder(const struct search *s, struct fl_err *err)
{
	static const struct fl_elf none;
	_cleanup_free_ char *file = find(s, &none, "", "libgcc_s.so.1");

	return file ? add(s->files, file, err) : 0;
}

static int add_libraries(const struct search *s, const struct fl_elf *e,
			 const char *path, const char *origin,
			 struct fl_err *err)
{
	int r = e->interp ? add(s->files, e->interp, err) : 0;

	for (size_t i = 0; !r && i < e->needed.n; i++) {
		_cleanup_free_ char *file = find(s, e, origin, e->needed.s[i]);

		if (!file)
			return fl_err_set(err, -ENOENT, FL_E_USER,
					  "'%s' needs '%s', which is not there",
					  path, e->needed.s[i]);
		r = add(s->files, file, err);
		if (!r && !strcmp(e->needed.s[i], "libc.so.6"))
			r = add_unwinder(s, err);
	}
	return r;
}

/* The interpreter in the first line of a script, or nothing. */
static int add_interpreter(struct fl_strv *files, const struct fl_buf *b,
			   struct fl_err *err)
{
	const char *s = fl_buf_str(b);
	_cleanup_free_ char *name = NULL;

	if (b->len < 2 || s[0] != '#' || s[1] != '!')
		return 0;
	s += 2 + strspn(s + 2, " \t");
	name = fl_strndup(s, strcspn(s, " \t\r\n"));
	return *name == '/' ? add(files, name, err) : 0;
}

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? fl_strndup(path, (size_t)(slash - path)) :
		       fl_strdup(".");
}

static int read_program(const char *path, struct fl_buf *b, struct fl_err *err)
{
	struct fl_err why = { 0 };
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return fl_err_set(err, -errno, FL_E_USER,
				  "cannot read '%s': %s", path,
				  strerror(errno));
	if (!S_ISREG(st.st_mode)) /* a pipe would keep us waiting */
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "'%s' is not a regular file", path);
	r = fl_fs_read(path, FILE_MAX, b, &why);
	return r < 0 ? fl_err_set(err, r, FL_E_USER, "%s", why.text) : 0;
}

int fl_elf_needs(const char *path, struct fl_strv *ret, struct fl_err *err)
{
	struct search s = { .files = ret };
	_cleanup_free_ char *top = folder_of(path), *rpath = NULL;
	size_t first = ret->n;
	int r = add(ret, path, err);

	/* The list grows while it is walked; each file is on it once. */
	for (size_t i = first; !r && i < ret->n; i++) {
		_cleanup_(fl_elf_clear) struct fl_elf e = { 0 };
		_cleanup_free_ char *origin = folder_of(ret->s[i]);
		_cleanup_buf_ struct fl_buf b = { 0 };

		r = read_program(ret->s[i], &b, err);
		if (r < 0)
			break;
		if (!fl_elf_magic(fl_buf_str(&b), b.len)) {
			r = add_interpreter(ret, &b, err);
			continue;
		}
		r = fl_elf_read(fl_buf_str(&b), b.len, &e, err);
		if (r < 0)
			return fl_err_prefix(err, "'%s'", ret->s[i]);
		if (i == first && !e.runpath) {
			rpath = fl_strdup(e.rpath);
			s.rpath = rpath;
			s.origin = top;
		}
		r = add_libraries(&s, &e, ret->s[i], origin, err);
	}
	return r;
}
