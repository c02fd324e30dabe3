// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The qemu driver: boots a kernel in a sandboxed microvm and watches it. The
 * exact clock makes guest time a count of executed instructions; the wall
 * clock uses KVM where it works. Called from worker children; boot() blocks.
 */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
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

#define QEMU "qemu-system-x86_64"
#define MACHINE "microvm,acpi=off,rtc=on"
#define ICOUNT "shift=0,sleep=off"
/* A guest may write for ever; past this the machine is stopped. */
#define OUTPUT_MAX (16 << 20)
#define POLL_MS 100

/* Lives as long as one boot; all paths are absolute. */
struct machine {
	const struct fl_boot *boot;
	char *dir, *image, *initramfs, *console, *events, *log;
	pid_t pid;
	int64_t start_ms;
};

static bool exact(const struct fl_host *host)
{
	return host->clock == FL_CLOCK_EXACT;
}

static bool kvm_works(void)
{
	_cleanup_close_ int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	return fd >= 0;
}

static const char *accel(const struct fl_host *host)
{
	return !exact(host) && kvm_works() ? "kvm" : "tcg";
}

/* Hiding erms and fsrm makes sense only where instructions are counted. */
static char *cpu_model(const struct fl_host *host, enum fl_isa isa)
{
	return fl_asprintf("%s%s", host->cpu,
			   exact(host) && isa == FL_ISA_PLAIN ? ",-erms,-fsrm" :
								"");
}

/*
 * loglevel=5 shows warnings, which classification reads; oops=panic ends the
 * guest at the first fault of the kernel; panic=-1 and reboot=t make QEMU
 * exit then. Instruction counts need a TSC of known rate and no randomness.
 * Without nolapic_timer the kernel calibrates that timer by reading the TSC
 * for 0.2 guest seconds, which takes QEMU longer than all the rest of a boot.
 */
static char *kernel_args(const struct fl_host *host)
{
	return fl_asprintf(
		"console=ttyS0 loglevel=5 panic=-1 oops=panic reboot=t nokaslr "
		"norandmaps 8250.nr_uarts=2 brd.rd_nr=2 brd.rd_size=%lld%s%s%s",
		(long long)fl_guest_disk_mb(host) * 1024,
		exact(host) ? " tsc_early_khz=1000000 tsc=reliable "
			      "nolapic_timer" :
			      "",
		host->append && *host->append ? " " : "",
		host->append ? host->append : "");
}

static int64_t cpus(const struct fl_host *host)
{
	return exact(host) || host->cpus < 1 ? 1 : host->cpus;
}

static void add_qemu(const struct machine *m, struct fl_strv *argv)
{
	const struct fl_host *host = m->boot->host;
	_cleanup_free_ char *cpu = cpu_model(host, m->boot->isa);
	_cleanup_free_ char *args = kernel_args(host);

	fl_strv_addl(argv, QEMU, "-M", MACHINE, "-accel", accel(host), "-cpu",
		     cpu, "-nodefaults", "-no-user-config", "-no-reboot",
		     "-display", "none", "-nic", "none", "-sandbox",
		     "on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
		     "resourcecontrol=deny",
		     NULL);
	fl_strv_add(argv, "-m");
	fl_strv_addf(argv, "%lld", (long long)host->memory_mb);
	fl_strv_add(argv, "-smp");
	fl_strv_addf(argv, "%lld", (long long)cpus(host));
	if (exact(host))
		fl_strv_addl(argv, "-icount", ICOUNT, "-rtc",
			     "clock=vm,base=2026-01-01", "-seed", "1", NULL);
	fl_strv_add(argv, "-chardev");
	fl_strv_addf(argv, "file,id=console,path=%s", m->console);
	fl_strv_add(argv, "-chardev");
	fl_strv_addf(argv, "file,id=events,path=%s", m->events);
	fl_strv_addl(argv, "-serial", "chardev:console", "-device",
		     "isa-serial,chardev=events,index=1", "-kernel", m->image,
		     "-initrd", m->initramfs, "-append", args, NULL);
}

static void add_sandbox(const struct machine *m, struct fl_strv *argv)
{
	_cleanup_(fl_sandbox_clear) struct fl_sandbox box = { .dir = m->dir };

	fl_strv_add(&box.ro, m->image);
	fl_strv_add(&box.rw, m->dir);
	if (!strcmp(accel(m->boot->host), "kvm"))
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

static int prepare(struct machine *m, struct fl_err *err)
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
	for (size_t i = 0; i < FL_ARRAY_SIZE(stale); i++) {
		_cleanup_free_ char *path = fl_path_join(m->dir, stale[i]);

		unlink(path);
	}
	return fl_guest_initramfs(m->boot, m->initramfs, err);
}

static void machine_clear(struct machine *m)
{
	if (m->initramfs)
		unlink(m->initramfs);
	free(m->dir);
	free(m->image);
	free(m->initramfs);
	free(m->console);
	free(m->events);
	free(m->log);
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
static int watch(struct machine *m, struct fl_guest_facts *f,
		 struct fl_boot_result *ret, struct fl_err *err)
{
	_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, m->pid, 0);
	int64_t seen = 0, seen_ms = m->start_ms;
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int status = 0;

	if (pidfd < 0) {
		fl_proc_kill(m->pid, 0);
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot watch '%s': %s", QEMU,
				  strerror(errno));
	}
	while (poll(&p, 1, POLL_MS) <= 0) {
		int64_t now = fl_clock_mono_ms(), events = size_of(m->events);
		int64_t size = events + size_of(m->console);

		if (size != seen) {
			seen = size;
			seen_ms = now;
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
static int conclude(struct machine *m, struct fl_guest_facts *f,
		    struct fl_boot_result *ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf console = { 0 }, events = { 0 };
	_cleanup_buf_ struct fl_buf log = { 0 };
	_cleanup_(fl_events_clear) struct fl_events ev = { 0 };

	/*
	 * Files that were never made are empty ones. Of too much console the
	 * end tells more, of too many events the beginning, which stays in
	 * the buffer when the rest does not fit.
	 */
	fl_fs_read_tail(m->console, OUTPUT_MAX, &console, NULL);
	fl_fs_read(m->events, OUTPUT_MAX, &events, NULL);
	fl_fs_read_tail(m->log, 4096, &log, NULL);
	f->console = fl_buf_str(&console);
	f->console_len = console.len;
	f->emulator_log = fl_buf_str(&log);
	fl_events_read(fl_buf_str(&events), events.len, m->boot->host->clock,
		       m->boot->cases, m->boot->ncases, &ev);
	return fl_guest_classify(f, &ev, ret, err);
}

static int boot_qemu(const struct fl_boot *boot, struct fl_boot_result *ret,
		     struct fl_err *err)
{
	_cleanup_(machine_clear) struct machine m = { .boot = boot };
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
	add_qemu(&m, &argv);
	spec.argv = argv.s;
	spec.log = m.log;
	m.start_ms = fl_clock_mono_ms();
	r = fl_proc_spawn(&spec, &m.pid, err);
	if (!r)
		r = watch(&m, &facts, ret, err);
	ret->total_s = (double)(fl_clock_mono_ms() - m.start_ms) / 1000;
	if (!r)
		r = conclude(&m, &facts, ret, err);
	return r;
}

static int qemu_version(char **ret, struct fl_err *err)
{
	static const char word[] = "version ";
	char *argv[] = { (char *)QEMU, (char *)"--version", NULL };
	_cleanup_buf_ struct fl_buf out = { 0 };
	const char *s;
	int r = fl_proc_capture(argv, 65536, &out, err);

	if (r < 0)
		return r;
	s = strstr(fl_buf_str(&out), word);
	if (!s)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "'%s --version' says nothing of a version",
				  QEMU);
	s += strlen(word);
	*ret = fl_strndup(s, strcspn(s, " \n"));
	return 0;
}

/* The processor below decides wall-clock numbers, and no others. */
static char *host_cpu(void)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	static const char key[] = "model name";
	const char *s;

	fl_fs_read_tail("/proc/cpuinfo", 1 << 20, &b, NULL);
	s = strstr(fl_buf_str(&b), key);
	s = s ? strchr(s, ':') : NULL;
	return s ? fl_strndup(s + 2, strcspn(s + 2, "\n")) :
		   fl_strdup("unknown");
}

static int recipe_qemu(const struct fl_host *host, enum fl_isa isa,
		       json_t **ret, struct fl_err *err)
{
	_cleanup_free_ char *version = NULL, *tools = fl_fsimage_tools();
	_cleanup_free_ char *cpu = cpu_model(host, isa);
	_cleanup_free_ char *args = kernel_args(host);
	json_t *j;
	int r = qemu_version(&version, err);

	if (r < 0)
		return r;
	j = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:i}",
		      "driver", "qemu", "qemu", version, "machine", MACHINE,
		      "accel", accel(host), "cpu", cpu, "clock",
		      fl_clock_kind_str(host->clock), "append", args, "mkfs",
		      tools, "memory_mb", (json_int_t)host->memory_mb, "cpus",
		      (json_int_t)cpus(host), "workload_version",
		      FL_WORKLOAD_VERSION);
	if (exact(host)) {
		json_object_set_new(j, "icount", json_string(ICOUNT));
	} else {
		_cleanup_free_ char *model = host_cpu();

		json_object_set_new(j, "host_cpu",
				    fl_json_text_value(model, strlen(model)));
	}
	*ret = j;
	return 0;
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
	int r = need_program(QEMU, "qemu-system-x86", err);

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
	.recipe = recipe_qemu,
	.check = check_qemu,
	.boot = boot_qemu,
};
