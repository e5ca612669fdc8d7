/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/gateway/reserved.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVED_ASK_MS = 5000 };

int reserved_ask(struct outward *o, const struct reserved_market *m, const char *name, void *owner, struct errand **out,
	struct fail *f)
{
	char url[3 * GATEWAY_TEXT], token[GATEWAY_TEXT + 32];
	const char *headers[] = { token, NULL };
	struct errand_call call = { .method = "GET",
		.url = url,
		.headers = headers,
		.ca = m->ca && *m->ca ? m->ca : NULL,
		.timeout_ms = RESERVED_ASK_MS,
		.max = RESERVED_BYTES,
		.repeatable = true,
		.owner = owner };
	int rc;

	snprintf(url, sizeof url, "%s/np/v1/nodes?reservation=%s&limit=%d", m->url, name, RESERVED_NODES);
	snprintf(token, sizeof token, "Authorization: Bearer %s", m->token);
	rc = errand_new(o, &call, out, f);
	if (rc)
		*out = NULL;
	explicit_bzero(token, sizeof token);
	return rc;
}

/* A seller's agent said where its node is, so it is checked as if it stood in the file. "": it cannot serve. */
static void reserved_host(const json_t *node, char out[GATEWAY_TEXT])
{
	const char *state = json_string_value(json_object_get(node, "status"));
	const char *host = json_string_value(json_object_get(json_object_get(node, "ssh"), "hostname"));
	char address[GATEWAY_TEXT];
	bool runs = state && strcmp(state, "running") == 0 && !json_is_true(json_object_get(node, "host_down"));
	bool v6 = host && strchr(host, ':');
	int len = snprintf(address, sizeof address, "%s%s%s:65535", v6 ? "[" : "", host ? host : "", v6 ? "]" : "");

	*out = '\0';
	if (!runs || !host || len < 0 || (size_t)len >= sizeof address || !gateway_address(address))
		return;
	*strrchr(address, ':') = '\0';
	memcpy(out, address, strlen(address) + 1);
}

static int reserved_read(struct reserved *r, const json_t *data)
{
	size_t most = json_array_size(data), count = 0;
	char(*hosts)[GATEWAY_TEXT] = calloc(most ? most : 1, sizeof *hosts);

	if (!hosts)
		return -ENOMEM;
	for (size_t i = 0; i < most; i++) {
		bool twice = false;

		reserved_host(json_array_get(data, i), hosts[count]);
		for (size_t k = 0; k < count; k++)
			twice = twice || strcmp(hosts[k], hosts[count]) == 0;
		count += *hosts[count] && !twice;
	}
	free(r->hosts);
	r->hosts = hosts;
	r->count = count;
	r->known = true;
	return 0;
}

int reserved_take(struct reserved *r, const struct errand_answer *a, struct fail *f)
{
	json_t *answer = NULL;
	const json_t *data;
	int rc;

	if (a->state != ERRAND_DONE)
		return fail_set(f, -EIO, "%s", a->why);
	if (a->status == 200)
		answer = json_loadb(buf_text(&a->body), a->body.len, JSON_REJECT_DUPLICATES, NULL);
	data = json_object_get(answer, "data");
	/* Where it was and is no more, others may soon have its addresses. */
	if (json_is_array(data) || (a->status == 404 && r->known))
		rc = reserved_read(r, data) == 0 ? 0 : fail_set(f, -ENOMEM, "out of memory");
	else
		rc = fail_set(f, -EPROTO,
			a->status == 404 ? "the account of 'token-file' has no reservation '%s'"
				: a->status == 401 || a->status == 403
				? "the market does not let 'token-file' see the nodes of '%s'"
				: "the market does not say where the nodes of '%s' are",
			r->name);
	json_decref(answer);
	return rc;
}

void reserved_release(struct reserved *r)
{
	free(r->hosts);
	r->hosts = NULL;
	r->count = 0;
}
