// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of remotes: what may be shown, and which are on this machine. */
#include "internal.h"

#include <ctype.h>
#include <string.h>
#include "../util/fs.h"

char *fl_git_url_shown(const char *url)
{
	const char *host = strstr(url, "://"), *at, *colon;
	size_t n;

	if (!host)
		return fl_strdup(url);
	host += 3;
	n = strcspn(host, "/?#");
	at = memrchr(host, '@', n);
	colon = memchr(host, ':', n);
	if (!at || !colon || colon > at)
		return fl_strdup(url);
	return fl_asprintf("%.*s:***%s", (int)(colon - url), url, at);
}

static char *decode_percent(const char *s)
{
	char *out = fl_malloc(strlen(s) + 1), *o = out;

	for (; *s; s++) {
		if (s[0] == '%' && isxdigit((unsigned char)s[1]) &&
		    isxdigit((unsigned char)s[2])) {
			char two[3] = { s[1], s[2], '\0' };

			*o++ = (char)strtol(two, NULL, 16);
			s += 2;
		} else {
			*o++ = *s;
		}
	}
	*o = '\0';
	return out;
}

char *fl_git_url_path(const char *url)
{
	if (!strncmp(url, "file://", 7)) {
		url += 7;
		if (!strncmp(url, "localhost/", 10))
			url += 9;
		return decode_percent(url);
	}
	/* What does not exist may be "host:path". */
	if (!strstr(url, "://") && fl_fs_exists(url))
		return fl_strdup(url);
	return NULL;
}
