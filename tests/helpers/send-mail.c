// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * send-mail: the mail module on the command line, for the shell tests.
 *   send-mail compose KEY=VALUE…        the message to stdout
 *   send-mail send FILE KEY=VALUE…      "<fate> <reply>" to stdout
 * Keys: from to cc subject id reply date body attach (a file each for body
 * and attach), url user password ca tls timeout. to, cc, attach may repeat.
 */
#include <stdio.h>
#include <string.h>
#include "../../daemon/mail/mail.h"
#include "../../daemon/util/fs.h"

#define FILE_MAX ((size_t)64 << 20)

struct input {
	struct fl_mail mail;
	struct fl_smtp smtp;
	struct fl_strv to, cc, names, texts;
	char *body;
};

static char *slurp(const char *path)
{
	struct fl_buf b = { 0 };
	struct fl_err err;

	if (fl_fs_read(path, FILE_MAX, &b, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	return fl_buf_steal(&b);
}

static const char **string_slot(struct input *in, const char *key)
{
	const struct {
		const char *key;
		const char **slot;
	} slots[] = {
		{ "from", &in->mail.from },
		{ "subject", &in->mail.subject },
		{ "id", &in->mail.message_id },
		{ "reply", &in->mail.in_reply_to },
		{ "url", &in->smtp.url },
		{ "user", &in->smtp.user },
		{ "password", &in->smtp.password },
		{ "ca", &in->smtp.ca_file },
	};

	for (size_t i = 0; i < FL_ARRAY_SIZE(slots); i++)
		if (!strcmp(slots[i].key, key))
			return slots[i].slot;
	return NULL;
}

static void attach(struct input *in, const char *path)
{
	_cleanup_free_ char *text = slurp(path);
	const char *slash = strrchr(path, '/');

	fl_strv_add(&in->names, slash ? slash + 1 : path);
	fl_strv_add(&in->texts, text);
}

static void take(struct input *in, const char *key, const char *value)
{
	const char **slot = string_slot(in, key);

	if (slot) {
		*slot = value;
	} else if (!strcmp(key, "to")) {
		fl_strv_add(&in->to, value);
	} else if (!strcmp(key, "cc")) {
		fl_strv_add(&in->cc, value);
	} else if (!strcmp(key, "attach")) {
		attach(in, value);
	} else if (!strcmp(key, "body")) {
		free(in->body);
		in->body = slurp(value);
	} else if (!strcmp(key, "date")) {
		in->mail.date = strtoll(value, NULL, 10);
	} else if (!strcmp(key, "timeout")) {
		in->smtp.timeout_s = strtol(value, NULL, 10);
	} else if (!strcmp(key, "tls")) {
		in->smtp.require_tls = true;
	} else {
		fprintf(stderr, "unknown key '%s'\n", key);
		exit(2);
	}
}

static int compose(struct input *in)
{
	_cleanup_buf_ struct fl_buf out = { 0 };
	struct fl_err err;

	in->mail.to = &in->to;
	in->mail.cc = &in->cc;
	in->mail.body = in->body ? in->body : "";
	in->mail.attach_names = (const char *const *)in->names.s;
	in->mail.attach_texts = (const char *const *)in->texts.s;
	in->mail.nattach = in->names.n;
	if (fl_mail_compose(&in->mail, &out, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	return fwrite(out.s, 1, out.len, stdout) == out.len ? 0 : 1;
}

static int transmit(const struct input *in, const char *path)
{
	_cleanup_free_ char *message = slurp(path);
	_cleanup_strv_ struct fl_strv rcpt = { 0 };
	_cleanup_free_ char *reply = NULL;
	enum fl_send_fate fate;

	fl_strv_extend(&rcpt, &in->to);
	fl_strv_extend(&rcpt, &in->cc);
	fate = fl_mail_send(&in->smtp, in->mail.from, &rcpt, message,
			    strlen(message), &reply);
	printf("%s %s\n", fl_send_fate_str(fate), reply);
	return 0;
}

int main(int argc, char **argv)
{
	bool send = argc > 2 && !strcmp(argv[1], "send");
	struct input in = { .mail = { .from = "Faultline <fl@example.org>",
				      .subject = "test",
				      .message_id = "1.abc@example.org" } };
	int r;

	if (!send && (argc < 2 || strcmp(argv[1], "compose") != 0)) {
		fputs("usage: send-mail compose|send FILE KEY=VALUE...\n",
		      stderr);
		return 2;
	}
	for (int i = send ? 3 : 2; i < argc; i++) {
		char *eq = strchr(argv[i], '=');

		if (eq)
			*eq = '\0';
		take(&in, argv[i], eq ? eq + 1 : "");
	}
	r = send ? transmit(&in, argv[2]) : compose(&in);
	free(in.body);
	fl_strv_clear(&in.to);
	fl_strv_clear(&in.cc);
	fl_strv_clear(&in.names);
	fl_strv_clear(&in.texts);
	return r;
}
