// SPDX-License-Identifier: GPL-2.0-or-later
/* Listings: rows as JSON, or as a table whose columns fit their texts. */
#include "cli.h"

#include <math.h>
#include <string.h>
#include "util/buf.h"
#include "util/clock.h"

#define MAX_CELL 60

void fl_cli_print_json(const json_t *j)
{
	json_dumpf(j, stdout, JSON_INDENT(2));
	putchar('\n');
}

void fl_cli_safe(const char *text)
{
	_cleanup_free_ char *plain = fl_strdup(text);

	fl_text_plain(plain, "");
	fputs(plain, stdout);
}

static char *cell(const json_t *v, char form)
{
	struct fl_buf b = { 0 };
	double d = json_is_number(v) ? json_number_value(v) : NAN;
	char text[32];

	if (json_is_null(v) || !v) {
		fl_buf_puts(&b, "-");
	} else if (json_is_string(v)) {
		_cleanup_free_ char *s = fl_strdup(json_string_value(v));

		fl_text_plain(s, "");
		if (form == 'h' && strlen(s) > 12) {
			fl_buf_add(&b, s, 12);
		} else if (strlen(s) > MAX_CELL) {
			size_t n = MAX_CELL - 3;

			while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
				n--; /* not in the middle of a character */
			fl_buf_add(&b, s, n);
			fl_buf_puts(&b, "...");
		} else {
			fl_buf_puts(&b, *s ? s : "-");
		}
	} else if (form == 't') {
		fl_buf_puts(&b,
			    fl_clock_format((int64_t)d, text, sizeof(text)));
	} else if (form == 'd') {
		fl_buf_puts(&b, fl_clock_span(d, text, sizeof(text)));
	} else if (form == '%') {
		fl_buf_printf(&b,
			      fabs(100 * expm1(d)) < 1 ? "%+.3f%%" : "%+.1f%%",
			      100 * expm1(d));
	} else if (json_is_integer(v)) {
		fl_buf_printf(&b, "%lld", (long long)json_integer_value(v));
	} else {
		fl_buf_printf(&b, "%.7g", d);
	}
	return fl_buf_steal(&b);
}

/* Columns on the terminal: bytes that start a character. */
static int width_of(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void put(const char *text, int width, bool right, bool last)
{
	int pad = width - width_of(text);

	if (right)
		printf("%*s", pad, "");
	fputs(text, stdout);
	if (!right && !last)
		printf("%*s", pad, "");
	fputs(last ? "\n" : "  ", stdout);
}

void fl_cli_print(const struct fl_cli *cli, const json_t *rows,
		  const struct fl_column *columns, size_t n, const char *none)
{
	size_t nrows = json_array_size(rows);
	char **cells = fl_calloc(n * (nrows + 1), sizeof(*cells));
	int width[32] = { 0 };

	if (cli->json) {
		fl_cli_print_json(rows);
		free(cells);
		return;
	}
	if (!nrows)
		printf("%s\n", none);
	for (size_t r = 0; nrows && r <= nrows; r++) {
		for (size_t c = 0; c < n; c++) {
			const json_t *row = r ? json_array_get(rows, r - 1) :
						NULL;

			cells[r * n + c] =
				r ? cell(json_object_get(row, columns[c].key),
					 columns[c].form) :
				    fl_strdup(columns[c].title);
			if (width_of(cells[r * n + c]) > width[c])
				width[c] = width_of(cells[r * n + c]);
		}
	}
	for (size_t i = 0; nrows && i < n * (nrows + 1); i++) {
		size_t c = i % n;

		put(cells[i], width[c], strchr("igd%", columns[c].form) != NULL,
		    c + 1 == n);
		free(cells[i]);
	}
	free(cells);
}

int fl_cli_list(struct fl_cli *cli, enum fl_rows what,
		const struct fl_column *columns, size_t n, const char *none,
		struct fl_err *err)
{
	json_auto_t *rows = NULL;
	int r = fl_cli_open(cli, err);

	if (!r)
		r = fl_store_rows(cli->store, what, &rows, err, "");
	if (!r)
		fl_cli_print(cli, rows, columns, n, none);
	return r;
}
