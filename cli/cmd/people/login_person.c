/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/people/login_person.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "market/device_flow.h"

enum { LOGIN_STEP_MS = 1000 };

int login_issuer(struct market_link *m)
{
	if (market_get(m, "/np/v1/signin"))
		return m->answer.status == 404 ? 0 : -market_fail(m, "cannot sign in");
	return doc_text(m->doc, "issuer") != NULL;
}

static void login_person_show(struct nanopod *np, const struct device_code *c)
{
	if (c->whole)
		print_note(np, "to sign in, open %s", c->whole);
	print_note(np, "%s %s and enter the code %s", c->whole ? "or open" : "to sign in, open", c->page, c->code);
}

static void login_person_count_down(struct nanopod *np, int64_t left)
{
	char text[32];

	if (np->tty_err)
		progress_line(np, "waiting until you have signed in", progress_time(left, text, sizeof text));
}

/* Sleeps, and shows what is left. False: a signal came. */
static bool login_person_rest(struct nanopod *np, int64_t ms, int64_t until)
{
	int64_t end = clock_ms() + ms, now;
	int number;

	while ((now = clock_ms()) < end) {
		login_person_count_down(np, until - now);
		if (signals_rest(end - now < LOGIN_STEP_MS ? end - now : LOGIN_STEP_MS, &number))
			return false;
	}
	return true;
}

/* 0 and the issuer's word, or an exit status after saying why. */
static int login_person_wait(struct market_link *m, struct device *d, const char **id_token)
{
	int64_t until = clock_ms() + 1000 * device_code(d)->seconds, ms = 0;
	int rc = -EAGAIN;

	while (rc == -EAGAIN && clock_ms() < until) {
		rc = device_poll(d, id_token, &ms, &m->fail);
		if (rc == -EAGAIN && !login_person_rest(m->np, ms, until))
			rc = fail_set(&m->fail, CLIENT_STOPPED, "interrupted");
	}
	if (m->np->tty_err)
		progress_line(m->np, "", "");
	if (rc == -EAGAIN)
		rc = fail_set(&m->fail, REASON_FORBIDDEN, "the code is over; run 'nanopod login' again");
	if (rc == CLIENT_STOPPED)
		return print_fail(m->np, STATUS_INT, NULL, "interrupted; nothing was changed");
	return rc ? print_fail(m->np, client_status(rc), NULL, "cannot sign in: %s", m->fail.text) : 0;
}

static int login_person_take(struct market_link *m, const char *id_token, const char *invite, const char *account,
	char **token)
{
	const char *got;
	struct buf body;
	int rc;

	buf_init(&body, 64 * 1024);
	rc = wire_put_signin(&body, id_token, invite, account)
		? fail_set(&m->fail, CLIENT_BAD_SETUP, "the name of the account is not valid text")
		: market_send(m, "POST", "/np/v1/signin", &body, NULL);
	if (body.data)
		explicit_bzero(body.data, body.len);
	buf_release(&body);
	rc = rc ? rc : wire_signed_in(m->doc, &got, &m->fail);
	if (rc)
		return market_fail(m, "cannot sign in");
	*token = strdup(got);
	return *token ? 0 : print_fail(m->np, STATUS_FAILURE, NULL, "out of memory");
}

int login_person(struct market_link *m, const char *invite, const char *account, char **token)
{
	struct device_setup set = { .ca = settings_text(m->np->settings, SETTING_ID_MARKET_CA),
		.stop_fd = signals_fd() };
	struct device *d = NULL;
	const char *id_token = NULL;
	char *issuer = NULL, *client = NULL, *scope = NULL;
	int rc = login_issuer(m);

	if (rc < 0)
		return -rc;
	if (rc == 0)
		return print_fail(m->np, STATUS_USAGE, "sign in with a token: 'nanopod login'",
			"this market has no issuer of identities");
	issuer = strdup(doc_text(m->doc, "issuer"));
	client = strdup(doc_text(m->doc, "client_id") ? doc_text(m->doc, "client_id") : "");
	scope = strdup(doc_text(m->doc, "scope") ? doc_text(m->doc, "scope") : "openid");
	if (!issuer || !client || !scope)
		command_nomem();
	set.issuer = issuer;
	set.client = client;
	set.scope = scope;
	rc = device_begin(&set, &d, &m->fail);
	if (rc) {
		rc = print_fail(m->np, client_status(rc), NULL, "cannot sign in: %s", m->fail.text);
	} else {
		login_person_show(m->np, device_code(d));
		rc = login_person_wait(m, d, &id_token);
		rc = rc ? rc : login_person_take(m, id_token, invite, account, token);
	}
	device_free(d);
	free(issuer);
	free(client);
	free(scope);
	return rc;
}
