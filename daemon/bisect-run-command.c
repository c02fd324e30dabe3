// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One run of the user's command: what it prints, how it ends. It runs as it
 * is, without a sandbox, in a process group that ends with it.
 */
#include "bisect-run.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "sys/proc.h"
#include "util/clock.h"
#include "util/fs.h"

#define TICK_MS 200
#define GRACE_MS 2000
#define MAX_WORDS 160
#define MAX_TAIL (256 << 10)

static volatile sig_atomic_t stopped;

static void on_signal(int signo)
{
	stopped = signo;
}

void fl_brun_catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction sa = { .sa_handler = on_signal }, old;

	stopped = 0;
	for (size_t i = 0; i < FL_ARRAY_SIZE(signals); i++)
		if (!sigaction(signals[i], NULL, &old) &&
		    old.sa_handler != SIG_IGN) /* nohup */
			sigaction(signals[i], &sa, NULL);
}

bool fl_brun_stopped(void)
{
	return stopped;
}

void fl_brun_run_clear(struct fl_brun_run *r)
{
	free(r->why);
	*r = (struct fl_brun_run){ 0 };
}

/* ---- the number ----------------------------------------------------------- */

/* The last line of text with something in it, trimmed; heap, "" for none. */
static char *last_line(const char *text)
{
	size_t end = strlen(text), start;

	while (end && isspace((unsigned char)text[end - 1]))
		end--;
	for (start = end; start && !strchr("\n\r", text[start - 1]); start--)
		;
	while (start < end && isspace((unsigned char)text[start]))
		start++;
	return fl_strndup(text + start, end - start);
}

/* "quoted line", printable and not too long; heap. */
static char *quoted(const char *line)
{
	char *s = fl_asprintf("'%.*s%s'", MAX_WORDS, line,
			      strlen(line) > MAX_WORDS ? "..." : "");

	fl_text_plain(s, "");
	return s;
}

/* One word without digits: ms, MB/s, %, ns/op. */
static bool is_unit(const char *s, size_t size)
{
	if (strlen(s) >= size)
		return false;
	for (; *s; s++)
		if (isspace((unsigned char)*s) || isdigit((unsigned char)*s) ||
		    strchr(",;:.+=", *s))
			return false;
	return true;
}

bool fl_brun_parse(const char *text, double *value, char *unit, size_t size,
		   char **why)
{
	_cleanup_free_ char *line = last_line(text);
	_cleanup_free_ char *said = quoted(line);
	char *end = line;

	*why = NULL;
	/* strtod() alone would take "inf", "nan" and "0x10" as well. */
	if (strspn(line, "+-.0123456789"))
		*value = strtod(line, &end);
	if (!*line) {
		*why = fl_strdup("it printed nothing");
	} else if (end == line || line[strspn(line, "+-0")] == 'x') {
		*why = fl_asprintf("its last line is no number: %s", said);
	} else {
		while (isspace((unsigned char)*end))
			end++;
		if (!is_unit(end, size))
			*why = fl_asprintf(
				"its last line is not exactly one number: %s",
				said);
		else if (!isfinite(*value))
			*why = fl_asprintf("its number is too large: %s", said);
		else if (*value <= 0)
			*why = fl_asprintf(
				"its number has to be above zero (changes are counted in per cent): %s",
				said);
		else
			snprintf(unit, size, "%s", end);
	}
	return !*why;
}

/* ---- running -------------------------------------------------------------- */

/* Those that bind git to a repository and index, as in a hook or --exec, and
 * our own of a command around this one. */
static bool is_ours(const char *var)
{
	static const char *const names[] = {
		"GIT_DIR=",
		"GIT_WORK_TREE=",
		"GIT_INDEX_FILE=",
		"GIT_COMMON_DIR=",
		"GIT_OBJECT_DIRECTORY=",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=",
		"GIT_NAMESPACE=",
		"GIT_PREFIX=",
		"FAULTLINE_COMMIT=",
		"FAULTLINE_REPO=",
		"FAULTLINE_RUN=",
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(names); i++)
		if (!strncmp(var, names[i], strlen(names[i])))
			return true;
	return false;
}

static void environment(const struct fl_brun_command *c, struct fl_strv *env)
{
	for (char **e = environ; *e; e++)
		if (!is_ours(*e))
			fl_strv_add(env, *e);
	fl_strv_addf(env, "FAULTLINE_COMMIT=%s", c->sha);
	fl_strv_addf(env, "FAULTLINE_REPO=%s", c->repo);
	fl_strv_addf(env, "FAULTLINE_RUN=%s", c->state);
}

static bool has_mark(const char *pid, const char *mark)
{
	_cleanup_free_ char *path = fl_asprintf("/proc/%s/environ", pid);
	_cleanup_buf_ struct fl_buf b = { 0 };

	if (fl_fs_read(path, 1 << 20, &b, NULL) < 0)
		return false;
	for (const char *s = b.s; s && s < b.s + b.len; s += strlen(s) + 1)
		if (!strcmp(s, mark))
			return true;
	return false;
}

void fl_brun_end_leftovers(const char *state)
{
	_cleanup_free_ char *mark = fl_asprintf("FAULTLINE_RUN=%s", state);
	DIR *proc = opendir("/proc");
	struct dirent *d;

	while (proc && (d = readdir(proc))) {
		long pid = strtol(d->d_name, NULL, 10);

		if (pid > 0 && pid != getpid() && has_mark(d->d_name, mark))
			kill((pid_t)pid, SIGKILL);
	}
	if (proc)
		closedir(proc);
}

enum end { ENDED, TIMED_OUT, STOPPED };

static enum end wait_for(pid_t pid, const struct fl_brun_command *c,
			 int64_t start)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double s;

		if (poll(&p, 1, TICK_MS) > 0)
			return ENDED;
		s = (double)(fl_clock_mono_ms() - start) / 1000;
		if (stopped)
			return STOPPED;
		if (c->timeout_s > 0 && s >= c->timeout_s)
			return TIMED_OUT;
		if (c->tick)
			c->tick(s, c->arg);
	}
}

/* Its group first: an unreaped leader keeps the group's id from others. */
static int reap(pid_t pid)
{
	int status = 0;

	kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* The words of a failed run: what it said last on stderr, else on stdout. */
static char *last_words(const char *out, const char *log)
{
	_cleanup_buf_ struct fl_buf b = { 0 };
	_cleanup_free_ char *line = NULL;

	fl_fs_read_tail(log, 4096, &b, NULL);
	line = last_line(fl_buf_str(&b));
	if (!*line) {
		fl_buf_clear(&b);
		b = (struct fl_buf){ 0 };
		fl_fs_read_tail(out, 4096, &b, NULL);
		free(line);
		line = last_line(fl_buf_str(&b));
	}
	return *line ? quoted(line) : fl_strdup("");
}

static void judge(const struct fl_brun_command *c, enum end end, int status,
		  const char *out, const char *log, struct fl_brun_run *ret)
{
	_cleanup_free_ char *words = last_words(out, log);
	_cleanup_buf_ struct fl_buf text = { 0 };
	const char *colon = *words ? ": " : "";

	ret->value = NAN;
	if (end == TIMED_OUT) {
		ret->why = fl_asprintf("no end within %.6g s%s%s", c->timeout_s,
				       colon, words);
	} else if (WIFSIGNALED(status)) {
		ret->why = fl_asprintf("killed by signal %d (%s)%s%s",
				       WTERMSIG(status),
				       strsignal(WTERMSIG(status)), colon,
				       words);
	} else if (WEXITSTATUS(status)) {
		ret->never = WEXITSTATUS(status) == 125;
		ret->why = fl_asprintf("exit status %d%s%s",
				       WEXITSTATUS(status), colon, words);
	} else {
		fl_fs_read_tail(out, MAX_TAIL, &text, NULL);
		if (!fl_brun_parse(fl_buf_str(&text), &ret->value, ret->unit,
				   sizeof(ret->unit), &ret->why))
			ret->value = NAN;
	}
}

/* What a failed run said, kept under the name of its commit. */
static void keep_log(const struct fl_brun_command *c, const char *out,
		     const char *log)
{
	_cleanup_free_ char *path =
		fl_asprintf("%s/failed-%.12s.log", c->state, c->sha);
	_cleanup_buf_ struct fl_buf b = { 0 };

	fl_fs_read_tail(out, MAX_TAIL, &b, NULL);
	fl_fs_read_tail(log, MAX_TAIL, &b, NULL);
	unlink(path);
	if (b.len)
		fl_fs_write(path, fl_buf_str(&b), b.len, NULL);
}

int fl_brun_command(const struct fl_brun_command *c, struct fl_brun_run *ret,
		    struct fl_err *err)
{
	_cleanup_free_ char *out = fl_path_join(c->state, "stdout");
	_cleanup_free_ char *log = fl_path_join(c->state, "stderr");
	_cleanup_strv_ struct fl_strv env = { 0 };
	_cleanup_close_ int fd = -1;
	struct fl_proc_spec spec = { .argv = c->argv,
				     .dir = c->dir,
				     .log = log };
	int64_t start = fl_clock_mono_ms();
	struct fl_err start_err = { 0 };
	enum end end = ENDED;
	int r, status = 0;
	pid_t pid;

	unlink(log);
	unlink(out); /* an earlier run's child may still hold it */
	fd = open(out, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return fl_err_set(err, -errno, FL_E_INFRA,
				  "cannot write '%s': %s", out,
				  strerror(errno));
	environment(c, &env);
	spec.stdout_fd = fd;
	spec.env = env.s;
	r = fl_proc_spawn(&spec, &pid, &start_err);
	if (r == -ENOENT || r == -EACCES || r == -ENOTDIR || r == -ENOEXEC) {
		ret->value = NAN; /* this commit has no such program */
		ret->why = fl_strdup(start_err.text);
		ret->relative = c->argv[0][0] != '/' && strchr(c->argv[0], '/');
		return 0;
	}
	if (r < 0) {
		if (err)
			*err = start_err;
		return r;
	}
	end = wait_for(pid, c, start);
	if (end == ENDED)
		status = reap(pid);
	else
		fl_proc_kill(pid, GRACE_MS);
	ret->seconds = (double)(fl_clock_mono_ms() - start) / 1000;
	if (end == STOPPED)
		return -EINTR;
	judge(c, end, status, out, log, ret);
	if (ret->why)
		keep_log(c, out, log);
	return 0;
}
