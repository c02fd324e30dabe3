// SPDX-License-Identifier: GPL-2.0-or-later
/* report list, show, approve, reject, send: the outbox. */
#include <errno.h>
#include <string.h>
#include "cli.h"
#include "report.h"

static int list(struct fl_cli *cli, int64_t id _unused_, struct fl_err *err)
{
	static const struct fl_column columns[] = {
		{ "id", "id", 'i' },
		{ "state", "state", 's' },
		{ "culprit_sha", "commit", 'h' },
		{ "subject", "subject", 's' },
		{ "reason", "note", 's' },
	};

	return fl_cli_list(cli, FL_ROWS_REPORTS, columns,
			   FL_ARRAY_SIZE(columns), "No report was written yet.",
			   err);
}

static int show(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	_cleanup_(fl_report_clear) struct fl_report rep = { 0 };
	json_auto_t *to = NULL;
	json_t *v;
	size_t i;
	int r = fl_store_report_by_id(cli->store, id, &rep, err);

	if (!r)
		r = fl_store_rows(cli->store, FL_ROWS_RECIPIENTS, &to, err, "i",
				  id);
	if (r < 0)
		return r;
	if (cli->json) {
		json_auto_t *j =
			json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:O}",
				  "id", (json_int_t)id, "state", rep.state,
				  "message_id", rep.message_id, "from",
				  rep.mail_from, "subject", rep.subject, "body",
				  rep.body, "file", rep.file, "recipients", to);

		fl_cli_print_json(j);
		return 0;
	}
	printf("From: %s\n", rep.mail_from);
	json_array_foreach(to, i, v)
		printf("%s: %s   (%s)\n",
		       !strcmp(fl_json_str_or(v, "field", ""), "to") ? "To" :
								       "Cc",
		       fl_json_str_or(v, "mailbox", ""),
		       fl_json_str_or(v, "why", ""));
	printf("Message-ID: <%s>\nSubject: %s\n\n%s", rep.message_id,
	       rep.subject, rep.body);
	return 0;
}

static int approve(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	int r = fl_outbox_approve(cli->store, id, err);

	if (!r)
		printf("report %lld is approved; 'faultline report send %lld' sends it\n",
		       (long long)id, (long long)id);
	return r;
}

static int reject(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	const char *why = fl_cli_opt(cli, "why");
	int r = fl_outbox_reject(cli->store, id, why ? why : "", err);

	if (!r)
		printf("report %lld is rejected\n", (long long)id);
	return r;
}

static int send(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	_cleanup_free_ char *outcome = NULL;
	int r = fl_outbox_send(cli->conf, cli->store, id, &outcome, err);

	if (!r)
		printf("report %lld: %s\n", (long long)id, outcome);
	return r;
}

static int settle(struct fl_cli *cli, int64_t id, bool arrived,
		  struct fl_err *err)
{
	int r = fl_outbox_settle(cli->store, id, arrived, err);

	if (!r)
		printf("report %lld is %s\n", (long long)id,
		       arrived ?
			       "sent" :
			       "approved again; 'faultline report send' sends it");
	return r;
}

static int mark_sent(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	return settle(cli, id, true, err);
}

static int resend(struct fl_cli *cli, int64_t id, struct fl_err *err)
{
	return settle(cli, id, false, err);
}

static const struct {
	const char *name;
	bool id;
	int (*run)(struct fl_cli *cli, int64_t id, struct fl_err *err);
} actions[] = {
	{ "list", false, list },      { "show", true, show },
	{ "approve", true, approve }, { "reject", true, reject },
	{ "send", true, send },	      { "mark-sent", true, mark_sent },
	{ "resend", true, resend },
};

static int run_report(struct fl_cli *cli, struct fl_err *err)
{
	for (size_t i = 0; i < FL_ARRAY_SIZE(actions); i++) {
		int64_t id = 0;
		int r;

		if (strcmp(actions[i].name, cli->args[0]))
			continue;
		if (cli->nargs != 1 + actions[i].id)
			return fl_cli_usage(err, "faultline report %s%s",
					    actions[i].name,
					    actions[i].id ? " N" : "");
		r = actions[i].id ? fl_cli_id(cli, 1, &id, err) : 0;
		if (!r)
			r = fl_cli_open(cli, err);
		return r < 0 ? r : actions[i].run(cli, id, err);
	}
	return fl_cli_usage(
		err, "faultline report %s",
		"list|show|approve|reject|send|mark-sent|resend [N]");
}

const struct fl_verb fl_verbs_report[] = {
	{ .name = "report",
	  .args = "list | show N | approve N | reject N [--why T] | send N",
	  .more = "A mail whose fate is unknown (the line broke before the server's\n"
		  "answer) is never sent again by itself: 'mark-sent N' when it\n"
		  "arrived, 'resend N' when it did not.",
	  .help = "the outbox: read, approve and send the mails",
	  .min_args = 1,
	  .max_args = 2,
	  .opts = { { "why", "TEXT", "why it is rejected" } },
	  .run = run_report },
	{ .name = NULL },
};
