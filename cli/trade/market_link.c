/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/market_link.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "base/table.h"
#include "cli/trade/resume_file.h"
#include "cli/frame/print.h"
#include "cli/frame/progress.h"
#include "cli/frame/retype.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/frame/terminal.h"
#include "cli/frame/wrap.h"
#include "cli/trade/tokenfile.h"
#include "market/money.h"
#include "market/when.h"

enum { PAGES_MAX = 100000, BODY_TEXT_MAX = 1 << 20, BRIEF_MS = 2000, READS_MS = 15000, SLOW_MS = 2000 };

/* ---- Signing in ------------------------------------------------------------------------ */

bool market_local_stopped(void)
{
	char *state = settings_local_path("state");
	bool had = state && access(state, F_OK) == 0;

	free(state);
	return had;
}

int market_no_url(struct nanopod *np, const char *what)
{
	if (market_local_stopped())
		return print_fail_field(np, STATUS_USAGE, "url",
			"start it with 'nanopod local start', or set another with 'nanopod config set url URL'",
			"cannot %s: the local market is stopped, and no market is set", what);
	return print_fail_field(np, STATUS_USAGE, "url",
		"'nanopod local start' runs one on this machine, to try it; 'nanopod config set url URL' sets yours, "
		"--url once",
		"cannot %s: no market is set", what);
}

/* A market that keeps a person waiting must not look like a command that hangs. */
static void market_say_slow(void *arg, bool waits)
{
	struct nanopod *np = arg;
	char text[60];

	if (terminal_on_screen())
		return;
	if (waits) {
		snprintf(text, sizeof text, "waiting for the market %s", wrap_dots());
		progress_line(np, text, "");
	} else {
		fputs("\r\033[K", np->err);
		fflush(np->err);
	}
}

/* 0, or an exit status. */
static int find_token(struct market_link *m, unsigned flags)
{
	int rc;

	if (m->socket || flags & MARKET_NO_TOKEN)
		return 0;
	rc = token_find(m->np->settings, &m->token, &m->token_where, &m->fail);
	if (rc < 0)
		return print_fail_field(m->np, STATUS_DENIED, "token-file", NULL, "cannot sign in: %s", m->fail.text);
	if (rc == 0 || m->explain || flags & MARKET_TOKEN_OPTIONAL)
		return 0;
	return print_fail_field(m->np, STATUS_DENIED, "token-file",
		"sign in with 'nanopod login', or set NANOPOD_TOKEN", "cannot ask '%s': you are not signed in", m->url);
}

int market_sign_in_by(struct nanopod *np, const struct options *o, const char *token, const char *where, unsigned flags,
	struct market_link **out)
{
	const char *url = settings_text(np->settings, SETTING_ID_URL);
	struct market_link *m;
	int rc;

	*out = NULL;
	if (!url)
		return market_no_url(np, "ask the market");
	m = calloc(1, sizeof *m);
	if (!m)
		command_nomem();
	m->np = np;
	m->url = url;
	m->where = np->account ? NULL : url;
	m->ours = -1;
	m->socket = str_starts(url, "unix:");
	m->explain = o && option_given(o, "explain");
	client_answer_init(&m->answer);
	m->catching = signals_begin() == 0; /* if this fails, Ctrl-C ends the program at once, which is harmless */
	if (token && (!(m->token = strdup(token)) || !(m->token_where = strdup(where))))
		command_nomem();
	rc = token ? 0 : find_token(m, flags);
	if (!rc) {
		const struct client_setup setup = { .url = url,
			.token = m->token,
			.ca = settings_text(np->settings, SETTING_ID_MARKET_CA),
			.pin = settings_market_key(np->settings),
			.secret = flags & MARKET_NO_TOKEN,
			.plain = settings_bool(np->settings, SETTING_ID_MARKET_PLAIN),
			.stop_fd = signals_fd(),
			.connect_ms = flags & MARKET_BRIEFLY ? BRIEF_MS : 0,
			.whole_ms = flags & MARKET_BRIEFLY ? 2 * BRIEF_MS : 0,
			.tries = flags & MARKET_BRIEFLY ? 1 : 0,
			.reads_ms = READS_MS,
			.slow_ms = SLOW_MS,
			.slow = np->tty_err && !np->errors_json ? market_say_slow : NULL,
			.slow_arg = np };

		if (client_new(&setup, &m->client, &m->fail))
			rc = print_fail_field(np, STATUS_USAGE, "url", NULL, "cannot ask the market: %s", m->fail.text);
	}
	if (rc) {
		market_sign_out(m);
		return rc;
	}
	*out = m;
	return 0;
}

int market_sign_in(struct nanopod *np, const struct options *o, unsigned flags, struct market_link **out)
{
	return market_sign_in_by(np, o, NULL, NULL, flags, out);
}

void market_sign_out(struct market_link *m)
{
	if (!m)
		return;
	if (m->catching)
		signals_end();
	client_free(m->client);
	client_answer_release(&m->answer);
	doc_free(m->doc);
	doc_free(m->who_doc);
	doc_free(m->about_doc);
	token_free(m->token);
	free(m->token_where);
	free(m);
}

/* ---- Requests -------------------------------------------------------------------------- */

static int market_explain(struct market_link *m, const struct client_call *q)
{
	struct buf text;
	int rc;

	buf_init(&text, 2 * BODY_TEXT_MAX);
	rc = client_explain(m->client, q, &text, &m->fail);
	if (!rc) {
		print_safe(m->np->out, buf_text(&text), text.len);
		rc = fail_set(&m->fail, MARKET_EXPLAINED, "nothing was sent");
	}
	buf_release(&text);
	return rc;
}

/* A new terminal size is no reason to stop. A signal that asks to stop stays for the command to read. */
bool market_only_resized(int rc)
{
	if (rc != CLIENT_STOPPED || signals_asked())
		return false;
	while (!signals_asked() && signals_next())
		;
	return !signals_asked();
}

static void say_more(const struct market_link *m, const struct client_call *q, int rc)
{
	if (m->np->verbose)
		print_note(m->np, "%s %s: %d%s%s%s%s", q->method, q->path, m->answer.status,
			*m->answer.request_id ? ", request " : "", m->answer.request_id, rc ? ", " : "",
			rc ? client_code(rc) : "");
}

/* The path with --account, where that was given; free() it. GET /np/v1 is about nobody. */
static char *path_of_account(const struct market_link *m, const char *path)
{
	const char *account = strcmp(path, "/np/v1") != 0 ? m->np->account : NULL;
	struct buf whole;
	char *text;

	buf_init(&whole, BODY_TEXT_MAX);
	if (buf_adds(&whole, path) ||
		(account &&
			(buf_adds(&whole, strchr(path, '?') ? "&account=" : "?account=") ||
				client_quote(&whole, account))))
		command_nomem();
	text = strdup(buf_text(&whole));
	if (!text)
		command_nomem();
	buf_release(&whole);
	return text;
}

int market_stream_open(struct market_link *m, const struct client_call *q)
{
	char *path = path_of_account(m, q->path);
	struct client_call whose = *q;
	int rc;

	whose.path = path;
	m->fail = (struct fail){ 0 };
	do
		rc = client_stream_open(m->client, &whose, &m->answer, &m->fail);
	while (market_only_resized(rc));
	free(path);
	return rc;
}

static int market_call_path(struct market_link *m, const struct client_call *q)
{
	int rc;

	doc_free(m->doc);
	m->doc = NULL;
	m->fail = (struct fail){ 0 };
	m->reads = strcmp(q->method, "GET") == 0;
	if (m->explain)
		return market_explain(m, q);
	do
		rc = client_send(m->client, q, &m->answer, &m->fail);
	while (market_only_resized(rc) && (m->answer.sent == CLIENT_NOT_SENT || q->key || m->reads));
	say_more(m, q, rc);
	if (rc)
		return rc;
	m->ours = m->answer.ours ? 1 : m->ours;
	m->np->market_now = m->answer.date;
	if (m->answer.body.len && strstr(m->answer.type, "json") && !strstr(m->answer.type, "ndjson") &&
	    doc_parse(buf_text(&m->answer.body), m->answer.body.len, &m->doc, &m->fail)) {
		struct fail why = m->fail;

		return fail_set(&m->fail, CLIENT_BAD_ANSWER, "cannot read the answer of '%.200s': %.200s", m->url,
			why.text);
	}
	return 0;
}

int market_call(struct market_link *m, const struct client_call *q)
{
	char *path = path_of_account(m, q->path);
	struct client_call whose = *q;
	int rc;

	whose.path = path;
	rc = market_call_path(m, &whose);
	free(path);
	return rc;
}

/* Readers expect a document: an answer without one becomes an empty document. */
static int want_doc(struct market_link *m)
{
	return m->doc ? 0 : doc_parse("", 0, &m->doc, &m->fail);
}

int market_get(struct market_link *m, const char *fmt, ...)
{
	char *path;
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = vasprintf(&path, fmt, ap);
	va_end(ap);
	if (rc < 0)
		command_nomem();
	rc = market_call(m, &(struct client_call){ .method = "GET", .path = path });
	free(path);
	return rc ? rc : want_doc(m);
}

int market_send(struct market_link *m, const char *method, const char *path, const struct buf *body, const char *key)
{
	const struct client_call q = { .method = method, .path = path,
		.body = body && body->len ? buf_text(body) : NULL, .body_len = body ? body->len : 0, .key = key };
	int rc = market_call(m, &q);

	return rc ? rc : want_doc(m);
}

/* ---- What makes something -------------------------------------------------------------- */

/* True where the market may have done it: the file stays for the next command. */
static bool open_end(const struct market_link *m, int rc)
{
	if (rc == CLIENT_LOST || rc == CLIENT_STOPPED)
		return true;
	if (rc == CLIENT_UNREACHABLE || rc == CLIENT_BAD_ANSWER)
		return m->answer.sent != CLIENT_NOT_SENT;
	return rc && m->answer.status >= 500 && rc != REASON_UNAVAILABLE && rc != REASON_NOT_IMPLEMENTED;
}

static int market_resume(struct market_link *m, const char *match, const struct buf *body, struct resume_file **out,
	bool *again)
{
	char room[WHEN_TEXT];
	const char *was;
	int rc = resume_file_find(match, out, &m->fail);

	*again = false;
	if (rc)
		return rc;
	if (*out) {
		was = resume_file_get(*out, "body");
		if (was && strcmp(was, buf_text(body)) == 0) {
			print_note(m->np,
				"replayed: this was sent %s and no answer came; the same request is sent again",
				when_relative(resume_file_begun(*out), (int64_t)time(NULL), room));
			*again = true;
			return 0;
		}
		resume_file_free(*out);
		*out = NULL;
	}
	rc = resume_file_new(match, match, (int64_t)time(NULL), out, &m->fail);
	return rc ? rc : resume_file_set(*out, "body", buf_text(body), &m->fail);
}

int market_make(struct market_link *m, const char *path, const struct buf *body, const char *what)
{
	struct resume_file *file = NULL;
	char key[RESUME_FILE_KEY], *match;
	struct fail kept;
	bool again;
	int rc;

	if (m->explain)
		return market_send(m, "POST", path, body, "…");
	if (asprintf(&match, "%s %s %s", m->url, path, what) < 0)
		command_nomem();
	rc = market_resume(m, match, body, &file, &again);
	free(match);
	if (rc) {
		resume_file_free(file);
		return fail_set(&m->fail, CLIENT_BAD_SETUP, "%s", (kept = m->fail).text);
	}
	rc = market_send(m, "POST", path, body, resume_file_key(file, "make", key));
	kept = m->fail;
	if (again && client_refused_try(rc))
		print_note(m->np, "what was sent before may have been done; the same command asks for it again");
	if (open_end(m, rc) || (again && client_refused_try(rc)))
		resume_file_free(file);
	else if (resume_file_end(file, &m->fail))
		print_warn(m->np, "%s", m->fail.text);
	m->fail = kept;
	return rc;
}

/* ---- What went wrong ------------------------------------------------------------------- */

static const char *simple_hint(int code)
{
	switch (code) {
	case REASON_UNAUTHENTICATED: case REASON_TOKEN_EXPIRED:
		return "sign in again with 'nanopod login'; your stored token is unchanged";
	case REASON_FORBIDDEN:
		return "'nanopod whoami' shows what your token may do";
	case REASON_FUNDS:
		return "'nanopod balance' shows your money";
	case CLIENT_UNREACHABLE:
		return "is it running? 'nanopod config get url --origin' shows where the URL comes from";
	case CLIENT_UNTRUSTED:
		return "if it is the right market, 'nanopod config set market-ca FILE' trusts its certificate";
	default:
		return NULL;
	}
}

const char *market_hint(const struct market_link *m, char *room, size_t size)
{
	int code = m->fail.code;

	if (code == REASON_RATE && m->answer.retry_after > 0) {
		snprintf(room, size, "try again in %lld s", (long long)m->answer.retry_after);
		return room;
	}
	if (code == CLIENT_LOST && m->reads)
		return "run the same command again; 'nanopod doctor' says whether the market answers";
	if (code == CLIENT_LOST || code == CLIENT_STOPPED)
		return m->answer.sent == CLIENT_MAYBE
			? "run the same command again: it sends the same request, and nothing is done twice"
			: "try again";
	if ((code == REASON_UNAUTHENTICATED || code == REASON_TOKEN_EXPIRED) && m->token_where &&
		strcmp(m->token_where, "NANOPOD_TOKEN") == 0)
		return "set it to another token, or unset it to use the one that 'nanopod login' stored";
	if (code == CLIENT_UNREACHABLE && settings_layer(m->np->settings, SETTING_ID_URL) == LAYER_LOCAL)
		return "that is the local market; start it with 'nanopod local start'";
	if (code == CLIENT_UNTRUSTED && settings_market_key(m->np->settings))
		return "'nanopod config set market-key KEY' trusts a new one";
	return simple_hint(code);
}

/* The operator's own socket, and what was asked is an account's: says which command to type. */
static void market_no_account(struct market_link *m, struct buf *hint)
{
	const struct retype_change of[] = { { "account", "NAME" }, { 0 } };

	fail_set(&m->fail, m->fail.code, "the operator has no account of its own");
	if (retype_can(m->np->running, of)) {
		buf_adds(hint, "type '");
		retype(m->np->running, m->np->typed, of, hint);
		buf_adds(hint, "'; 'nanopod admin account list' lists the names");
	} else {
		buf_adds(hint,
			"sign in as an account: 'nanopod admin token ACCOUNT NAME' makes a token, 'nanopod login' "
			"takes it");
	}
}

static bool market_wants_account(const struct market_link *m)
{
	return m->socket && m->fail.code == REASON_INVALID && strcmp(m->answer.field, "account") == 0 &&
		!m->np->account && m->np->running;
}

/* The API's word; people know it as a reservation, except where it holds the hosts of a seller. */
static bool market_says_pool(const struct market_link *m)
{
	return str_starts(m->fail.text, "pool '") && !strstr(m->fail.text, "for hosts");
}

int market_fail(struct market_link *m, const char *fmt, ...)
{
	int code = m->fail.code;
	bool token = code == REASON_UNAUTHENTICATED || code == REASON_TOKEN_EXPIRED;
	struct print_problem p = { .status = (enum status)client_status(code),
		.code = client_code(code),
		.field = m->field,
		.retryable = client_retryable(code),
		.request_id = *m->answer.request_id ? m->answer.request_id : NULL };
	char room[200], *what;
	struct buf whose;
	va_list ap;

	if (code == MARKET_EXPLAINED)
		return STATUS_OK;
	buf_init(&whose, 64 * 1024);
	if (code == CLIENT_STOPPED && signals_next() == SIGTERM) {
		p.status = STATUS_TERM;
		p.code = NULL;
	}
	p.hint = market_hint(m, room, sizeof room);
	if (market_wants_account(m)) {
		market_no_account(m, &whose);
		p.hint = buf_text(&whose);
		p.field = "--account";
	}
	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	if (token && m->token_where)
		print_problem(m->np, &p, "%s: '%s' rejected the token from %s: %s", what, m->url, m->token_where,
			m->fail.text);
	else if (code == REASON_INTERNAL && p.request_id)
		print_problem(m->np, &p, "%s: %s (request %s)", what, m->fail.text, p.request_id);
	else
		print_problem(m->np, &p, "%s: %s%s", what, market_says_pool(m) ? "reservation" : "",
			m->fail.text + (market_says_pool(m) ? strlen("pool") : 0));
	free(what);
	buf_release(&whose);
	return p.status;
}

/* ---- Lists ----------------------------------------------------------------------------- */

static int each_of_page(struct market_link *m, market_each_fn fn, void *arg)
{
	size_t count = doc_count(m->doc);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++)
		rc = fn(arg, m->doc, (long)i, &m->fail);
	return rc;
}

/* The path of the next page. A cursor that came before would repeat the list for ever. */
static int next_page(struct market_link *m, const char *path, struct table *seen, struct buf *out, bool *last)
{
	const char *cursor = NULL;
	int rc = doc_next(m->doc, &cursor, &m->fail);

	*last = !cursor;
	if (rc || !cursor)
		return rc;
	if (table_get(seen, cursor) || seen->count >= PAGES_MAX)
		return fail_set(&m->fail, CLIENT_BAD_ANSWER, "the list '%.200s' repeats itself at '%.80s'", path,
			cursor);
	buf_clear(out);
	if (table_set(seen, cursor, seen) || buf_adds(out, path) || buf_adds(out, strchr(path, '?') ? "&" : "?") ||
		buf_adds(out, str_starts(path, "/np/v1/ledger") ? "after=" : "starting_after=") ||
		client_quote(out, cursor))
		command_nomem();
	return 0;
}

int market_each(struct market_link *m, const char *path, market_each_fn fn, void *arg)
{
	struct table seen;
	struct buf at;
	bool last = false;
	int rc = 0;

	table_init(&seen);
	buf_init(&at, 64 * 1024);
	if (buf_adds(&at, path))
		command_nomem();
	while (!rc && !last) {
		rc = market_get(m, "%s", buf_text(&at));
		rc = rc ? rc : each_of_page(m, fn, arg);
		rc = rc ? rc : next_page(m, path, &seen, &at, &last);
	}
	table_release(&seen);
	buf_release(&at);
	return rc == 1 ? 0 : rc;
}

/* ---- Who and what ---------------------------------------------------------------------- */

int market_ours(struct market_link *m)
{
	int rc;

	if (m->explain)
		return 1;
	if (m->ours >= 0 && (m->about_doc || !m->ours))
		return m->ours;
	rc = market_get(m, "/np/v1");
	if (rc == REASON_NOT_FOUND) {
		m->ours = 0;
		return 0;
	}
	rc = rc ? rc : wire_market(m->doc, WIRE_WHOLE, &m->about, &m->fail);
	if (rc)
		return rc;
	m->about_doc = m->doc;
	m->about_ms = clock_ms();
	m->doc = NULL;
	m->ours = 1;
	return 1;
}

int market_whoami(struct market_link *m)
{
	int rc;

	if (m->who_doc)
		return 0;
	rc = market_ours(m);
	if (rc < 0)
		return rc;
	rc = market_get(m, "%s", rc ? "/np/v1/whoami" : "/v2/me");
	rc = rc ? rc : wire_whoami(m->doc, WIRE_WHOLE, &m->who, &m->fail);
	if (rc)
		return rc;
	m->who_doc = m->doc;
	m->doc = NULL;
	return 0;
}

int market_need_ours(struct market_link *m, const char *command)
{
	int rc = market_ours(m);

	if (rc == 1)
		return 0;
	if (rc < 0)
		return market_fail(m, "cannot run '%s'", command);
	return print_fail(m->np, STATUS_FAILURE, "'nanopod api' sends any request to it",
		"cannot run '%s': '%s' is not a nanopod market", command, m->url);
}

int market_spend_max(struct nanopod *np, int64_t *micros)
{
	const char *text = settings_text(np->settings, SETTING_ID_SPEND_MAX);
	struct fail f = { 0 };

	*micros = 0;
	if (!text || money_parse(text, micros, &f) == 0)
		return STATUS_OK;
	return print_fail_field(np, STATUS_USAGE, "spend-max", NULL, "cannot use 'spend-max' from %s: %s",
		settings_where(np->settings, SETTING_ID_SPEND_MAX), f.text);
}
