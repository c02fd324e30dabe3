// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes reports: the row with the whole message, and its recipients. */
#include "report.h"

#include <errno.h>
#include <string.h>
#include "mail/mail.h"
#include "util/clock.h"
#include "util/fs.h"
#include "util/log.h"

#define MAX_CONFIG (4u << 20)

/* "Link: https://lore.kernel.org/…/<id>/" -> id: the patch's own posting. */
static char *thread_of(const char *message)
{
	static const char *const hosts[] = { "https://lore.kernel.org/",
					     "https://patch.msgid.link/" };
	const char *p = message;

	while ((p = strstr(p, "\nLink: "))) {
		const char *url = p + strlen("\nLink: ");
		size_t len = strcspn(url, " \t\r\n");

		p = url;
		for (size_t i = 0; i < FL_ARRAY_SIZE(hosts); i++) {
			_cleanup_free_ char *link = fl_strndup(url, len);
			char *id;

			if (strncmp(link, hosts[i], strlen(hosts[i])))
				continue;
			while (len && link[len - 1] == '/')
				link[--len] = '\0';
			id = strrchr(link, '/') + 1;
			if (strchr(id, '@') && !strpbrk(id, "<>%\"\\"))
				return fl_strdup(id);
		}
	}
	return NULL;
}

struct addresses {
	struct fl_strv to, cc;
};

static void addresses_clear(struct addresses *a)
{
	fl_strv_clear(&a->to);
	fl_strv_clear(&a->cc);
}

static int add_recipient(struct fl_store *s, int64_t report, bool to,
			 struct addresses *a, const char *mailbox,
			 const char *why, struct fl_err *err)
{
	struct fl_strv *list = to ? &a->to : &a->cc;

	if (fl_strv_has(&a->to, mailbox) || fl_strv_has(&a->cc, mailbox))
		return 0;
	fl_strv_add(list, mailbox);
	return report ? fl_store_recipient(s, report, to ? "to" : "cc", mailbox,
					   why, err) :
			0;
}

/* report 0: only fill a, to compose; else write the rows too. */
static int recipients(const struct fl_conf *c, struct fl_store *s,
		      const struct fl_report_data *d, int64_t report,
		      struct addresses *a, struct fl_err *err)
{
	_cleanup_free_ char *author = fl_asprintf(
		"%s <%s>", fl_json_str_or(d->culprit, "author_name", ""),
		fl_json_str_or(d->culprit, "author_email", ""));
	_cleanup_free_ char *bare = fl_mail_address(author);
	int r = 0;

	if (bare)
		r = add_recipient(s, report, true, a, author,
				  "author of the commit", err);
	for (size_t i = 0; !r && i < c->mail_to.n; i++)
		r = add_recipient(s, report, true, a, c->mail_to.s[i],
				  "mail.to of the configuration", err);
	for (size_t i = 0; !r && i < c->mail_cc.n; i++)
		r = add_recipient(s, report, false, a, c->mail_cc.s[i],
				  "mail.cc of the configuration", err);
	return r;
}

static int compose(struct fl_plan *p, const struct fl_report_data *d,
		   struct fl_report *r, struct fl_err *err)
{
	_cleanup_(addresses_clear) struct addresses a = { 0 };
	_cleanup_buf_ struct fl_buf config = { 0 }, message = { 0 };
	_cleanup_free_ char *thread =
		thread_of(fl_json_str_or(d->culprit, "message", ""));
	_cleanup_free_ char *path =
		fl_asprintf("%s/%s/config", p->conf->dir,
			    fl_json_str_or(d->config, "dir", ""));
	const char *const name[] = { "kernel-config.txt" };
	const char *text[] = { NULL };
	struct fl_mail m = {
		.from = r->mail_from,
		.to = &a.to,
		.cc = &a.cc,
		.subject = r->subject,
		.message_id = r->message_id,
		.in_reply_to = thread,
		.date = r->created,
		.body = r->body,
		.attach_names = name,
		.attach_texts = text,
	};
	int e = recipients(p->conf, p->store, d, 0, &a, err);

	if (e < 0)
		return e;
	/* A missing config is a poorer mail, not a reason for none. */
	if (!fl_fs_read(path, MAX_CONFIG, &config, NULL) && config.len) {
		text[0] = fl_buf_str(&config);
		m.nattach = 1;
	}
	e = fl_mail_compose(&m, &message, err);
	if (!e)
		r->message = fl_buf_steal(&message);
	return e;
}

static int write_rows(struct fl_plan *p, const struct fl_report_data *d,
		      struct fl_report *r, struct fl_err *err)
{
	_cleanup_(addresses_clear) struct addresses a = { 0 };
	int e = fl_store_begin(p->store, err);

	if (e < 0)
		return e;
	e = fl_store_report_new(p->store, r, err);
	if (!e)
		e = recipients(p->conf, p->store, d, r->id, &a, err);
	if (e < 0) {
		fl_store_rollback(p->store);
		return e;
	}
	return fl_store_commit(p->store, err);
}

static int make(struct fl_plan *p, int64_t bisection_id, struct fl_err *err)
{
	_cleanup_(fl_report_data_clear) struct fl_report_data d = { 0 };
	_cleanup_(fl_report_clear) struct fl_report r = {
		.bisection_id = bisection_id,
		.created = fl_clock_now(),
		.mail_from = fl_strdup(p->conf->mail_from),
	};
	int e = fl_report_data_load(p->store, bisection_id, &d, err);

	if (e < 0)
		return e;
	r.message_id = fl_mail_message_id(r.mail_from);
	r.subject = fl_report_subject(&d);
	r.body = fl_report_body(&d);
	/* Guests and compilers have a say in it too. */
	fl_text_plain(r.subject, "");
	fl_text_plain(r.body, "\n");
	r.file = fl_asprintf("var/outbox/%.12s-%lld.eml",
			     fl_json_str_or(d.culprit, "sha", ""),
			     (long long)bisection_id);
	e = compose(p, &d, &r, err);
	if (!e)
		e = write_rows(p, &d, &r, err);
	if (e < 0)
		return fl_err_prefix(err, "report of bisection %lld",
				     (long long)bisection_id);
	fl_info("report %lld: %s", (long long)r.id, r.subject);
	/* One of the same name is from before a kill: it has no row. */
	e = fl_outbox_write(p->conf, &r, true, err);
	return e < 0 ? e : FL_READY;
}

int fl_report_make(struct fl_plan *p, int64_t bisection_id, struct fl_err *err)
{
	_cleanup_(fl_bisection_clear) struct fl_bisection b = { 0 };
	_cleanup_(fl_report_clear) struct fl_report known = { 0 };
	json_auto_t *same = NULL;
	int r = fl_store_bisection_by_id(p->store, bisection_id, &b, err);

	if (r < 0 || strcmp(b.status, "found"))
		return r < 0 ? r : FL_READY;
	r = fl_store_report_of(p->store, bisection_id, &known, err);
	if (r < 0)
		return r;
	if (r) {
		r = fl_outbox_write(p->conf, &known, false, err);
		return r < 0 ? r : FL_READY;
	}
	r = fl_store_rows(p->store, FL_ROWS_SAME_CULPRIT, &same, err, "i",
			  bisection_id);
	if (r < 0 || json_array_size(same))
		return r < 0 ? r : FL_READY;
	return make(p, bisection_id, err);
}
