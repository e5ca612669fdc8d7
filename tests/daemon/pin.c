/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A market whose certificate nobody signed, known by its key alone: the client with the right pin talks
 * to it, with another one or none it sends nothing. The market tells its pin itself.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "market/client.h"
#include "market/wire.h"

#include "../lib/tap.h"
#include "../lib/tool.h"
#include "../lib/web.h"

static struct proc p;
static char url[64];

/* What the market at this URL says of itself; the status of client_send. tls_key: its pin, where it tells one. */
static int ask(const struct client_setup *setup, char tls_key[128], struct fail *f)
{
	const struct client_call call = { .method = "GET", .path = "/np/v1" };
	struct client_answer a;
	struct model_market m = { 0 };
	struct client *c = NULL;
	struct doc *d = NULL;
	int rc = client_new(setup, &c, f);

	if (rc)
		return rc;
	client_answer_init(&a);
	rc = client_send(c, &call, &a, f);
	if (!rc)
		rc = doc_parse(buf_text(&a.body), a.body.len, &d, f);
	if (!rc)
		rc = wire_market(d, WIRE_WHOLE, &m, f);
	if (!rc && tls_key)
		snprintf(tls_key, 128, "%s", m.tls_key ? m.tls_key : "");
	if (rc == CLIENT_UNTRUSTED)
		is_int(a.sent, CLIENT_NOT_SENT, "and nothing was sent");
	doc_free(d);
	client_answer_release(&a);
	client_free(c);
	return rc;
}

static void test_pins(const char *pin)
{
	char other[128], told[128] = "";
	struct client_setup setup = { .url = url, .pin = pin, .token = "npk_secret" };
	struct fail f = { 0 };

	is_int(ask(&setup, told, &f), 0, "with its pin: %s", f.text);
	is_str(told, pin, "it tells the same");
	snprintf(other, sizeof other, "%s", pin);
	other[10] = other[10] == 'A' ? 'B' : 'A';
	setup.pin = other;
	is_int(ask(&setup, NULL, &f), CLIENT_UNTRUSTED, "with another: %s", f.text);
	has_str(f.text, "is not the pinned one", "says so");
	setup.pin = NULL;
	is_int(ask(&setup, NULL, &f), CLIENT_UNTRUSTED, "without one: %s", f.text);
	setup.ca = "cert.pem";
	is_int(ask(&setup, NULL, &f), 0, "with its certificate believed: %s", f.text);
	setup.pin = other;
	is_int(ask(&setup, NULL, &f), CLIENT_UNTRUSTED, "a certificate that is believed does not mend a wrong pin");
}

static void test_forms(const char *pin)
{
	struct client_setup setup = { .url = url, .pin = "/etc/passwd" };
	struct fail f = { 0 };

	is_int(ask(&setup, NULL, &f), CLIENT_BAD_SETUP, "what is no pin is no file's name either: %s", f.text);
	setup.pin = "sha256//short=";
	is_int(ask(&setup, NULL, &f), CLIENT_BAD_SETUP, "nor a part of one");
	setup.pin = pin;
	setup.url = "http://127.0.0.1:1";
	is_int(ask(&setup, NULL, &f), CLIENT_BAD_SETUP, "and none without TLS: %s", f.text);
}

/* A certificate of its own, and the pin of its key as openssl has it; false: there is no openssl. */
static bool make_certificate(char pin[128])
{
	char hash[100] = "";

	if (tool_run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
		    "-days", "2", "-subj", "/CN=market", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem",
		    "-out", "cert.pem") != 0)
		return false;
	tool_output(hash, "sh", "-c", "openssl x509 -in cert.pem -pubkey -noout | openssl pkey -pubin -outform DER | "
		"openssl dgst -sha256 -binary | openssl base64 -A");
	snprintf(pin, 128, "sha256//%s", hash);
	return strlen(hash) == 44;
}

int main(void)
{
	static const char *const options[] = { "--tls-cert", "cert.pem", "--tls-key", "key.pem", NULL };
	char pin[128];

	plan_none;
	if (!tool_begin())
		return 1;
	if (!make_certificate(pin)) {
		skip("openssl is not installed");
	} else {
		proc_init(&p, "market");
		ok(proc_start(&p, options), "a market with a certificate of its own");
		snprintf(url, sizeof url, "https://127.0.0.1:%d", p.port);
		test_pins(pin);
		test_forms(pin);
		proc_end(&p, SIGTERM);
	}
	tool_end();
	return done();
}
