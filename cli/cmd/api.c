/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod api: sends any request, for what has no command. Prints the answer's body unchanged, so that jq can read
 * it; a request that changes something carries an idempotency key.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/trade/market_link.h"
#include "cli/frame/print.h"

enum { BODY_MAX = 8 << 20 };

static int check_method(struct nanopod *np, const char *typed, char method[16])
{
	static const char *const methods[] = { "GET", "POST", "PATCH", "PUT", "DELETE" };
	size_t len = strlen(typed);

	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		if (strcasecmp(typed, methods[i]) == 0 && len < 16) {
			memcpy(method, methods[i], len + 1);
			return 0;
		}
	}
	return print_fail(np, STATUS_USAGE, "use GET, POST, PATCH, PUT or DELETE", "'%.40s' is not a method", typed);
}

static int api_check_path(struct nanopod *np, const char *path)
{
	if (strstr(path, "://") || str_starts(path, "//"))
		return print_fail(np, STATUS_USAGE, "give only the path, e.g. /v2/orders; --url chooses the market",
			"cannot send to '%.100s': your token goes to your market only", path);
	if (*path != '/')
		return print_fail(np, STATUS_USAGE, "a path begins with '/', e.g. /v2/orders",
			"cannot send to '%.100s': it is not a path", path);
	return 0;
}

/* The body: the word itself, or standard input. Checks that it is JSON before anything is sent. */
static int read_body(struct nanopod *np, const char *word, struct buf *body)
{
	struct fail why = { 0 };
	struct doc *d = NULL;
	int rc = strcmp(word, "-") == 0 ? buf_read_fd(body, STDIN_FILENO) : buf_adds(body, word);

	if (rc)
		return print_fail(np, STATUS_USAGE, NULL, "cannot read the body: %s",
			rc == -EFBIG ? "it is too large" : strerror(-rc));
	if (body->len == 0 || doc_parse(buf_text(body), body->len, &d, &why))
		return print_fail(np, STATUS_USAGE, "nothing was sent", "cannot send the body: %s",
			body->len ? why.text : "it is empty");
	doc_free(d);
	return 0;
}

static void put_answer(struct nanopod *np, const struct options *o, const struct client_answer *a)
{
	if (!a->status)
		return;
	if (option_given(o, "include")) {
		const char *text = buf_text(&a->headers);

		for (; *text; text++) /* a line ends with \n on standard output */
			if (*text != '\r')
				putc(*text, np->out);
	}
	if (np->tty_out)
		print_safe(np->out, buf_text(&a->body), a->body.len);
	else
		fwrite(buf_text(&a->body), 1, a->body.len, np->out);
	if (a->body.len && a->body.data[a->body.len - 1] != '\n')
		putc('\n', np->out);
}

static int api_send(struct market_link *m, const struct options *o, const char *method, const char *path,
	const struct buf *body)
{
	const char *key = option_text(o, "key");
	struct client_call q = { .method = method,
		.path = path,
		.body = body->len ? buf_text(body) : NULL,
		.body_len = body->len,
		.key = key };

	if (strcmp(method, "POST") == 0 && !key)
		return market_make(m, path, body, buf_text(body));
	return market_call(m, &q);
}

static int api_command(struct nanopod *np, const struct options *o)
{
	char **words = option_argv(o), method[16];
	struct market_link *m;
	struct buf body;
	int rc = check_method(np, words[0], method);

	rc = rc ? rc : api_check_path(np, words[1]);
	if (rc)
		return rc;
	buf_init(&body, BODY_MAX);
	if (words[2])
		rc = read_body(np, words[2], &body);
	if (!rc && body.len && strcmp(method, "GET") == 0)
		rc = print_fail(np, STATUS_USAGE, NULL, "cannot send a body with GET");
	rc = rc ? rc : market_sign_in(np, o, MARKET_TOKEN_OPTIONAL, &m);
	if (!rc) {
		int failed = api_send(m, o, method, words[1], &body);

		put_answer(np, o, &m->answer);
		if (failed)
			rc = market_fail(m, "cannot %s '%s'", method, words[1]);
		market_sign_out(m);
	}
	buf_release(&body);
	return rc;
}

static const struct option options[] = {
	{ "include", 'i', OPTION_FLAG, .help = "print the answer's status line and headers too" },
	{ "key", 0, OPTION_STRING, "KEY", .help = "idempotency key; default: a new one for a POST" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod api GET /v2/orders?limit=5", "the newest five orders, as the market answers" },
	{ "nanopod api GET /np/v1/whoami | jq .account_id", "one field of an answer" },
	{ "nanopod api POST /v2/pools '{\"name\":\"a\",\"workspace\":\"default\"}'", "make something" },
	{ "nanopod api PATCH /v2/pools/pool_x - <change.json", "the body from standard input" },
	{ "nanopod api DELETE /v2/orders/ordr_x --explain", "show what would be sent" },
	{ 0 },
};

const struct command cmd_api = {
	.name = "api",
	.args = "METHOD PATH [BODY|-]",
	.summary = "send a request to the market and print the answer",
	.examples = examples,
	.positional = "METHOD  GET, POST, PATCH, PUT or DELETE\n"
		      "PATH    path below the market's URL: /v2/orders\n"
		      "BODY    JSON; - reads it from standard input",
	.description = "Prints the answer's body unchanged on standard output, also where the market refuses; the "
		       "reason of a refusal goes to standard error, and the exit status is that of the refusal "
		       "('nanopod help exit-codes').\n\nA POST carries an idempotency key that is on disk before "
		       "the request is sent: where the connection is lost, repeat the command and it sends the same "
		       "key and body, so that nothing is done twice.",
	.options = options,
	.flags = COMMAND_MORE | COMMAND_MARKET,
	.min_args = 2,
	.max_args = 3,
	.complete_first = COMPLETE_VALUES,
	.first_values = "GET|POST|PATCH|PUT|DELETE",
	.run = api_command,
};
