// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What QEMU is started with, and the recipe that says so. The exact clock
 * makes guest time a count of executed instructions; the wall clock uses KVM
 * where it works. Used by qemu.c; fails when QEMU is missing.
 */
#include "qemu.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif
#include "../../jobs/agent/protocol.h"
#include "../sys/proc.h"
#include "../util/fs.h"
#include "../util/json.h"
#include "fsimage.h"
#include "guest.h"

#define MACHINE "microvm,acpi=off,rtc=on"
#define ICOUNT "shift=0,sleep=off"

static bool exact(const struct fl_host *host)
{
	return host->clock == FL_CLOCK_EXACT;
}

/*
 * A /dev/kvm that opens may still not run this CPU model (nested or software
 * KVM: QEMU aborts on a register it cannot set). So QEMU starts a machine,
 * stopped, and is told to quit. Asked once per process.
 */
static bool kvm_works(const char *cpu)
{
	char *argv[] = { (char *)FL_QEMU_PROGRAM,
			 (char *)"-M",
			 (char *)MACHINE,
			 (char *)"-accel",
			 (char *)"kvm",
			 (char *)"-cpu",
			 (char *)cpu,
			 (char *)"-S",
			 (char *)"-nodefaults",
			 (char *)"-display",
			 (char *)"none",
			 (char *)"-monitor",
			 (char *)"stdio",
			 NULL };
	struct fl_proc_spec spec = { .argv = argv, .log = "/dev/null" };
	struct fl_proc_result res = { .code = 1 };
	static int known = -1;
	int quit[2];

	if (known < 0 && access("/dev/kvm", R_OK | W_OK))
		known = 0;
	if (known >= 0 || pipe2(quit, O_CLOEXEC) < 0)
		return known > 0;
	spec.stdin_fd = quit[0];
	known = write(quit[1], "quit\n", 5) == 5 &&
		!fl_proc_run(&spec, 10, &res, NULL) &&
		res.end == FL_PROC_EXITED && !res.code;
	close(quit[0]);
	close(quit[1]);
	return known > 0;
}

const char *fl_qemu_accel(const struct fl_host *host)
{
	return !exact(host) && kvm_works(host->cpu) ? "kvm" : "tcg";
}

/* Hiding erms and fsrm makes sense only where instructions are counted. */
static char *cpu_model(const struct fl_host *host, enum fl_isa isa)
{
	return fl_asprintf("%s%s", host->cpu,
			   exact(host) && isa == FL_ISA_PLAIN ? ",-erms,-fsrm" :
								"");
}

/*
 * The rate of the host's TSC in MHz, which is also the guest's; 0 when it is
 * not constant. 50 ms give it to a few 10 kHz.
 */
static int64_t tsc_mhz(void)
{
#ifdef __x86_64__
	_cleanup_buf_ struct fl_buf cpu = { 0 };
	struct timespec pause = { .tv_nsec = 50000000 }, a, b;
	uint64_t ticks;
	double ns;

	fl_fs_read_tail("/proc/cpuinfo", 16384, &cpu, NULL);
	if (!strstr(fl_buf_str(&cpu), " constant_tsc"))
		return 0;
	clock_gettime(CLOCK_MONOTONIC_RAW, &a);
	ticks = __rdtsc();
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC_RAW, &b);
	ticks = __rdtsc() - ticks;
	ns = (double)(b.tv_sec - a.tv_sec) * 1e9 +
	     (double)(b.tv_nsec - a.tv_nsec);
	return (int64_t)((double)ticks * 1000 / ns + 0.5);
#else
	return 0;
#endif
}

/*
 * How the guest learns its TSC's rate: it cannot calibrate one on a busy
 * machine and would fall back to counting ticks, some of which get lost.
 * Under the exact clock the rate is 1 GHz, an instruction per nanosecond.
 */
static char *tsc_args(const struct fl_host *host)
{
	int64_t mhz = exact(host) ? 1000 : tsc_mhz();

	return mhz ? fl_asprintf(" tsc=reliable tsc_early_khz=%lld000",
				 (long long)mhz) :
		     fl_strdup("");
}

/*
 * loglevel=5 shows warnings, which classification reads; oops=panic ends the
 * guest at the first fault of the kernel; panic=-1 and reboot=t make QEMU
 * exit then. Numbers that repeat need fixed addresses. Without nolapic_timer
 * the kernel calibrates that timer by reading the TSC for 0.2 guest seconds,
 * which takes QEMU longer than all the rest of an exact boot.
 */
static char *kernel_args(const struct fl_host *host)
{
	return fl_asprintf(
		"console=ttyS0 loglevel=5 panic=-1 oops=panic reboot=t nokaslr "
		"norandmaps 8250.nr_uarts=2 brd.rd_nr=2 brd.rd_size=%lld%s%s%s",
		(long long)fl_guest_disk_mb(host) * 1024,
		exact(host) ? " nolapic_timer" : "",
		host->append && *host->append ? " " : "",
		host->append ? host->append : "");
}

static int64_t cpus(const struct fl_host *host)
{
	return exact(host) || host->cpus < 1 ? 1 : host->cpus;
}

void fl_qemu_argv(const struct fl_qemu *m, struct fl_strv *argv)
{
	const struct fl_host *host = m->boot->host;
	_cleanup_free_ char *cpu = cpu_model(host, m->boot->isa);
	_cleanup_free_ char *args = kernel_args(host);
	_cleanup_free_ char *tsc = tsc_args(host);

	fl_strv_addl(argv, FL_QEMU_PROGRAM, "-M", MACHINE, "-accel",
		     fl_qemu_accel(host), "-cpu", cpu, "-nodefaults",
		     "-no-user-config", "-no-reboot", "-display", "none",
		     "-nic", "none", "-sandbox",
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
	if (m->boot->profile_ns)
		fl_strv_addl(argv, "-monitor", "stdio", NULL);
	fl_strv_add(argv, "-chardev");
	fl_strv_addf(argv, "file,id=console,path=%s", m->console);
	fl_strv_add(argv, "-chardev");
	fl_strv_addf(argv, "file,id=events,path=%s", m->events);
	fl_strv_addl(argv, "-serial", "chardev:console", "-device",
		     "isa-serial,chardev=events,index=1", "-kernel", m->image,
		     "-initrd", m->initramfs, "-append", NULL);
	fl_strv_addf(argv, "%s%s", args, tsc);
}

static int qemu_version(char **ret, struct fl_err *err)
{
	static const char word[] = "version ";
	char *argv[] = { (char *)FL_QEMU_PROGRAM, (char *)"--version", NULL };
	_cleanup_buf_ struct fl_buf out = { 0 };
	const char *s;
	int r = fl_proc_capture(argv, 65536, &out, err);

	if (r < 0)
		return r;
	s = strstr(fl_buf_str(&out), word);
	if (!s)
		return fl_err_set(err, -EINVAL, FL_E_INFRA,
				  "'%s --version' says nothing of a version",
				  FL_QEMU_PROGRAM);
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

/*
 * The rate of the TSC is part of the exact clock. The measured one is left
 * out: it belongs to the host, whose processor is named instead.
 */
int fl_qemu_recipe(const struct fl_host *host, enum fl_isa isa, json_t **ret,
		   struct fl_err *err)
{
	_cleanup_free_ char *version = NULL, *tools = fl_fsimage_tools();
	_cleanup_free_ char *cpu = cpu_model(host, isa);
	_cleanup_free_ char *args = kernel_args(host);
	_cleanup_free_ char *tsc = exact(host) ? tsc_args(host) : fl_strdup("");
	json_t *j;
	int r = qemu_version(&version, err);

	if (r < 0)
		return r;
	j = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:s+, s:s, s:I, s:I, s:i}",
		"driver", "qemu", "qemu", version, "machine", MACHINE, "accel",
		fl_qemu_accel(host), "cpu", cpu, "clock",
		fl_clock_kind_str(host->clock), "append", args, tsc, "mkfs",
		tools, "memory_mb", (json_int_t)host->memory_mb, "cpus",
		(json_int_t)cpus(host), "workload_version",
		exact(host) ? FL_WORKLOAD_VERSION : FL_WORKLOAD_VERSION_WALL);
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
