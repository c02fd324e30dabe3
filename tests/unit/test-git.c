// SPDX-License-Identifier: GPL-2.0-or-later
/* Version order, revisions, ranges, picks, references, git-config files. */
#include "git-fixture.h"

#include <errno.h>

/*
 * 1 - 2 --- 4 - 5 - 6      5 merges 3 into 4
 *      \- 3 ---/           7 is a root of its own
 */
static void build_history(void)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	fx_commit(&b, 1, 0, 0, "root: subject\n\nBody line.\n");
	fx_file(&b, "100644", "mm/memory.c", "one\ntwo\nthree\nfour\nfive\n");
	fx_file(&b, "100644", "doc", "d\n");
	fx_file(&b, "100644", "old/name", "a file that is renamed\n");
	fx_commit(&b, 2, 1, 0, "mm: edit\n");
	fx_file(&b, "100644", "mm/memory.c", "ONE\ntwo\nthree\nfour\nfive\n");
	fx_commit(&b, 3, 2, 0, "side: add\n");
	fx_file(&b, "100644", "side/file", "s\n");
	fx_commit(&b, 4, 2, 0, "mm: edit the end\n");
	fx_file(&b, "100644", "mm/memory.c", "ONE\ntwo\nthree\nfour\nFIVE\n");
	fx_commit(&b, 5, 4, 3, "merge\n");
	fx_file(&b, "100644", "side/file", "s\n");
	fx_file(&b, "100644", "evil", "only in the merge\n");
	fx_commit(&b, 6, 5, 0, "rename and chmod\n");
	fx_drop(&b, "old/name");
	fx_file(&b, "100644", "new/name", "a file that is renamed\n");
	fx_file(&b, "100755", "doc", "d\n");
	fx_commit(&b, 7, 0, 0, "another root\n");
	fx_file(&b, "100644", "mm/memory.c", "one\nTWO\nthree\nfour\nfive\n");
	fx_import("r.git", &b);
}

static int start(void **state)
{
	if (fx_start(state))
		return -1;
	build_history();
	return 0;
}

static void test_version_order(void **state _unused_)
{
	static const char *const order[] = {
		"next-20261129",
		"next-20261130",
		"v2.6.39-rc1",
		"v2.6.39",
		"v3.0",
		"v6.9-rc9",
		"v6.9-rc10",
		"v6.9",
		"v6.9.1",
		"v6.10",
		"v6.17",
		"v6.17.5",
		"v6.17.10",
		"v6.18-rc1",
		"v6.18-rc7",
		"v6.18-rc7-dirty",
		"v6.18",
		"v6.18-rt1",
		"v6.18.1",
		"v6.18.99999999999999999999999",
		"v6.18.100000000000000000000000",
	};

	/* Tags of other kinds sort somewhere; what matters is within one. */
	for (size_t i = 0; i < FL_ARRAY_SIZE(order); i++) {
		for (size_t j = 0; j < FL_ARRAY_SIZE(order); j++) {
			int r = fl_version_cmp(order[i], order[j]);

			if ((i < 2) != (j < 2))
				continue;
			if ((r > 0) - (r < 0) != (i > j) - (i < j))
				fail_msg("%s against %s: %d", order[i],
					 order[j], r);
		}
	}
	assert_int_equal(fl_version_cmp("v6.9", "6.9"), 0);
	assert_true(fl_version_cmp("6.9", "v6.10") < 0);
	assert_int_equal(fl_version_cmp("v6.09", "v6.9"), 0);
}

static void test_version_garbage(void **state _unused_)
{
	static const char *const any[] = {
		"",	   "v",	       "-rc",	"-rc1",	   "v-rc1",
		"...",	   "\xff\xfe", "v6.",	"v6.-rc1", "00000",
		"0",	   "rc1",      "v6..1", "-pre",	   "-pre1",
		"v6.1-rc", "v6.1-rcx", "vv1",	" 1",
	};
	size_t n = FL_ARRAY_SIZE(any);

	/* A total order: antisymmetric and transitive, whatever comes. */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++) {
			int ij = fl_version_cmp(any[i], any[j]);

			assert_int_equal(ij, -fl_version_cmp(any[j], any[i]));
			for (size_t k = 0; k < n; k++)
				if (ij <= 0 &&
				    fl_version_cmp(any[j], any[k]) <= 0)
					assert_true(fl_version_cmp(any[i],
								   any[k]) <=
						    0);
		}
}

static void newest(struct fl_git *g, const char *pattern, const char *want)
{
	_cleanup_free_ char *tag = NULL;
	char sha[FL_SHA_HEX], same[FL_SHA_HEX];
	struct fl_err err = { .text = "" };

	if (fl_git_newest_tag(g, pattern, &tag, sha, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(tag, want);
	assert_int_equal(fl_git_resolve(g, want, same, &err), 0);
	assert_string_equal(sha, same);
}

static void test_tags(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = NULL;
	_cleanup_strv_ struct fl_strv v = { 0 };
	_cleanup_free_ char *name = NULL, *plain = NULL, *tag = NULL;
	char sha[FL_SHA_HEX], sha2[FL_SHA_HEX];
	struct fl_err err;

	fx_sh("git clone -q --bare r.git t.git && cd t.git && "
	      "git -c user.name=T -c user.email=t@x tag -a -m x v6.18-rc7 c2 &&"
	      "git tag v6.9 c1 && git tag v6.17.5 c3 && git tag v6.18-rc10 c4 &&"
	      "git tag v6.18-rc9 c3 && git tag v6.10 c5 && git tag v5.4 c6 &&"
	      "git tag tree-only c1^{tree} && git pack-refs --all &&"
	      "git tag next-20261130 c6 && git tag next-20261129 c5");
	g = fx_open("t.git");
	newest(g, "v6.*", "v6.18-rc10");
	newest(g, "v*-rc*", "v6.18-rc10");
	newest(g, "v6.!(*-rc*)", "v6.17.5");
	newest(g, "v6.[0-9]*[.][0-9]*", "v6.17.5");
	newest(g, "v6.9*", "v6.9");
	newest(g, "next-*", "next-20261130");
	newest(g, "v6.18-rc[0-9]", "v6.18-rc9");
	newest(g, "@(v5.4|v6.9)", "v6.9");
	assert_int_equal(fl_git_newest_tag(g, "v7.*", &tag, sha, &err),
			 -ENOENT);
	assert_int_equal(err.class, FL_E_USER);
	fx_says(&err, "no tag that matches 'v7.*'");
	assert_int_equal(fl_git_newest_tag(g, "tree-*", &tag, sha, &err),
			 -ENOENT);
	assert_int_equal(fl_git_tags(g, "v6.*rc*", &v, &err), 0);
	assert_int_equal(v.n, 3);
	assert_string_equal(v.s[0], "v6.18-rc7");
	assert_string_equal(v.s[1], "v6.18-rc9");
	assert_string_equal(v.s[2], "v6.18-rc10");

	/* An annotated tag resolves to its commit; describe is the way back. */
	assert_int_equal(fl_git_resolve(g, "v6.18-rc7", sha, &err), 0);
	assert_int_equal(fl_git_resolve(g, "c2", sha2, &err), 0);
	assert_string_equal(sha, sha2);
	name = fl_git_describe(g, sha);
	assert_string_equal(name, "v6.18-rc7");
	assert_int_equal(fl_git_resolve(g, "c7", sha, &err), 0);
	plain = fl_git_describe(g, sha);
	assert_int_equal(strlen(plain), 12);
	assert_memory_equal(plain, sha, 12);
	/* A tag that appears while the repository is open is seen. */
	fx_sh("git -C t.git tag v6.18 c6");
	newest(g, "v6.*", "v6.18");
}

static void test_no_tags(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	char sha[FL_SHA_HEX], *tag = NULL;
	struct fl_err err;

	assert_int_equal(fl_git_newest_tag(g, "v*", &tag, sha, &err), -ENOENT);
	fx_says(&err, "has no tags");
	assert_null(tag);
}

static void test_open(void **state _unused_)
{
	static const char *const paths[] = { "clone", "clone/.git", "wt",
					     "clone/.git/worktrees/wt" };
	_cleanup_free_ char *want = fx_path("clone/.git");
	_cleanup_free_ char *keep = NULL, *sub = NULL;
	struct fl_git *g = NULL;
	char sha[FL_SHA_HEX];
	struct fl_err err;

	fx_sh("git clone -q r.git clone && cd clone && "
	      "git worktree add -q --detach ../wt origin/c3");
	for (size_t i = 0; i < FL_ARRAY_SIZE(paths); i++) {
		_cleanup_(fl_git_freep) struct fl_git *one = fx_open(paths[i]);

		assert_string_equal(fl_git_path(one), want);
		assert_int_equal(fl_git_resolve(one, "origin/c6", sha, &err),
				 0);
		assert_int_equal(fl_git_keep(one, sha, &err), 0);
		assert_int_equal(fl_git_keep(one, sha, &err), 0);
	}
	keep = fl_asprintf("%s/refs/faultline/keep/%s", want, sha);
	assert_true(fl_fs_exists(keep));
	sub = fx_path("clone/mm");
	assert_int_equal(fl_git_open(sub, &g, &err), -ENOENT);
	fx_says(&err, "is not a git repository");
	assert_int_equal(fl_git_open("/nonexistent", &g, &err), -ENOENT);
	assert_null(g);
}

/* A lock that a killed process left does not stop the next one. */
static void test_keep_stale_lock(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	char sha[FL_SHA_HEX];
	struct fl_err err;

	assert_int_equal(fl_git_resolve(g, "c4", sha, &err), 0);
	fx_sh("mkdir -p r.git/refs/faultline/keep && "
	      "touch r.git/refs/faultline/keep/%s.lock",
	      sha);
	assert_int_equal(fl_git_keep(g, sha, &err), 0);
	fx_sh("git -C r.git rev-parse -q --verify refs/faultline/keep/%s", sha);
}

static void test_resolve_errors(void **state _unused_)
{
	static const char *const none[] = { "nope",
					    "",
					    "c1~99",
					    "..",
					    "c1..c2",
					    "c1:doc/x",
					    "-1",
					    "0123456789012345678901234567890123"
					    "456789" };
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	char sha[FL_SHA_HEX] = "untouched";
	struct fl_err err;

	for (size_t i = 0; i < FL_ARRAY_SIZE(none); i++) {
		int r = fl_git_resolve(g, none[i], sha, &err);

		if (r != -ENOENT)
			fail_msg("'%s' gives %d", none[i], r);
		assert_int_equal(err.class, FL_E_USER);
		fx_says(&err, "has no revision '");
	}
	assert_int_equal(fl_git_resolve(g, "c1:doc", sha, &err), -EINVAL);
	fx_says(&err, "does not name a commit");
	assert_string_equal(sha, "untouched");
}

static void test_commit(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
	char sha[FL_SHA_HEX];
	struct fl_err err;

	assert_int_equal(fl_git_commit(g, "c1", &c, &err), 0);
	assert_string_equal(c.subject, "root: subject");
	assert_string_equal(c.message, "root: subject\n\nBody line.\n");
	assert_string_equal(c.author_name, "A U Thor");
	assert_string_equal(c.author_email, "author@example.org");
	assert_int_equal(c.commit_time, 1700000101);
	assert_int_equal(c.nparents, 0);
	fl_git_commit_clear(&c);
	assert_int_equal(fl_git_commit(g, "c5", &c, &err), 0);
	assert_int_equal(c.nparents, 2);
	assert_int_equal(fl_git_resolve(g, "c4", sha, &err), 0);
	assert_string_equal(c.parents[0], sha);
	assert_int_equal(fl_git_resolve(g, "c3", sha, &err), 0);
	assert_string_equal(c.parents[1], sha);
}

static void test_commit_encodings(void **state _unused_)
{
	static const char *const heads[] = { "encoding ISO-8859-1\n", "",
					     "encoding no-such-thing\n" };
	static const char *const want[] = { "J\xc3\xb6rg", "J\xef\xbf\xbdrg",
					    "J\xef\xbf\xbdrg" };
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	_cleanup_free_ char *file = fx_path("raw");
	struct fl_err err;

	for (size_t i = 0; i < FL_ARRAY_SIZE(heads); i++) {
		_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
		_cleanup_free_ char *raw = NULL;
		char sha[FL_SHA_HEX];

		assert_int_equal(fl_git_commit(g, "c1", &c, &err), 0);
		raw = fl_asprintf("tree %s\nauthor J\xf6rg <j@x> 1 +0000\n"
				  "committer J\xf6rg <j@x> 1 +0000\n%s\n"
				  "fix J\xf6rg's code\n",
				  c.tree, heads[i]);
		fl_git_commit_clear(&c);
		assert_int_equal(fl_fs_write(file, raw, strlen(raw), &err), 0);
		fx_sh("git -C r.git update-ref refs/heads/enc $(git -C r.git "
		      "hash-object -t commit -w ../raw)");
		assert_int_equal(fl_git_resolve(g, "enc", sha, &err), 0);
		assert_int_equal(fl_git_commit(g, sha, &c, &err), 0);
		assert_string_equal(c.author_name, want[i]);
		assert_non_null(strstr(c.subject, want[i]));
	}
}

static void test_merge_base(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	char sha[FL_SHA_HEX], c2[FL_SHA_HEX];
	struct fl_err err;

	assert_int_equal(fl_git_resolve(g, "c2", c2, &err), 0);
	assert_int_equal(fl_git_merge_base(g, "c3", "c4", sha, &err), 0);
	assert_string_equal(sha, c2);
	assert_int_equal(fl_git_merge_base(g, "c7", "c4", sha, &err), -ENOENT);
	assert_int_equal(err.class, FL_E_USER);
	fx_says(&err, "no common history");
	assert_int_equal(fl_git_is_ancestor(g, "c2", "c6", &err), 1);
	assert_int_equal(fl_git_is_ancestor(g, "c3", "c6", &err), 1);
	assert_int_equal(fl_git_is_ancestor(g, "c2", "c2", &err), 1);
	assert_int_equal(fl_git_is_ancestor(g, "c3", "c4", &err), 0);
	assert_int_equal(fl_git_is_ancestor(g, "c7", "c6", &err), 0);
	assert_int_equal(fl_git_is_ancestor(g, "c2", "nope", &err), -ENOENT);
}

static size_t position(const struct fl_git_range *r, struct fl_git *g,
		       const char *rev)
{
	char sha[FL_SHA_HEX];

	assert_int_equal(fl_git_resolve(g, rev, sha, NULL), 0);
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->commits[i].sha, sha))
			return i;
	fail_msg("%s is not in the range", rev);
	return 0;
}

static void touches(const struct fl_git_range *r, struct fl_git *g,
		    const char *rev, const char *const *paths, size_t n)
{
	const struct fl_strv *v = &r->touched[position(r, g, rev)];

	if (v->n != n)
		fail_msg("%s touches %zu paths, not %zu", rev, v->n, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(v->s[i], paths[i]);
}

static void test_range(void **state _unused_)
{
	_cleanup_(fl_git_range_clear) struct fl_git_range r = { 0 };
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	const char *const all[] = { "doc", "mm/memory.c", "old/name" };
	const char *const six[] = { "doc", "new/name", "old/name" };
	struct fl_err err;

	assert_int_equal(fl_git_range(g, "c1", "c6", &r, &err), 0);
	assert_int_equal(r.n, 5);
	assert_int_equal(position(&r, g, "c2"), 0);
	assert_true(position(&r, g, "c3") < position(&r, g, "c5"));
	assert_true(position(&r, g, "c4") < position(&r, g, "c5"));
	assert_int_equal(position(&r, g, "c6"), 4);
	touches(&r, g, "c2", &all[1], 1);
	touches(&r, g, "c3", (const char *const[]){ "side/file" }, 1);
	touches(&r, g, "c4", &all[1], 1);
	touches(&r, g, "c5", (const char *const[]){ "evil" }, 1);
	touches(&r, g, "c6", six, 3);
	fl_git_range_clear(&r);

	/* From a side branch: what it lacks, and no parent outside. */
	assert_int_equal(fl_git_range(g, "c3", "c6", &r, &err), 0);
	assert_int_equal(r.n, 3);
	assert_int_equal(position(&r, g, "c4"), 0);
	fl_git_range_clear(&r);
	assert_int_equal(fl_git_range(g, "c6", "c6", &r, &err), 0);
	assert_int_equal(r.n, 0);
	/* A root commit touches all that it holds. */
	assert_int_equal(fl_git_range(g, "c7", "c1", &r, &err), 0);
	assert_int_equal(r.n, 1);
	touches(&r, g, "c1", all, 3);
	fl_git_range_clear(&r);
	assert_int_equal(fl_git_range(g, "nope", "c6", &r, &err), -ENOENT);
	assert_null(r.commits);
}

static void test_read_file(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	assert_int_equal(
		fl_git_read_file(g, "c2", "mm/memory.c", 100, &b, &err), 0);
	assert_string_equal(fl_buf_str(&b), "ONE\ntwo\nthree\nfour\nfive\n");
	assert_int_equal(fl_git_read_file(g, "c2", "mm/memory.c", 5, &b, &err),
			 -EFBIG);
	assert_int_equal(fl_git_read_file(g, "c2", "mm/none", 5, &b, &err),
			 -ENOENT);
	fx_says(&err, "has no file 'mm/none'");
	assert_int_equal(fl_git_read_file(g, "c2", "mm", 5, &b, &err), -EISDIR);
}

static void test_pick(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	_cleanup_(fl_git_commit_clear) struct fl_git_commit c = { 0 };
	_cleanup_buf_ struct fl_buf b = { 0 };
	char one[FL_SHA_HEX], two[FL_SHA_HEX], c1[FL_SHA_HEX];
	struct fl_err err = { .text = "" };

	/* The edit of the last line applies where the first is untouched. */
	assert_int_equal(fl_git_pick(g, "c4", "c1", one, &err), 0);
	assert_int_equal(fl_git_resolve(g, "c1", c1, &err), 0);
	assert_int_equal(fl_git_commit(g, one, &c, &err), 0);
	assert_int_equal(c.nparents, 1);
	assert_string_equal(c.parents[0], c1);
	assert_string_equal(c.subject, "mm: edit the end");
	assert_string_equal(c.author_name, "A U Thor");
	assert_int_equal(c.commit_time, 1700000104);
	assert_int_equal(fl_git_read_file(g, one, "mm/memory.c", 100, &b, &err),
			 0);
	assert_string_equal(fl_buf_str(&b), "one\ntwo\nthree\nfour\nFIVE\n");
	assert_int_equal(fl_git_pick(g, "c4", "c1", two, &err), 0);
	assert_string_equal(one, two);
	/* A merge is picked against its first parent. */
	fl_buf_clear(&b);
	assert_int_equal(fl_git_pick(g, "c5", "c4", two, &err), 0);
	assert_int_equal(fl_git_read_file(g, two, "side/file", 9, &b, &err), 0);
}

static void test_pick_conflict(void **state _unused_)
{
	_cleanup_(fl_git_freep) struct fl_git *g = fx_open("r.git");
	_cleanup_buf_ struct fl_buf b = { 0 };
	char sha[FL_SHA_HEX] = "untouched";
	struct fl_err err;

	fx_commit(&b, 20, 1, 0, "two conflicts\n");
	fx_file(&b, "100644", "mm/memory.c", "eins\ntwo\nthree\nfour\nfive\n");
	fx_file(&b, "100644", "zz", "1\n");
	fx_commit(&b, 21, 2, 0, "other\n");
	fx_file(&b, "100644", "zz", "2\n");
	fx_import("r.git", &b);
	assert_int_equal(fl_git_pick(g, "c20", "c21", sha, &err), -EUCLEAN);
	assert_int_equal(err.class, FL_E_USER);
	fx_says(&err, "conflict in 'mm/memory.c'");
	assert_string_equal(sha, "untouched");
}

static int record(const char *section, const char *sub, const char *key,
		  const char *value, void *arg)
{
	fl_buf_printf(arg, "%s|%s|%s|%s\n", section, sub ? sub : "-", key,
		      value);
	return strcmp(value, "stop") ? 0 : 42;
}

static int read_config(const char *text, struct fl_buf *out, struct fl_err *err)
{
	_cleanup_free_ char *path = fx_path("conf");

	assert_int_equal(fl_fs_write(path, text, strlen(text), NULL), 0);
	fl_buf_clear(out);
	return fl_gitconfig_foreach(path, record, out, err);
}

static void test_gitconfig(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	/* The user's configuration exists, and stays out of it. */
	fx_sh("printf '[user]\\n\\tname = somebody\\n' > .gitconfig");
	assert_int_equal(read_config("# comment\n[Tree \"Linux.Next\"]\n"
				     "\tURL = \"https://x/#1\"\n"
				     "\tflag\n\tempty =\n"
				     "[pair \"b\"]\n\thead = v*-rc*\n"
				     "[tree \"Linux.Next\"]\n\turl = again\n"
				     "[serve]\n\tport = 80\n",
				     &b, &err),
			 0);
	assert_string_equal(fl_buf_str(&b), "tree|Linux.Next|url|https://x/#1\n"
					    "tree|Linux.Next|flag|\n"
					    "tree|Linux.Next|empty|\n"
					    "pair|b|head|v*-rc*\n"
					    "tree|Linux.Next|url|again\n"
					    "serve|-|port|80\n");
	assert_int_equal(read_config("[a]\nb = stop\nc = 1\n", &b, &err), 42);
	assert_string_equal(fl_buf_str(&b), "a|-|b|stop\n");
	assert_int_equal(read_config("", &b, &err), 0);
	assert_int_equal(b.len, 0);
}

static void test_gitconfig_errors(void **state _unused_)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	struct fl_err err;

	assert_int_equal(read_config("[tree \"x\"]\n\turl = y\n[broken\n", &b,
				     &err),
			 -EINVAL);
	assert_int_equal(err.class, FL_E_USER);
	fx_says(&err, "/conf'");
	fx_says(&err, ":3"); /* the line */
	assert_int_equal(read_config("url = y\n", &b, &err), -EINVAL);
	fx_says(&err, "key 'url' is outside of any section");
	assert_int_equal(read_config("[include]\n\tpath = other\n", &b, &err),
			 -EINVAL);
	fx_says(&err, "include is not supported");
	assert_int_equal(fl_gitconfig_foreach("/nonexistent/conf", record, &b,
					      &err),
			 -ENOENT);
	assert_int_equal(fl_gitconfig_foreach(fx_root, record, &b, &err),
			 -EINVAL);
	fx_says(&err, "is not a file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version_order),
		cmocka_unit_test(test_version_garbage),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_no_tags),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_keep_stale_lock),
		cmocka_unit_test(test_resolve_errors),
		cmocka_unit_test(test_commit),
		cmocka_unit_test(test_commit_encodings),
		cmocka_unit_test(test_merge_base),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_read_file),
		cmocka_unit_test(test_pick),
		cmocka_unit_test(test_pick_conflict),
		cmocka_unit_test(test_gitconfig),
		cmocka_unit_test(test_gitconfig_errors),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, fx_stop);
}
