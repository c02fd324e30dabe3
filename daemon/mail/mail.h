/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mail messages and how they leave: the only includer of <curl/curl.h>.
 * A message is composed once, with its Message-ID, and stored; sending takes
 * the stored bytes. Header values are encoded (RFC 2047) and folded here, and
 * a line break in one is an error, so nothing from a commit can add a header.
 */
#ifndef FL_MAIL_MAIL_H
#define FL_MAIL_MAIL_H

#include <stdbool.h>
#include <stdint.h>
#include "../util/buf.h"
#include "../util/err.h"
#include "../util/strv.h"

struct fl_mail {
	const char *from; /* "Name <addr>" or addr; UTF-8 */
	const struct fl_strv *to, *cc; /* likewise, one each */
	const char *subject; /* UTF-8 */
	const char *message_id; /* without <>: made by fl_mail_message_id() */
	const char *in_reply_to; /* without <>, NULL = none */
	int64_t date; /* UTC seconds */
	const char *body; /* UTF-8 text, LF line ends */
	/* Text attachments: names and contents, n of each. */
	const char *const *attach_names;
	const char *const *attach_texts;
	size_t nattach;
};

/* The whole RFC 5322 message with CRLF line ends, appended to out. */
int fl_mail_compose(const struct fl_mail *m, struct fl_buf *out,
		    struct fl_err *err);

/* "<date>.<16 random hex digits>@<domain of from>"; heap. */
char *fl_mail_message_id(const char *from);

/* The bare address in "Name <addr>"; heap, NULL when there is none. */
char *fl_mail_address(const char *mailbox);

struct fl_smtp {
	const char *url; /* smtp://host:port[/our-helo-name] or smtps://… */
	const char *user; /* NULL = no authentication */
	const char *password; /* never logged */
	bool require_tls; /* STARTTLS or nothing */
	const char *ca_file; /* PEM of who may sign the server, NULL = system */
	long timeout_s; /* for all of it; 0 = five minutes */
};

enum fl_send_fate {
	FL_SEND_SENT, /* the server took it */
	FL_SEND_TEMPFAIL, /* 4xx, refused, no connection: try again later */
	FL_SEND_REJECTED, /* 5xx: needs a person */
	FL_SEND_UNKNOWN, /* the line broke after the text: never resend by itself */
};
const char *fl_send_fate_str(enum fl_send_fate f);

/*
 * Sends the stored bytes to every recipient or to none: one refused recipient
 * ends the transaction before the text. from and rcpt are mailboxes as above
 * (only their addresses are used, each once). Blocks up to timeout_s.
 * reply: the server's or curl's words, heap, always set.
 */
enum fl_send_fate fl_mail_send(const struct fl_smtp *smtp, const char *from,
			       const struct fl_strv *rcpt, const char *message,
			       size_t n, char **reply);

#endif
