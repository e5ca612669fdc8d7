/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open Policy Agent in place of our own rules: POST /v1/data/… with the same document. It fails closed: a server that
 * is away, hangs, has no answer or an odd one denies, within a second, and holds nobody up once it has failed often.
 */
#ifndef MARKETD_POLICY_OPA_H
#define MARKETD_POLICY_OPA_H

#include "base/log.h"
#include "marketd/policy/rules.h"

#define OPA_PATH "/v1/data/nanopod/decision"

enum { OPA_WAIT_MS = 1500 }; /* for who waits for an answer */

struct opa_settings {
	const char *where;      /* "http://HOST:PORT", with a path if it is not OPA_PATH, or "unix:PATH"; NULL: none */
	const char *token_file; /* what it wants as a bearer, and shows at our door; NULL: nothing */
	const char *bundle;     /* a folder of rules that it fetches from us; NULL: none */
	const char *decisions;  /* where opadoor.c keeps what it says that it decided */
};

struct opa;
struct outward;

/* set must outlive it. 0, -EINVAL, -ENOMEM or -errno of the file. */
int opa_new(struct opa **out, const struct opa_settings *set, struct outward *outward, const struct log *log,
	struct fail *f);
int opa_reload(struct opa *o, struct fail *f); /* the token; the old one stays where that fails */
void opa_free(struct opa *o); /* before its outward */

/*
 * true: *out is decided, and counts for some seconds, whatever the input's time. false: the answer is on its way; ask
 * again when an errand has ended, and refuse after OPA_WAIT_MS.
 */
bool opa_ask(struct opa *o, json_t *input, int64_t now_ms, struct decision *out);

#endif
