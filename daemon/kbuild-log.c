// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads build logs: which line says why a kernel does not build, and whether
 * it is the machine rather than the tree that is at fault. Pure; the log is
 * other people's text, so what is returned is bounded and printable.
 */
#include "kbuild-internal.h"

#include <ctype.h>
#include <string.h>

#define MAX_REASON 300

/* A message of a tool starts in column one; quoted source and notes do not. */
static bool is_message(const char *line)
{
	return *line && !isspace((unsigned char)*line);
}

static bool has(const char *line, const char *what)
{
	return strstr(line, what) != NULL;
}

/* Compiler, assembler, linker, objtool, modpost and kconfig name the fault. */
static bool names_fault(const char *line)
{
	static const char *const words[] = {
		": error:",
		":error:",
		": fatal error:",
		": Error:",
		"undefined reference to",
		"multiple definition of",
		"ERROR: ",
		"error: objtool",
		"objtool: error",
		"relocation truncated to fit",
		"syntax error",
		"internal compiler error",
		"cannot find -l",
		": cannot open linker script",
		"can't open file",
		"unrecognized command-line option",
		"unrecognized option",
	};

	if (!is_message(line))
		return false;
	if (!strncmp(line, "error:", 6) || !strncmp(line, "ERROR:", 6))
		return true;
	for (size_t i = 0; i < FL_ARRAY_SIZE(words); i++)
		if (has(line, words[i]))
			return true;
	return false;
}

/* Make's own complaint, unless it only counts the errors of others. */
static bool make_says_more(const char *line)
{
	return has(line, " *** ") &&
	       (has(line, "No rule to make target") || !has(line, "] Error "));
}

static bool make_gave_up(const char *line)
{
	return has(line, " *** ");
}

/* Cuts the sandbox's own paths and "../" in front of a source path. */
static void shorten(char *s)
{
	static const char *const cut[] = { FL_KBUILD_SRC "/",
					   FL_KBUILD_OUT "/" };
	size_t up = 0;

	for (size_t i = 0; i < FL_ARRAY_SIZE(cut); i++) {
		size_t n = strlen(cut[i]);
		char *hit;

		while ((hit = strstr(s, cut[i])))
			memmove(hit, hit + n, strlen(hit + n) + 1);
	}
	while (!strncmp(s + up, "../", 3))
		up += 3;
	memmove(s, s + up, strlen(s + up) + 1);
}

/* Bounded, without control bytes or the trailing blanks of a terminal. */
static char *clean(const char *line, size_t n)
{
	char *s = fl_strndup(line, n);
	size_t len;

	for (char *p = s; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = ' ';
	shorten(s);
	len = strlen(s);
	if (len > MAX_REASON) /* not in the middle of a UTF-8 character */
		for (len = MAX_REASON; len && (s[len] & 0xc0) == 0x80; len--)
			;
	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	s[len] = '\0';
	return s;
}

/* The first line of the log for which test holds; heap or NULL. */
static char *first_line(const char *log, bool (*test)(const char *line))
{
	while (*log) {
		size_t n = strcspn(log, "\n");
		_cleanup_free_ char *line = fl_strndup(log, n);

		if (test(line))
			return clean(line, n);
		log += n + (log[n] == '\n');
	}
	return NULL;
}

char *fl_kbuild_first_error(const char *log)
{
	static bool (*const tests[])(const char *) = {
		names_fault,
		make_says_more,
		make_gave_up,
	};
	size_t end = strlen(log), start;

	for (size_t i = 0; i < FL_ARRAY_SIZE(tests); i++) {
		char *s = first_line(log, tests[i]);

		if (s)
			return s;
	}
	/* Nothing known: the last line is better than nothing. */
	while (end && log[end - 1] == '\n')
		end--;
	start = end;
	while (start && log[start - 1] != '\n')
		start--;
	return clean(log + start, end - start);
}

static bool is_machine_trouble(const char *line)
{
	static const char *const words[] = {
		"No space left on device",
		"Disk quota exceeded",
		"Read-only file system",
		"Cannot allocate memory",
		"virtual memory exhausted",
		"out of memory allocating",
		"Killed signal terminated program",
		"Input/output error",
		"Too many open files",
	};

	if (!strncmp(line, "bwrap: ", 7))
		return true;
	/* "/bin/sh: 1: flex: not found": a host tool, not the kernel */
	if (!strncmp(line, "/bin/sh: ", 9) && has(line, ": not found"))
		return true;
	for (size_t i = 0; is_message(line) && i < FL_ARRAY_SIZE(words); i++)
		if (has(line, words[i]))
			return true;
	return false;
}

char *fl_kbuild_machine_trouble(const char *log)
{
	return first_line(log, is_machine_trouble);
}
