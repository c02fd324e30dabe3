/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sections of a benchmark in processes of their own. */
#ifndef FL_TESTS_SECTIONS_H
#define FL_TESTS_SECTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_SECTIONS 64

static inline void copy(FILE *from)
{
	char buf[4096];
	size_t n;

	rewind(from);
	while ((n = fread(buf, 1, sizeof(buf), from)) > 0)
		fwrite(buf, 1, n, stdout);
	fflush(stdout);
	fclose(from);
}

/* Two at a time; what each prints waits for its turn. */
static inline int run_sections(void (*const section[])(void), size_t n)
{
	FILE *out[MAX_SECTIONS];
	pid_t pid[MAX_SECTIONS];
	bool done[MAX_SECTIONS] = { false };
	size_t started = 0, ended = 0, shown = 0;
	int bad = 0, status;

	if (n > MAX_SECTIONS)
		return 1;
	while (ended < n) {
		if (started < n && started - ended < 2) {
			out[started] = tmpfile();
			pid[started] = out[started] ? fork() : -1;
			if (pid[started] < 0)
				return 1;
			if (!pid[started]) {
				dup2(fileno(out[started]), STDOUT_FILENO);
				section[started]();
				fflush(stdout);
				_exit(0);
			}
			started++;
			continue;
		}
		pid_t p = wait(&status);

		for (size_t i = 0; i < started; i++)
			done[i] |= pid[i] == p;
		bad |= status != 0;
		ended++;
		for (; shown < started && done[shown]; shown++)
			copy(out[shown]);
	}
	return bad;
}

#endif
