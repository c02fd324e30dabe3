// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The qemu driver: boots a kernel in a sandboxed microvm and watches it. The
 * exact clock makes guest time a count of executed instructions; the wall
 * clock uses KVM where it works. Called from worker children; boot() blocks.
 */
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "../../jobs/agent/protocol.h"
#include "../sys/proc.h"
#include "../sys/sandbox.h"
#include "../util/clock.h"
#include "../util/fs.h"
#include "../util/json.h"
#include "fsimage.h"
#include "guest.h"

/* A guest may write for ever; past this the machine is stopped. */
#define OUTPUT_MAX (16 << 20)
#define POLL_MS 100

static void add_sandbox(const struct fl_qemu *m, struct fl_strv *argv)
{
	_cleanup_(fl_sandbox_clear) struct fl_sandbox box = { .dir = m->dir };

	fl_strv_add(&box.ro, m->image);
	fl_strv_add(&box.rw, m->dir);
	if (!strcmp(fl_qemu_accel(m->boot->host), "kvm"))
		fl_strv_add(&box.dev, "/dev/kvm");
	fl_sandbox_argv(&box, argv);
}

static int absolute(const char *path, char **ret, struct fl_err *err)
{
	char *p = realpath(path, NULL);

	if (!p)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot find '%s': %s", path,
				  strerror(errno));
	/* QEMU splits option values at commas. */
	if (strchr(p, ',')) {
		free(p);
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "'%s': a comma in the path is not possible",
				  path);
	}
	*ret = p;
	return 0;
}

static int prepare(struct fl_qemu *m, struct fl_err *err)
{
	const char *const stale[] = { "console.log", "events.jsonl",
				      "qemu.log" };
	int r = absolute(m->boot->dir, &m->dir, err);

	if (!r)
		r = absolute(m->boot->image, &m->image, err);
	if (r < 0)
		return r;
	m->initramfs = fl_path_join(m->dir, "initramfs.cpio");
	m->console = fl_path_join(m->dir, stale[0]);
	m->events = fl_path_join(m->dir, stale[1]);
	m->log = fl_path_join(m->dir, stale[2]);
	m->code = fl_path_join(m->dir, "code.bin");
	for (size_t i = 0; i < FL_ARRAY_SIZE(stale); i++) {
		_cleanup_free_ char *path = fl_path_join(m->dir, stale[i]);

		unlink(path);
	}
	return fl_guest_initramfs(m->boot, m->initramfs, err);
}

static void machine_clear(struct fl_qemu *m)
{
	if (m->initramfs)
		unlink(m->initramfs);
	free(m->dir);
	free(m->image);
	free(m->initramfs);
	free(m->console);
	free(m->events);
	free(m->log);
	free(m->code);
	if (m->monitor >= 0)
		close(m->monitor);
}

static int64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_size;
}

static int exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

/* Watches the machine until it ends or has to be stopped. */
static int watch(struct fl_qemu *m, struct fl_guest_facts *f,
		 struct fl_boot_result *ret, struct fl_err *err)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, m->pid, 0);
	int64_t seen = 0, seen_ms = m->start_ms;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int status = 0;

	if (pidfd < 0) {
		fl_proc_kill(m->pid, 0);
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot watch '%s': %s", FL_QEMU_PROGRAM,
				  strerror(errno));
	}
	while (poll(&p, 1, POLL_MS) <= 0) {
		int64_t now = fl_clock_mono_ms(), events = size_of(m->events);
		int64_t size = events + size_of(m->console);

		if (size != seen) {
			seen = size;
			seen_ms = now;
			if (m->monitor >= 0)
				fl_qemu_profile_poll(m);
		}
		if (events && !ret->boot_s)
			ret->boot_s = (double)(now - m->start_ms) / 1000;
		if (size > OUTPUT_MAX)
			f->end = FL_GUEST_FLOOD;
		else if ((double)(now - seen_ms) > f->timeout_s * 1000)
			f->end = FL_GUEST_SILENT;
		else if ((double)(now - m->start_ms) > f->total_s * 1000)
			f->end = FL_GUEST_LATE;
		if (f->end == FL_GUEST_EXITED)
			continue;
		fl_proc_kill(m->pid, 500);
		return 0;
	}
	while (waitpid(m->pid, &status, 0) < 0 && errno == EINTR)
		;
	f->code = exit_code(status);
	return 0;
}

/* What the guest left, bounded, and its meaning. */
static int conclude(struct fl_qemu *m, struct fl_guest_facts *f,
		    struct fl_boot_result *ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf console = { 0 }, events = { 0 };
	_cleanup_buf_ struct fl_buf log = { 0 };
	_cleanup_(fl_events_clear) struct fl_events ev = { 0 };
	int r;

	/*
	 * Files that were never made are empty ones. Of too much console the
	 * end tells more, of too many events the beginning.
	 */
	fl_fs_read_tail(m->console, OUTPUT_MAX, &console, NULL);
	if (size_of(m->events) > OUTPUT_MAX &&
	    truncate(m->events, OUTPUT_MAX) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot cut '%s': %s", m->events,
				  strerror(errno));
	fl_fs_read(m->events, OUTPUT_MAX, &events, NULL);
	fl_fs_read_tail(m->log, 4096, &log, NULL);
	f->console = fl_buf_str(&console);
	f->console_len = console.len;
	f->emulator_log = fl_buf_str(&log);
	fl_events_read(fl_buf_str(&events), events.len, m->boot->host->clock,
		       m->boot->cases, m->boot->ncases, &ev);
	r = fl_guest_classify(f, &ev, ret, err);
	if (!r && m->boot->profile_ns)
		r = fl_qemu_profile_conclude(m, ev.profiles, ret, err);
	return r;
}

/* The monitor reads our orders from its standard input. */
static int open_monitor(struct fl_qemu *m, struct fl_proc_spec *spec,
			struct fl_err *err)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot make a socket pair: %s",
				  strerror(errno));
	m->monitor = sv[0];
	spec->stdin_fd = sv[1];
	return 0;
}

static int boot_qemu(const struct fl_boot *boot, struct fl_boot_result *ret,
		     struct fl_err *err)
{
	_cleanup_(machine_clear) struct fl_qemu m = { .boot = boot,
						      .monitor = -1 };
	_cleanup_strv_ struct fl_strv argv = { 0 };
	struct fl_guest_facts facts = {
		.timeout_s = boot->timeout_s > 0 ? boot->timeout_s : 60,
		.total_s = boot->total_s > 0 ? boot->total_s : 3600,
	};
	struct fl_proc_spec spec = { 0 };
	int r;

	*ret = (struct fl_boot_result){ 0 };
	r = prepare(&m, err);
	if (r < 0)
		return r;
	add_sandbox(&m, &argv);
	fl_qemu_argv(&m, &argv);
	spec.argv = argv.s;
	spec.log = m.log;
	if (boot->profile_ns)
		r = open_monitor(&m, &spec, err);
	m.start_ms = fl_clock_mono_ms();
	if (!r)
		r = fl_proc_spawn(&spec, &m.pid, err);
	if (spec.stdin_fd > 0)
		close(spec.stdin_fd);
	if (!r)
		r = watch(&m, &facts, ret, err);
	ret->total_s = (double)(fl_clock_mono_ms() - m.start_ms) / 1000;
	if (!r)
		r = conclude(&m, &facts, ret, err);
	return r;
}

static int need_program(const char *name, const char *package,
			struct fl_err *err)
{
	_cleanup_free_ char *path = fl_proc_which(name);

	if (path)
		return 0;
	return fl_err_set(err, -ENOENT, FL_E_USER,
			  "'%s' is missing: apt install %s", name, package);
}

static int check_qemu(const struct fl_host *host, struct fl_err *err)
{
	_cleanup_(fl_sandbox_clear) struct fl_sandbox box = { 0 };
	_cleanup_strv_ struct fl_strv argv = { 0 };
	_cleanup_buf_ struct fl_buf out = { 0 };
	int r = need_program(FL_QEMU_PROGRAM, "qemu-system-x86", err);

	if (!r)
		r = need_program("bwrap", "bubblewrap", err);
	if (!r)
		r = fl_fsimage_check(err);
	if (!r && (host->memory_mb < 256 || host->memory_mb > 1 << 20))
		r = fl_err_set(
			err, -EINVAL, FL_E_USER,
			"host '%s': memory of %lld MiB is out of range, expected 256 to 1048576",
			host->name, (long long)host->memory_mb);
	if (r < 0)
		return r;
	fl_sandbox_argv(&box, &argv);
	fl_strv_add(&argv, "true");
	if (fl_proc_capture(argv.s, 4096, &out, err) < 0)
		return fl_err_prefix(err, "the sandbox does not work here");
	return 0;
}

const struct fl_host_ops fl_host_qemu = {
	.name = "qemu",
	.builder = "kbuild",
	.recipe = fl_qemu_recipe,
	.check = check_qemu,
	.boot = boot_qemu,
};
