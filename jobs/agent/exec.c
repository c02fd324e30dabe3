// SPDX-License-Identifier: GPL-2.0-only
/*
 * A case that is a program of others: /tmp on the chosen file system, the
 * program in a session of its own with its output in a pipe, a time limit, and
 * at the end nothing of it left. Until it has ended the agent sleeps and sends
 * nothing. What went wrong is a reason, never a sample: some programs print a
 * result of zero, and exit with 0, after their tasks have died.
 */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "output.h"

#define KEEP (64 << 10) /* bytes of output: its end */
#define SPEC_MAX (64 << 10)
#define ARGS_MAX 256
#define TAIL_MAX 1000 /* bytes of output that events carry */
#define FATAL_SIGNALS "/proc/sys/kernel/print-fatal-signals"

struct exec {
	const struct fl_plan *plan;
	const struct fl_plan_case *c;
	char spec[SPEC_MAX + 1];
	char *argv[ARGS_MAX + 1];
	size_t nargs;
	struct fl_output_kpi kpis[FL_EXEC_KPIS];
	size_t nkpis;
	unsigned limit_s;
	uint64_t space; /* bytes that it needs on /tmp */
	char dir[FL_TMP_DIR]; /* what is mounted at /tmp, or "" */
	char out[2 * KEEP + 1];
	size_t len, dropped;
	int pipe, kmsg;
	pid_t pid;
	int status;
	double seconds;
	int64_t oom_kills; /* before */
	char why[FL_REASON_MAX];
};

static bool fail(struct exec *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool fail(struct exec *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->why, sizeof(x->why), fmt, ap);
	va_end(ap);
	return false;
}

/* ---- what to run ------------------------------------------------------------- */

static bool take(struct exec *x, const char *key, char *value)
{
	struct fl_output_kpi *kpi = &x->kpis[x->nkpis];

	if (!strcmp(key, "arg") && x->nargs < ARGS_MAX) {
		x->argv[x->nargs++] = value;
	} else if (!strcmp(key, "kpi") && x->nkpis < FL_EXEC_KPIS &&
		   strlen(value) < sizeof(kpi->name)) {
		strcpy(kpi->name, value);
		x->nkpis++;
	} else if (!strcmp(key, "pattern") && x->nkpis) {
		kpi[-1].pattern = value;
	} else if (!strcmp(key, "limit")) {
		x->limit_s = (unsigned)strtoul(value, NULL, 10);
	} else if (!strcmp(key, "space")) {
		x->space = strtoull(value, NULL, 10);
	} else {
		return fail(x, "'%s': bad member '%.64s'", x->c->exec, key);
	}
	return true;
}

static bool read_spec(struct exec *x)
{
	int fd = open(x->c->exec, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, x->spec, SPEC_MAX);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return fail(x, "cannot read '%s': %s", x->c->exec,
			    strerror(errno));
	for (char *s = x->spec; s < x->spec + n; s += strlen(s) + 1) {
		char *eq = strchr(s, '=');

		if (!eq)
			return fail(x, "'%s': no member", x->c->exec);
		*eq = '\0';
		if (!take(x, s, eq + 1))
			return false;
		s = eq + 1;
	}
	return (x->nargs && x->nkpis && x->limit_s) ||
	       fail(x, "'%s': incomplete", x->c->exec);
}

/* ---- around it --------------------------------------------------------------- */

/*
 * The program need not tell that a task of it died, but the kernel does, in
 * its log, which is read from here on.
 */
static void watch_deaths(struct exec *x)
{
	fl_sys_write(FATAL_SIGNALS, "1");
	x->kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (x->kmsg >= 0)
		lseek(x->kmsg, 0, SEEK_END);
}

static void clean_up(struct exec *x)
{
	/* From process 1: everything else, but no kernel thread. */
	if (getpid() == 1)
		kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	if (x->pipe > 0)
		close(x->pipe);
	fl_tmp_close(x->dir);
	fl_sys_write(FATAL_SIGNALS, "0");
	if (x->kmsg >= 0)
		close(x->kmsg);
}

/* ---- the run ------------------------------------------------------------------- */

static _Noreturn void child(struct exec *x, int out)
{
	int null = open("/dev/null", O_RDONLY);

	setsid();
	fl_sys_write("/proc/self/oom_score_adj", "1000");
	if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0 ||
	    chdir("/tmp") < 0)
		_exit(126);
	if (null > 2)
		close(null);
	clearenv();
	setenv("PATH", "/bin:/usr/bin:/sbin:/usr/sbin", 1);
	setenv("HOME", "/tmp", 1);
	setenv("TMPDIR", "/tmp", 1);
	setenv("LC_ALL", "C", 1);
	execv(x->argv[0], x->argv);
	dprintf(2, "cannot run '%s': %s\n", x->argv[0], strerror(errno));
	_exit(127);
}

static bool spawn(struct exec *x)
{
	int p[2];

	x->oom_kills = fl_sys_value("/proc/vmstat", "oom_kill");
	if (pipe2(p, O_CLOEXEC) < 0)
		return fail(x, "cannot make a pipe: %s", strerror(errno));
	x->pipe = p[0];
	fcntl(x->pipe, F_SETFL, O_NONBLOCK);
	x->pid = fork();
	if (!x->pid)
		child(x, p[1]);
	close(p[1]);
	return x->pid > 0 || fail(x, "cannot start it: %s", strerror(errno));
}

/* What lies in the pipe now. False at its end. */
static bool drain(struct exec *x)
{
	for (;;) {
		ssize_t n;

		if (x->len == 2 * KEEP) {
			memmove(x->out, x->out + KEEP, KEEP);
			x->len -= KEEP;
			x->dropped += KEEP;
		}
		n = read(x->pipe, x->out + x->len, 2 * KEEP - x->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0;
		x->len += (size_t)n;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Sleeps until the program prints, ends, or its time is over. */
static bool watch(struct exec *x)
{
	int pidfd = (int)syscall(SYS_pidfd_open, x->pid, 0);
	struct pollfd p[2] = { { .fd = x->pipe, .events = POLLIN },
			       { .fd = pidfd, .events = POLLIN } };
	double start = now(), left = x->limit_s;
	bool ended = false;

	while (!ended && left > 0) {
		int ms = (int)(left * 1000) + 1;

		/* Without pidfds (before Linux 5.3) the agent has to look. */
		poll(p, 2, pidfd < 0 && ms > 100 ? 100 : ms);
		if (!drain(x))
			p[0].fd = -1;
		ended = waitpid(x->pid, &x->status, WNOHANG) == x->pid;
		x->seconds = now() - start;
		left = x->limit_s - x->seconds;
	}
	if (pidfd >= 0)
		close(pidfd);
	drain(x);
	return ended || fail(x, "not finished after %u s", x->limit_s);
}

/* The part that is kept: its end, from the beginning of a line on. */
static char *kept(struct exec *x, size_t *n)
{
	size_t at = x->len > KEEP ? x->len - KEEP : 0;
	const char *nl;

	x->out[x->len] = '\0';
	nl = at || x->dropped ? memchr(x->out + at, '\n', x->len - at) : NULL;
	if (nl)
		at = (size_t)(nl + 1 - x->out);
	*n = x->len - at;
	return x->out + at;
}

/* ---- how it ended ---------------------------------------------------------------- */

/* The last line of the output, for a reason. */
static const char *last_line(struct exec *x)
{
	size_t n;
	char *text = kept(x, &n);

	while (n && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		text[--n] = '\0';
	while (n && text[n - 1] != '\n')
		n--;
	return text + n;
}

static bool died(struct exec *x, const char *who, int sig)
{
	const char *line = last_line(x);

	return fail(x, "%s was killed by signal %d (%s)%s%s%.120s", who, sig,
		    strsignal(sig),
		    sig == SIGBUS ? ": file cut short or file system full" : "",
		    *line ? "; it said: " : "", line);
}

/* A task of the program that died of a signal; SIGKILL is not among them. */
static bool check_deaths(struct exec *x)
{
	static const char words[] = "unexpected fatal signal ";
	char line[8192];

	for (;;) { /* a record of the log each time */
		ssize_t n = read(x->kmsg, line, sizeof(line) - 1);
		const char *at;

		if (n < 0 && (errno == EPIPE || errno == EINTR))
			continue; /* some were overwritten */
		if (n <= 0)
			return true;
		line[n] = '\0';
		at = strstr(line, words);
		if (at)
			return died(x, "the program, or a task of it,",
				    (int)strtol(at + strlen(words), NULL, 10));
	}
}

static bool check_end(struct exec *x)
{
	int64_t kills = fl_sys_value("/proc/vmstat", "oom_kill");

	if (kills > x->oom_kills)
		return fail(
			x,
			"the program, or a task of it, was killed: out of memory");
	if (WIFSIGNALED(x->status))
		return died(x, "the program", WTERMSIG(x->status));
	if (!check_deaths(x))
		return false;
	if (!WEXITSTATUS(x->status))
		return true;
	return fail(x, "exited with status %d: %.160s", WEXITSTATUS(x->status),
		    last_line(x));
}

static void report(struct exec *x, struct fl_line *l)
{
	fl_report_begin(l, "case_done");
	fl_report_str(l, "case", x->c->name);
	for (size_t i = 0; i < x->nkpis; i++) {
		const struct fl_output_kpi *kpi = &x->kpis[i];

		fl_report_raw(l, "%s\"%s\":[", i ? "," : ",\"kpis\":{",
			      kpi->name);
		for (size_t j = 0; j < kpi->n; j++)
			fl_report_raw(l, "%s%.12g", j ? "," : "",
				      kpi->value[j]);
		fl_report_raw(l, "]");
	}
	fl_report_raw(l, "},\"info\":{\"seconds\":%.3f,\"output_bytes\":%zu}",
		      x->seconds, x->len + x->dropped);
}

void fl_exec_case(const struct fl_plan *plan, const struct fl_plan_case *c)
{
	static struct fl_line line;
	struct exec *x = calloc(1, sizeof(*x)); /* not in the agent's image */
	char tail[TAIL_MAX + 1];
	size_t n;
	char *text;
	bool ok;

	fl_report_begin(&line, "case_start");
	fl_report_str(&line, "case", c->name);
	fl_report_send(&line);
	if (!x) {
		fl_report_begin(&line, "case_failed");
		fl_report_str(&line, "case", c->name);
		fl_report_str(&line, "reason", "out of memory");
		fl_report_send(&line);
		return;
	}
	x->plan = plan;
	x->c = c;
	watch_deaths(x);
	ok = read_spec(x) &&
	     fl_tmp_open(plan, c->fs, x->space, x->dir, x->why) && spawn(x) &&
	     watch(x) && check_end(x);
	text = kept(x, &n);
	snprintf(tail, sizeof(tail), "%s",
		 n > TAIL_MAX ? text + n - TAIL_MAX : text);
	clean_up(x);
	ok = ok &&
	     fl_output_read(text, n, x->kpis, x->nkpis, x->why, sizeof(x->why));
	if (ok) {
		report(x, &line);
	} else {
		fl_report_begin(&line, "case_failed");
		fl_report_str(&line, "case", c->name);
		fl_report_str(&line, "reason", x->why);
	}
	fl_report_str(&line, "output", tail);
	fl_report_send(&line);
}
