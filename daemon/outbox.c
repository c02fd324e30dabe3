// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The outbox: held, approved, sending, sent; rejected by a person; unknown
 * when the line broke between the last dot and the server's answer. A report
 * in `sending` after a kill is unknown too: it is never sent twice by itself.
 */
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include "mail/mail.h"
#include "util/fs.h"
#include "util/log.h"

#define SMTP_TIMEOUT_S 60
#define MAX_PASSWORD 4096

int fl_outbox_write(const struct fl_conf *c, const struct fl_report *r,
		    bool replace, struct fl_err *err)
{
	_cleanup_free_ char *path = fl_path_join(c->dir, r->file);
	_cleanup_free_ char *dir = fl_strdup(path);
	int e;

	if (!replace && fl_fs_exists(path))
		return 0;
	*strrchr(dir, '/') = '\0';
	e = fl_fs_mkdirs(dir, err);
	return e < 0 ? e :
		       fl_fs_write(path, r->message, strlen(r->message), err);
}

/*
 * One sender at a time in a workspace. The lock goes with its holder, so
 * whoever has it knows that a report in `sending` was left by a kill.
 */
static int lock(const struct fl_conf *c, int *fd, struct fl_err *err)
{
	_cleanup_free_ char *path = fl_path_join(c->dir, "var/send.lock");

	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (*fd >= 0 && !flock(*fd, LOCK_EX | LOCK_NB))
		return 0;
	return fl_err_set(err, -errno, FL_E_USER,
			  errno == EWOULDBLOCK ?
				  "another 'report send' is at work here" :
				  "cannot lock '%s': %s",
			  path, strerror(errno));
}

static int move(struct fl_store *s, int64_t id, const char *from,
		const char *to, const char *why, struct fl_err *err)
{
	_cleanup_(fl_report_clear) struct fl_report r = { 0 };
	int e = fl_store_report_by_id(s, id, &r, err);

	if (!e)
		e = fl_store_report_move(s, id, from, to, why, err);
	if (!e)
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "report %lld is %s, not %s", (long long)id,
				  r.state, from);
	return e < 0 ? e : 0;
}

int fl_outbox_approve(struct fl_store *s, int64_t id, struct fl_err *err)
{
	return move(s, id, "held", "approved", "", err);
}

int fl_outbox_reject(struct fl_store *s, int64_t id, const char *why,
		     struct fl_err *err)
{
	int e = fl_store_report_move(s, id, "approved", "rejected", why, err);

	if (e)
		return e < 0 ? e : 0;
	return move(s, id, "held", "rejected", why, err);
}

int fl_outbox_settle(struct fl_store *s, int64_t id, bool arrived,
		     struct fl_err *err)
{
	return move(s, id, "unknown", arrived ? "sent" : "approved",
		    arrived ? "a person says that it arrived" : "", err);
}

static int read_password(const struct fl_conf *c, char **ret,
			 struct fl_err *err)
{
	_cleanup_buf_ struct fl_buf text = { 0 };
	int r;

	*ret = NULL;
	if (!c->smtp_password_file)
		return 0;
	r = fl_fs_read(c->smtp_password_file, MAX_PASSWORD, &text, err);
	if (r < 0)
		return r;
	*ret = fl_buf_steal(&text);
	(*ret)[strcspn(*ret, "\r\n")] = '\0';
	return 0;
}

static int envelope(struct fl_store *s, int64_t id, struct fl_strv *rcpt,
		    struct fl_err *err)
{
	json_auto_t *rows = NULL;
	json_t *v;
	size_t i;
	int r = fl_store_rows(s, FL_ROWS_RECIPIENTS, &rows, err, "i", id);

	json_array_foreach(rows, i, v) {
		char *a = fl_mail_address(fl_json_str_or(v, "mailbox", ""));

		if (a)
			fl_strv_add(rcpt, a);
		free(a);
	}
	if (!r && !rcpt->n)
		r = fl_err_set(err, -EINVAL, FL_E_USER,
			       "report %lld has no recipient; set mail.to",
			       (long long)id);
	return r;
}

/* What the fate of the sending means for the report's state. */
static const char *state_after(enum fl_send_fate fate)
{
	switch (fate) {
	case FL_SEND_SENT:
		return "sent";
	case FL_SEND_TEMPFAIL:
		return "approved";
	case FL_SEND_REJECTED:
		return "held";
	case FL_SEND_UNKNOWN:
		break;
	}
	return "unknown";
}

static int send_smtp(const struct fl_conf *c, struct fl_store *s,
		     const struct fl_report *r, char **outcome,
		     struct fl_err *err)
{
	_cleanup_strv_ struct fl_strv rcpt = { 0 };
	_cleanup_free_ char *from = fl_mail_address(r->mail_from);
	_cleanup_free_ char *password = NULL, *reply = NULL;
	struct fl_smtp smtp = { .url = c->smtp,
				.user = c->smtp_user,
				.require_tls = c->smtp_starttls,
				.timeout_s = SMTP_TIMEOUT_S };
	enum fl_send_fate fate;
	int e = envelope(s, r->id, &rcpt, err);

	if (!e)
		e = read_password(c, &password, err);
	smtp.password = password;
	if (!e)
		e = move(s, r->id, "approved", "sending", "", err);
	if (e < 0)
		return e;
	fate = fl_mail_send(&smtp, from ? from : r->mail_from, &rcpt,
			    r->message, strlen(r->message), &reply);
	e = move(s, r->id, "sending", state_after(fate), reply, err);
	if (e < 0)
		return e;
	*outcome = fl_asprintf("%s: %s", fl_send_fate_str(fate), reply);
	return fate == FL_SEND_SENT ?
		       0 :
		       fl_err_set(err, -EIO, FL_E_INFRA,
				  "report %lld was not sent (%s): %s",
				  (long long)r->id, fl_send_fate_str(fate),
				  reply);
}

int fl_outbox_send(const struct fl_conf *c, struct fl_store *s, int64_t id,
		   char **outcome, struct fl_err *err)
{
	_cleanup_(fl_report_clear) struct fl_report r = { 0 };
	_cleanup_close_ int fd = -1;
	int e = lock(c, &fd, err);

	if (!e)
		e = fl_store_report_by_id(s, id, &r, err);
	if (!e && !strcmp(r.state, "sending")) {
		e = move(s, id, "sending", "unknown",
			 "the sender was killed while it was at it", err);
		if (!e)
			e = fl_store_report_reload(s, &r, err);
	}
	if (e < 0 || !r.state)
		return e;
	if (!strcmp(r.state, "unknown"))
		return fl_err_set(
			err, -EINVAL, FL_E_USER,
			"nobody knows whether report %lld arrived: %s; look for <%s>, then 'faultline report mark-sent %lld' or 'report resend %lld'",
			(long long)id, r.reason, r.message_id, (long long)id,
			(long long)id);
	if (!strcmp(r.state, "held"))
		return fl_err_set(
			err, -EPERM, FL_E_USER,
			"report %lld is held; read it with 'faultline report show %lld', then 'faultline report approve %lld'",
			(long long)id, (long long)id, (long long)id);
	if (strcmp(r.state, "approved"))
		return fl_err_set(err, -EINVAL, FL_E_USER,
				  "report %lld is %s, not approved",
				  (long long)id, r.state);
	if (c->smtp)
		return send_smtp(c, s, &r, outcome, err);
	e = fl_outbox_write(c, &r, false, err);
	if (!e)
		e = move(s, id, "approved", "sent", "left in the outbox", err);
	if (!e)
		*outcome = fl_asprintf(
			"no mail server is configured: the mail is '%s'",
			r.file);
	return e;
}
