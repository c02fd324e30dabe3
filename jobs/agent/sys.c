// SPDX-License-Identifier: GPL-2.0-only
/* Small readers and writers of /proc and /sys; see agent.h. */
#include "agent.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool fl_sys_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return ok;
}

const char *fl_sys_line(const char *path, char *out, size_t n)
{
	FILE *f = fopen(path, "re");

	out[0] = '\0';
	if (f) {
		if (!fgets(out, (int)n, f))
			out[0] = '\0';
		fclose(f);
	}
	out[strcspn(out, "\n")] = '\0';
	return out;
}

int64_t fl_sys_value(const char *path, const char *key)
{
	FILE *f = fopen(path, "re");
	size_t n = strlen(key);
	char line[256];
	int64_t v = -1;

	while (f && v < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && strchr(" \t:", line[n]))
			v = strtoll(line + n + strspn(line + n, " \t:"), NULL,
				    10);
	if (f)
		fclose(f);
	return v;
}
