/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths at which Open Policy Agent finds its service: it fetches the operator's rules and says what it decided. It
 * shows its own token, which opens nothing else; the operator may do the same.
 */
#include "marketd/api/may/opa_routes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "market/reason.h"
#include "marketd/policy/decisionpiece.h"
#include "marketd/policy/opadoor.h"

enum { OPA_ETAG = INPUTKEY_HEX + 3 };

bool api_policy_server(const struct api *api, const struct request *q)
{
	return api->opadoor && opadoor_knows(api->opadoor, q->authorization);
}

/* 0, or refused: nobody else learns even whether there is a policy. */
static int opa_who(struct api *api, const struct request *q, struct reply *r)
{
	bool ours = q->local || (q->scopes & SCOPE_ADMIN);

	if (!ours && !api_policy_server(api, q))
		return q->scopes
			? api_refuse(q, r, REASON_FORBIDDEN, NULL, "%s is for the market's policy server", q->path)
			: api_refuse(q, r, REASON_UNAUTHENTICATED, NULL, "%s",
				  reason_row(REASON_UNAUTHENTICATED)->text);
	return api->opadoor ? 0
			    : api_refuse(q, r, REASON_NOT_FOUND, NULL,
				      "this market has no policy server; start it with --opa or --opa-bundle");
}

static int get_bundle(struct api *api, const struct request *q, struct reply *r)
{
	const struct bundle *b;
	char etag[OPA_ETAG];

	if (opa_who(api, q, r))
		return r->status;
	b = opadoor_bundle(api->opadoor);
	if (!b)
		return api_refuse(q, r, REASON_NOT_FOUND, NULL,
			"this market has no rules in Rego; start it with --opa-bundle DIR");
	snprintf(etag, sizeof etag, "\"%s\"", b->revision);
	buf_clear(&r->body);
	if (api_header(r, "ETag", etag) != 0)
		return api_refuse(q, r, REASON_INTERNAL, NULL, "the answer has no room for its headers");
	if (q->if_none_match && strcmp(q->if_none_match, etag) == 0)
		return r->status = 304;
	if (buf_add(&r->body, b->packed.data, b->packed.len) != 0)
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "the market is out of memory");
	r->type = "application/gzip";
	return r->status = 200;
}

/* Each as a line of the log, too: who forwards that has all of the audit. */
static void opa_tell(const struct api *api, const struct decisionlog_taken *t, int rc)
{
	if (!api->log)
		return;
	for (const char *line = buf_text(&t->lines), *end; (end = strchr(line, '\n')); line = end + 1)
		log_at(api->log, LOG_INFO, "audit: policy server decided: %.*s", (int)(end - line), line);
	if (rc == 0 && t->nameless)
		log_at(api->log, LOG_ERROR,
			"%zu of the policy server's decisions have no decision_id of up to %d plain bytes, and are "
			"not kept",
			t->nameless, DECISION_ID);
	if (rc == 0 && t->cut)
		log_at(api->log, LOG_ERROR,
			"the policy server's decisions are more than %d MiB; the rest of them is not kept",
			DECISIONPIECE_BYTES >> 20);
}

/* Any other answer than 2xx, and the agent keeps them and comes again. */
static int post_logs(struct api *api, const struct request *q, struct reply *r)
{
	struct decisionlog_taken t = { 0 };
	struct fail why = { 0 };
	int rc;

	if (opa_who(api, q, r))
		return r->status;
	buf_init(&t.lines, DECISIONLOG_TEXT);
	rc = decisionlog_take(opadoor_log(api->opadoor), q->raw ? q->raw : "", q->raw_len, &t, &why);
	opa_tell(api, &t, rc);
	if (rc && rc != -EAGAIN && api->log)
		log_at(api->log, LOG_ERROR, "the policy server's decisions are not kept: %s", why.text);
	buf_release(&t.lines);
	if (rc == -EINVAL || rc == -EFBIG)
		return api_refuse(q, r, rc == -EFBIG ? REASON_TOO_LARGE : REASON_MALFORMED, NULL, "%s", why.text);
	if (rc) {
		r->retry_after = 1;
		return api_refuse(q, r, REASON_UNAVAILABLE, NULL, "%s",
			rc == -EAGAIN ? why.text : "the market cannot keep decisions now");
	}
	buf_clear(&r->body);
	return r->status = 204;
}

const struct route api_opa_routes[] = {
	{ METHOD_GET, "/opa/bundles/nanopod.tar.gz", get_bundle, 0, ROUTE_OPEN,
		"The operator's rules for Open Policy Agent, by its token: a bundle, with ETag", NULL, NULL,
		"opa.Bundle", 200 },
	{ METHOD_POST, "/opa/logs", post_logs, 0, ROUTE_OPEN | ROUTE_RAW | ROUTE_POLICY,
		"Take what Open Policy Agent decided, by its token: a JSON array, gzipped or not", NULL, NULL, NULL,
		204 },
	{ 0 },
};

const struct schema schema_opa[] = {
	{ "opa.Bundle", SCHEMA_ANY, NULL, 0, 0, NULL, NULL, "a gzipped tar, not JSON" },
	{ 0 },
};
