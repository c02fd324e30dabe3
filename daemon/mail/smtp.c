// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One SMTP transaction over libcurl. What matters is the fate: a mail must
 * never go out twice, so once the end of the text may have reached the
 * server, only a reply decides; before that, every failure is harmless.
 * curl's own code does not tell the two apart, so the dialogue is watched.
 */
#include "mail.h"

#include <curl/curl.h>
#include <string.h>
#include "header.h"

#define REPLY_MAX 500
#define DEFAULT_TIMEOUT_S 300L /* RFC 5321 section 4.5.3.2 */

struct dialogue {
	const char *text;
	size_t n, pos;
	bool read_to_end; /* curl asked for more than there is */
	bool in_data; /* the server said 354 */
	bool over; /* QUIT is out: what follows answers that */
	int code; /* of the last command's reply; 0 = none yet */
	int final_code; /* of the reply to the text; 0 = none */
	struct fl_buf command; /* last envelope command: never a password */
	struct fl_buf reply; /* to the last command */
};

const char *fl_send_fate_str(enum fl_send_fate f)
{
	switch (f) {
	case FL_SEND_SENT:
		return "sent";
	case FL_SEND_TEMPFAIL:
		return "tempfail";
	case FL_SEND_REJECTED:
		return "rejected";
	case FL_SEND_UNKNOWN:
		return "unknown";
	}
	return "?";
}

static size_t feed(char *to, size_t size, size_t count, void *userp)
{
	struct dialogue *d = userp;
	size_t n = size * count;

	if (n > d->n - d->pos)
		n = d->n - d->pos;
	memcpy(to, d->text + d->pos, n);
	d->pos += n;
	d->read_to_end = d->read_to_end || !n;
	return n;
}

/* Keeps printable text only: it ends up in a row and on terminals. */
static void add_visible(struct fl_buf *b, const char *s, size_t n)
{
	while (n && (s[n - 1] == '\r' || s[n - 1] == '\n'))
		n--;
	if (b->len && n)
		fl_buf_puts(b, " / ");
	for (size_t i = 0; i < n && b->len < REPLY_MAX; i++) {
		bool control = (unsigned char)s[i] < ' ' || s[i] == 0x7f;

		fl_buf_puts(b, control ? "?" : (char[]){ s[i], '\0' });
	}
}

static void on_command(struct dialogue *d, const char *s, size_t n)
{
	bool envelope = (n > 8 && !strncmp(s, "RCPT TO:", 8)) ||
			(n > 10 && !strncmp(s, "MAIL FROM:", 10));

	d->code = 0;
	fl_buf_clear(&d->reply);
	fl_buf_clear(&d->command);
	if (envelope)
		add_visible(&d->command, s, n);
}

static void on_reply(struct dialogue *d, const char *s, size_t n)
{
	int code = 0;

	for (size_t i = 0; i < 3 && i < n && s[i] >= '0' && s[i] <= '9'; i++)
		code = code * 10 + s[i] - '0';
	add_visible(&d->reply, s, n);
	if (code < 100 || (n > 3 && s[3] == '-'))
		return; /* a line in the middle of a reply */
	d->code = code;
	if (d->in_data && !d->final_code)
		d->final_code = code;
	if (code == 354) {
		d->in_data = true;
		fl_buf_clear(&d->reply);
	}
}

static int watch(CURL *curl _unused_, curl_infotype type, char *s, size_t n,
		 void *userp)
{
	struct dialogue *d = userp;

	if (type == CURLINFO_HEADER_OUT && n >= 4 && !strncmp(s, "QUIT", 4))
		d->over = true;
	if (d->over)
		return 0;
	if (type == CURLINFO_HEADER_OUT)
		on_command(d, s, n);
	else if (type == CURLINFO_HEADER_IN)
		on_reply(d, s, n);
	return 0;
}

/* Mistakes of the configuration: trying again later cannot help. */
static bool is_misconfigured(CURLcode rc)
{
	switch (rc) {
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_URL_MALFORMAT:
	case CURLE_LOGIN_DENIED:
	case CURLE_SSL_CACERT_BADFILE:
		return true;
	default:
		return false;
	}
}

/*
 * The end-of-text mark goes out only when curl has written all bytes before
 * it. Whether it asks once more for data differs between versions; the count
 * of bytes written covers the other case, and errs to "may have gone out".
 */
static bool may_have_ended(CURL *curl, const struct dialogue *d)
{
	curl_off_t sent = 0;

	if (!d->in_data || d->pos < d->n)
		return false;
	curl_easy_getinfo(curl, CURLINFO_SIZE_UPLOAD_T, &sent);
	return d->read_to_end || sent >= (curl_off_t)d->n;
}

static enum fl_send_fate fate_of(CURL *curl, CURLcode rc,
				 const struct dialogue *d)
{
	switch (d->final_code / 100) {
	case 2:
		return FL_SEND_SENT;
	case 4:
		return FL_SEND_TEMPFAIL;
	case 5:
		return FL_SEND_REJECTED;
	}
	if (!rc || may_have_ended(curl, d))
		return FL_SEND_UNKNOWN;
	if (d->code / 100 == 4)
		return FL_SEND_TEMPFAIL;
	if (d->code / 100 == 5 || is_misconfigured(rc))
		return FL_SEND_REJECTED;
	return FL_SEND_TEMPFAIL;
}

static char *reply_text(const struct dialogue *d, CURLcode rc,
			const char *curl_words)
{
	_cleanup_buf_ struct fl_buf b = { 0 };

	if (d->command.len && d->code >= 400)
		fl_buf_printf(&b, "%s: ", d->command.s);
	if (d->reply.len && (d->final_code || d->code >= 400))
		fl_buf_puts(&b, d->reply.s);
	else if (*curl_words)
		fl_buf_puts(&b, curl_words);
	else
		fl_buf_puts(&b, curl_easy_strerror(rc));
	return fl_mail_utf8(fl_buf_str(&b));
}

/*
 * TLS: certificates are checked when TLS is required or a password is at
 * stake; otherwise encryption is opportunistic, as between mail servers, and
 * a self-signed local server is still better than plain text.
 */
static void set_security(CURL *curl, const struct fl_smtp *smtp)
{
	bool checked = smtp->require_tls || smtp->user ||
		       !strncasecmp(smtp->url, "smtps:", 6);

	curl_easy_setopt(curl, CURLOPT_USE_SSL,
			 smtp->require_tls ? (long)CURLUSESSL_ALL :
					     (long)CURLUSESSL_TRY);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, checked ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, checked ? 2L : 0L);
	if (smtp->ca_file)
		curl_easy_setopt(curl, CURLOPT_CAINFO, smtp->ca_file);
	if (smtp->user) {
		curl_easy_setopt(curl, CURLOPT_USERNAME, smtp->user);
		curl_easy_setopt(curl, CURLOPT_PASSWORD,
				 smtp->password ? smtp->password : "");
	}
}

static void set_transfer(CURL *curl, const struct fl_smtp *smtp,
			 struct dialogue *d, char *words)
{
	long timeout = smtp->timeout_s > 0 ? smtp->timeout_s :
					     DEFAULT_TIMEOUT_S;

	curl_easy_setopt(curl, CURLOPT_URL, smtp->url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* nothing from the env */
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, timeout);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, timeout);
	curl_easy_setopt(curl, CURLOPT_SERVER_RESPONSE_TIMEOUT, timeout);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
	curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, feed);
	curl_easy_setopt(curl, CURLOPT_READDATA, d);
	curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)d->n);
	curl_easy_setopt(curl, CURLOPT_VERBOSE, 1L); /* to the watcher alone */
	curl_easy_setopt(curl, CURLOPT_DEBUGFUNCTION, watch);
	curl_easy_setopt(curl, CURLOPT_DEBUGDATA, d);
}

/* Bare addresses, each once; NULL, with the culprit in *reply, if one is bad */
static struct curl_slist *envelope(const struct fl_strv *rcpt, char **reply)
{
	_cleanup_strv_ struct fl_strv seen = { 0 };
	struct curl_slist *list = NULL;

	for (size_t i = 0; i < rcpt->n; i++) {
		_cleanup_free_ char *addr = fl_mail_address(rcpt->s[i]);

		if (!addr) {
			curl_slist_free_all(list);
			*reply = fl_asprintf("no usable address in '%s'",
					     rcpt->s[i]);
			return NULL;
		}
		if (fl_strv_has(&seen, addr))
			continue;
		fl_strv_add(&seen, addr);
		list = curl_slist_append(list, addr);
		if (!list)
			abort();
	}
	if (!list)
		*reply = fl_strdup("the mail has no recipient");
	return list;
}

enum fl_send_fate fl_mail_send(const struct fl_smtp *smtp, const char *from,
			       const struct fl_strv *rcpt, const char *message,
			       size_t n, char **reply)
{
	_cleanup_free_ char *sender = fl_mail_address(from);
	struct dialogue d = { .text = message, .n = n };
	char words[CURL_ERROR_SIZE] = "";
	struct curl_slist *list;
	enum fl_send_fate fate;
	CURLcode rc;
	CURL *curl;

	if (!sender) {
		*reply = fl_asprintf("no usable address in '%s'", from);
		return FL_SEND_REJECTED;
	}
	list = envelope(rcpt, reply);
	if (!list)
		return FL_SEND_REJECTED;
	curl = curl_easy_init();
	if (!curl)
		abort();
	set_transfer(curl, smtp, &d, words);
	set_security(curl, smtp);
	curl_easy_setopt(curl, CURLOPT_MAIL_FROM, sender);
	curl_easy_setopt(curl, CURLOPT_MAIL_RCPT, list);
	rc = curl_easy_perform(curl);
	fate = fate_of(curl, rc, &d);
	*reply = reply_text(&d, rc, words);
	curl_easy_cleanup(curl); /* still calls the watcher */
	curl_slist_free_all(list);
	fl_buf_clear(&d.command);
	fl_buf_clear(&d.reply);
	return fate;
}
