/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what goes into a request before anything uses it: a token sent to the wrong place is lost, and a
 * line break in a header makes another request.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "market/client_part.h"

enum { TOKEN_MAX = 4096, URL_MAX = 2048, PATH_BYTES = 8192 };

static const char forms[] = "try https://market.example.org, http://127.0.0.1:8080 or unix:/run/nanopod/market.sock";

const char *client_code(int code)
{
	static const char *const codes[] = {
#define CODE(name, code, status, again) code,
		CLIENT_FAILURES(CODE)
#undef CODE
	};

	if (code > CLIENT_BASE && code < CLIENT_END)
		return codes[code - CLIENT_BASE - 1];
	return code == -EPROTO ? client_code(CLIENT_BAD_ANSWER) : reason_row(code)->code;
}

int client_status(int code)
{
	static const int statuses[] = {
#define CODE(name, code, status, again) status,
		CLIENT_FAILURES(CODE)
#undef CODE
	};

	if (code > CLIENT_BASE && code < CLIENT_END)
		return statuses[code - CLIENT_BASE - 1];
	return code == -EPROTO ? 1 : reason_row(code)->status;
}

bool client_refused_try(int code)
{
	return code == REASON_UNAVAILABLE || code == REASON_RATE || code == REASON_UNAUTHENTICATED ||
		code == REASON_TOKEN_EXPIRED;
}

bool client_retryable(int code)
{
	static const bool again[] = {
#define CODE(name, code, status, again) again,
		CLIENT_FAILURES(CODE)
#undef CODE
	};

	if (code > CLIENT_BASE && code < CLIENT_END)
		return again[code - CLIENT_BASE - 1];
	return code == REASON_RATE || code == REASON_UNAVAILABLE || code == REASON_NO_CAPACITY ||
		code == REASON_HOSTS_SOLD || code == REASON_NO_BUYER;
}

/* "127.0.0.1", "localhost", "[::1]", with or without a port. */
static bool client_text_is_loopback(const char *host, size_t len)
{
	static const char *const names[] = { "localhost", "[::1]" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == len && strncasecmp(host, names[i], len) == 0)
			return true;
	/* Only as a number: 127.example.org is another machine. */
	return len > 4 && strncmp(host, "127.", 4) == 0 && strspn(host, "0123456789.") >= len;
}

/* host[:port] up to the path. */
static int client_text_check_host(const char *url, const char *host, size_t len, struct fail *f)
{
	size_t name = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");
	const char *port = host + name;
	size_t digits = len > name ? len - name - 1 : 0;
	char text[8];
	long n;

	if (name == 0 || name > len || memchr(host, '@', len))
		return fail_set(f, CLIENT_BAD_SETUP, "'%.100s' is not a market's URL%s: %s", url,
			memchr(host, '@', len) ? " (it must not have a password in it)" : "", forms);
	if (name == len)
		return 0;
	if (*port == ':' && digits && digits < sizeof text) {
		memcpy(text, port + 1, digits);
		text[digits] = '\0';
		if (str_to_long(text, 1, 65535, &n) == 0)
			return 0;
	}
	return fail_set(f, CLIENT_BAD_SETUP, "'%.100s' has an invalid port: %s", url, forms);
}

static int check_characters(const char *url, struct fail *f)
{
	if (strlen(url) > URL_MAX)
		return fail_set(f, CLIENT_BAD_SETUP, "the market's URL is longer than %d characters", URL_MAX);
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || strchr("?#\\\"<>", *p))
			return fail_set(f, CLIENT_BAD_SETUP, "'%.100s' is not a market's URL: %s", url, forms);
	return 0;
}

int client_take_url(struct client *c, const char *url, struct fail *f)
{
	const char *host;
	size_t len, whole = strlen(url);
	int rc = check_characters(url, f);

	if (rc)
		return rc;
	if (str_starts(url, "unix:")) {
		if (url[5] != '/')
			return fail_set(f, CLIENT_BAD_SETUP, "'%.100s' must give the socket's full path: %s", url,
				forms);
		c->loopback = c->secure = true;
		c->socket = strdup(url + 5);
		c->base = strdup("http://localhost");
		return c->socket && c->base ? 0 : fail_set(f, CLIENT_BAD_SETUP, "out of memory");
	}
	c->secure = strncasecmp(url, "https://", 8) == 0;
	if (!c->secure && strncasecmp(url, "http://", 7) != 0)
		return fail_set(f, CLIENT_BAD_SETUP, "'%.100s' is not a market's URL: %s", url, forms);
	host = url + (c->secure ? 8 : 7);
	len = strcspn(host, "/");
	rc = client_text_check_host(url, host, len, f);
	if (rc)
		return rc;
	c->loopback = client_text_is_loopback(host, *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/"));
	while (whole > 0 && url[whole - 1] == '/')
		whole--;
	c->base = strndup(url, whole);
	return c->base ? 0 : fail_set(f, CLIENT_BAD_SETUP, "out of memory");
}

int client_check_url(const char *url, struct fail *f)
{
	struct client c = { 0 };
	int rc = client_take_url(&c, url, f);

	free(c.base);
	free(c.socket);
	return rc;
}

int client_check_token_text(const char *token, struct fail *f)
{
	size_t len = strlen(token);

	if (len == 0 || len > TOKEN_MAX)
		return fail_set(f, CLIENT_BAD_SETUP, "the token is %s", len ? "too long to be one" : "empty");
	for (const char *p = token; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return fail_set(f, CLIENT_BAD_SETUP,
				"the token has a blank or another character that no token has; check it");
	return 0;
}

static bool client_pin_good(const char *pin, size_t len)
{
	static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	return len == 8 + 44 && str_starts(pin, "sha256//") && strspn(pin + 8, base64) == 43 && pin[len - 1] == '=';
}

/* libcurl would take a value without this prefix for a file's name. */
int client_check_pin(const char *pin, struct fail *f)
{
	bool good = *pin;

	for (const char *p = pin; good && *p; p += strcspn(p, ";"), p += *p == ';')
		good = client_pin_good(p, strcspn(p, ";"));
	if (!good)
		return fail_set(f, CLIENT_BAD_SETUP,
			"'%.100s' is not the pin of a key, which is 'sha256//' and 44 characters; "
			"the market's 'GET /np/v1' has it as tls_public_key",
			pin);
	return 0;
}

int client_check_path(const char *path, struct fail *f)
{
	if (*path != '/' || path[1] == '/')
		return fail_set(f, CLIENT_BAD_SETUP, "'%.100s' is not a path of the market: a path starts with one '/'",
			path);
	if (strlen(path) > PATH_BYTES)
		return fail_set(f, CLIENT_BAD_SETUP, "the path is longer than %d characters", PATH_BYTES);
	for (const char *p = path; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f || *p == '#' || *p == '\\')
			return fail_set(f, CLIENT_BAD_SETUP,
				"'%.100s' has a character that a path cannot have; write it as %%XX", path);
	return 0;
}

int client_quote(struct buf *out, const char *text)
{
	int rc = 0;

	for (; *text && !rc; text++)
		if (isalnum((unsigned char)*text) || strchr("-._~", *text))
			rc = buf_addc(out, *text);
		else
			rc = buf_addf(out, "%%%02X", (unsigned)(unsigned char)*text);
	return rc;
}

void client_answer_init(struct client_answer *a)
{
	*a = (struct client_answer){ .retry_after = -1 };
	buf_init(&a->headers, HEADERS_MAX);
	buf_init(&a->body, BODY_MAX);
}

void client_answer_release(struct client_answer *a)
{
	buf_release(&a->headers);
	buf_release(&a->body);
}

static int client_text_add_header(struct buf *out, const char *name, const char *value)
{
	return value ? buf_addf(out, "%s: %s\n", name, value) : 0;
}

/* Writes the request as it would be sent, so that people can compare it with the API's documentation. */
int client_explain(const struct client *c, const struct client_call *q, struct buf *out, struct fail *f)
{
	int rc = client_check_path(q->path, f);

	if (rc)
		return rc;
	rc |= buf_addf(out, "%s %s%s\n", q->method, c->socket ? c->url : c->base, q->path);
	rc |= client_text_add_header(out, "Accept", q->accept ? q->accept : "application/json");
	rc |= client_text_add_header(out, "Authorization", c->token ? "Bearer ***" : NULL);
	rc |= client_text_add_header(out, "Content-Type", !q->body ? NULL : q->type ? q->type : "application/json");
	rc |= client_text_add_header(out, "Idempotency-Key", q->key);
	if (q->body)
		rc |= buf_addc(out, '\n') | buf_add(out, q->body, q->body_len ? q->body_len : strlen(q->body)) |
			buf_addc(out, '\n');
	return rc ? fail_set(f, -ENOMEM, "out of memory") : 0;
}
