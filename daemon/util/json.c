// SPDX-License-Identifier: GPL-2.0-or-later
/* See json.h. */
#include "json.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include "fs.h"

int fl_json_load(const char *path, size_t max, json_t **ret, struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	json_error_t je;
	json_t *j;
	int r = fl_fs_read(path, max, &text, err);

	if (r < 0)
		return r;
	j = json_loadb(fl_buf_str(&text), text.len, JSON_REJECT_DUPLICATES,
		       &je);
	if (!j)
		return fl_err_set(err, -EINVAL, FL_E_USER, "'%s' line %d: %s",
				  path, je.line, je.text);
	*ret = j;
	return 0;
}

int fl_json_save(const char *path, const json_t *j, struct fl_err *err)
{
	_cleanup_free_ char *text = json_dumps(
		j, JSON_SORT_KEYS | JSON_INDENT(2) | JSON_ENCODE_ANY);
	_cleanup_free_ char *line = NULL;

	if (!text)
		return fl_err_set(err, -EINVAL, FL_E_BUG,
				  "cannot write JSON for '%s'", path);
	line = fl_asprintf("%s\n", text);
	return fl_fs_write(path, line, strlen(line), err);
}

char *fl_json_text(const json_t *j)
{
	char *s =
		json_dumps(j, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);

	return s ? s : fl_strdup("null");
}

static int bad(struct fl_err *err, const char *path, const char *key,
	       const char *want)
{
	return fl_err_set(err, -EINVAL, FL_E_USER, "%s%s%s: expected %s", path,
			  *path ? "." : "", key, want);
}

int fl_json_str(const json_t *obj, const char *key, const char *path,
		const char **ret, struct fl_err *err)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_string(v))
		return bad(err, path, key, "a string");
	*ret = json_string_value(v);
	return 0;
}

int fl_json_int(const json_t *obj, const char *key, const char *path,
		int64_t min, int64_t max, int64_t *ret, struct fl_err *err)
{
	const json_t *v = json_object_get(obj, key);
	int64_t i = json_integer_value(v);

	if (!json_is_integer(v) || i < min || i > max)
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"%s%s%s: expected a whole number from %lld to %lld",
			path, *path ? "." : "", key, (long long)min,
			(long long)max);
	*ret = i;
	return 0;
}

int fl_json_num(const json_t *obj, const char *key, const char *path,
		double *ret, struct fl_err *err)
{
	const json_t *v = json_object_get(obj, key);

	if (!json_is_number(v) || !isfinite(json_number_value(v)))
		return bad(err, path, key, "a number");
	*ret = json_number_value(v);
	return 0;
}

const char *fl_json_str_or(const json_t *obj, const char *key, const char *d)
{
	const char *s = json_string_value(json_object_get(obj, key));

	return s ? s : d;
}

int64_t fl_json_int_or(const json_t *obj, const char *key, int64_t d)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_integer(v) ? json_integer_value(v) : d;
}

double fl_json_num_or(const json_t *obj, const char *key, double d)
{
	const json_t *v = json_object_get(obj, key);

	return json_is_number(v) ? json_number_value(v) : d;
}

int fl_json_only(const json_t *obj, const char *path, const char *const *known,
		 struct fl_err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(obj))
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "%s: expected an object",
				  *path ? path : "top level");
	json_object_foreach((json_t *)obj, key, v) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return fl_err_set(err, -EINVAL, FL_E_USER,
					  "%s%s%s: unknown key", path,
					  *path ? "." : "", key);
	}
	return 0;
}

json_t *fl_json_text_value(const char *bytes, size_t n)
{
	_cleanup_buf_ struct fl_buf out = { 0 };

	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)bytes[i];
		size_t len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
		json_t *probe = NULL;

		if (c && i + len <= n)
			probe = json_stringn(bytes + i, len);
		if (probe) {
			fl_buf_add(&out, bytes + i, len);
			json_decref(probe);
			i += len;
		} else {
			fl_buf_puts(&out, "\xef\xbf\xbd");
			i++;
		}
	}
	return json_stringn(fl_buf_str(&out), out.len);
}
