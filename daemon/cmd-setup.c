// SPDX-License-Identifier: GPL-2.0-or-later
/* init, doctor, and the hidden worker. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "sys/proc.h"
#include "util/fs.h"
#include "util/log.h"
#include "worker.h"

static int run_init(struct fl_cli *cli, struct fl_err *err)
{
	_cleanup_free_ char *conf = fl_path_join(cli->dir, "faultline.conf");
	_cleanup_free_ char *db = fl_path_join(cli->dir, "results.db");
	bool had_conf = fl_fs_exists(conf), had_db = fl_fs_exists(db);
	_cleanup_(fl_store_closep) struct fl_store *s = NULL;
	int r = fl_fs_mkdirs(cli->dir, err);

	if (!r && !had_conf)
		r = fl_fs_write(conf, fl_conf_template,
				strlen(fl_conf_template), err);
	if (!r)
		r = fl_store_open(db, true, &s, err);
	if (r < 0)
		return r;
	printf("%s %s\n%s %s\n", had_conf ? "kept   " : "written", conf,
	       had_db ? "kept   " : "written", db);
	if (!had_conf)
		printf("Next: name your tree in %s, then 'faultline doctor' and 'faultline fetch'.\n",
		       conf);
	return 0;
}

struct need {
	const char *program, *package, *what;
	bool optional;
};

static const struct need needs[] = {
	{ "make", "make", "builds kernels", false },
	{ "gcc", "gcc", "builds kernels", false },
	{ "flex", "flex", "builds kernels", false },
	{ "bison", "bison", "builds kernels", false },
	{ "bc", "bc", "builds kernels", false },
	{ "perl", "perl", "builds kernels", false },
	{ "bwrap", "bubblewrap", "sandbox of builds and guests", false },
	{ "qemu-system-x86_64", "qemu-system-x86", "boots kernels", false },
	{ "mke2fs", "e2fsprogs", "ext4 cases", false },
	{ "mkfs.xfs", "xfsprogs", "xfs cases", false },
	{ "ccache", "ccache", "faster builds", true },
};

static void check(json_t *rows, const char *what, const char *state,
		  const char *remedy)
{
	json_array_append_new(rows,
			      json_pack("{s:s, s:s, s:s}", "what", what,
					"state", state, "remedy", remedy));
}

/* System programs such as mke2fs lie in folders that users lack in PATH. */
static void widen_path(void)
{
	const char *path = getenv("PATH");
	_cleanup_free_ char *wide = fl_asprintf("%s:/usr/sbin:/sbin",
						path ? path : "/usr/bin:/bin");

	setenv("PATH", wide, 1);
}

static bool check_programs(json_t *rows)
{
	_cleanup_buf_ struct fl_buf apt = { 0 };
	bool ok = true;

	widen_path();
	for (size_t i = 0; i < FL_ARRAY_SIZE(needs); i++) {
		_cleanup_free_ char *at = fl_proc_which(needs[i].program);
		_cleanup_free_ char *what =
			fl_asprintf("%s (%s)", needs[i].program, needs[i].what);
		_cleanup_free_ char *remedy =
			fl_asprintf("apt-get install %s", needs[i].package);

		check(rows, what,
		      at		? "ok" :
		      needs[i].optional ? "missing, optional" :
					  "missing",
		      at ? "" : remedy);
		ok &= at || needs[i].optional;
	}
	return ok;
}

static bool check_agent(json_t *rows)
{
	_cleanup_free_ char *agent = fl_conf_agent();
	bool ok = fl_fs_exists(agent);

	check(rows, "guest agent", ok ? "ok" : "missing", ok ? "" : "make");
	check(rows, "KVM",
	      access("/dev/kvm", R_OK | W_OK) ? "not usable" : "ok",
	      access("/dev/kvm", R_OK | W_OK) ?
		      "the wall clock uses emulation; the exact clock needs none" :
		      "");
	return ok;
}

static bool check_workspace(struct fl_cli *cli, json_t *rows)
{
	struct fl_err err = { 0 };
	bool ok = fl_cli_open(cli, &err) == 0;
	int64_t free_mb = fl_fs_free_bytes(cli->dir) >> 20;

	check(rows, "workspace", ok ? "ok" : "not ready", ok ? "" : err.text);
	for (size_t i = 0; ok && i < cli->conf->nhosts; i++) {
		const struct fl_host *h = &cli->conf->hosts[i].host;
		_cleanup_free_ char *what = fl_asprintf("host '%s'", h->name);
		bool good = !fl_host_driver(h->driver)->check(h, &err);

		check(rows, what, good ? "ok" : "not ready",
		      good ? "" : err.text);
		ok &= good;
	}
	check(rows, "free disk space",
	      free_mb < 0 || free_mb > 6144 ? "ok" : "scarce",
	      free_mb < 0 || free_mb > 6144 ?
		      "" :
		      "a tree, its work tree and a build take about 6 GiB");
	return ok;
}

static int run_doctor(struct fl_cli *cli, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "what", "what", 's' },
		{ "state", "state", 's' },
		{ "remedy", "remedy", 's' },
	};
	json_auto_t *rows = json_array();
	bool ok = check_programs(rows);

	ok &= check_agent(rows);
	ok &= check_workspace(cli, rows);
	fl_cli_print(cli, rows, columns, FL_ARRAY_SIZE(columns), "");
	return ok ? 0 :
		    fl_err_set(err, -ENOENT, FL_E_USER,
			       "something is missing; the remedies are above");
}

static int run_worker(struct fl_cli *cli, struct fl_err *err)
{
	return fl_worker_main(cli->args[0], err);
}

const struct fl_verb fl_verbs_setup[] = {
	{ .name = "init",
	  .args = "",
	  .help = "write a commented faultline.conf and an empty results.db",
	  .run = run_init },
	{ .name = "doctor",
	  .args = "[--json]",
	  .help = "say what is missing on this machine, and the remedy",
	  .run = run_doctor },
	{ .name = "worker",
	  .args = "DIR",
	  .help = "do the work described in DIR/spec.json",
	  .min_args = 1,
	  .max_args = 1,
	  .run = run_worker,
	  .hidden = true },
	{ .name = NULL },
};
