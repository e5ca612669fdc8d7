/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/keep/keepkey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pssh/keys/agent.h"
#include "pssh/keys/sshwire.h"
#include "pssh/pssh_types.h"

static int keepkey_text(struct buf *b, const char *s)
{
	int rc = buf_addc(b, s ? 1 : 0);

	return rc ? rc : sshwire_add_text(b, s ? s : "");
}

/* An agent by its socket: another one under its name is another agent. */
static int keepkey_agent(struct buf *b, const char *path)
{
	struct stat st = { 0 };
	int rc = keepkey_text(b, path);

	if (rc || !path || stat(path, &st) != 0)
		return rc;
	return buf_addf(b, "%llu %llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
}

static int keepkey_identity(struct buf *b, struct keyring *keys, const char *path)
{
	const char *facts;
	int rc = keepkey_text(b, path);

	rc = rc ? rc : keyring_facts(keys, path, &facts);
	return rc ? rc : keepkey_text(b, facts);
}

static int keepkey_pins(struct buf *b, const struct hostkey_rule *rule)
{
	int rc = 0;

	for (size_t i = 0; i < rule->pin_count && !rc; i++)
		rc = keepkey_text(b, rule->pins[i].fingerprint);
	return rc;
}

int keepkey_add(struct buf *b, const struct conn_plan *plan, struct keyring *keys)
{
	const struct auth_want *auth = &plan->auth;
	int rc = keepkey_text(b, plan->address);

	rc = rc ? rc : keepkey_text(b, plan->user);
	rc = rc ? rc : keepkey_text(b, plan->proxy);
	rc = rc ? rc : keepkey_text(b, plan->bind);
	rc = rc ? rc : keepkey_text(b, auth->host);
	rc = rc ? rc : keepkey_text(b, plan->hostkey.host);
	rc = rc ? rc : keepkey_pins(b, &plan->hostkey);
	rc = rc ? rc
		: buf_addf(b, " %u %d %u %d %d %d %d %d %d ", plan->port, plan->family, plan->hostkey.port,
			  (int)plan->hostkey.policy, auth->identities_only, auth->pubkey, auth->kbdint, auth->password,
			  auth->agent != NULL);
	for (int i = 0; i < PSSH_ALGS && !rc; i++)
		rc = keepkey_text(b, plan->algorithms[i]);
	for (char *const *s = auth->identities; s && *s && !rc; s++)
		rc = keepkey_identity(b, keys, *s);
	return rc ? rc : keepkey_agent(b, auth->agent ? agent_path(auth->agent) : NULL);
}

void keepkey_name(const struct buf *b, char name[KEEPKEY_NAME])
{
	char sum[WIRE_FINGERPRINT];

	sshwire_fingerprint(buf_text(b), b->len, sum);
	snprintf(name, KEEPKEY_NAME, "%s", strchr(sum, ':') + 1);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '_' : *c == '+' ? '-' : *c;
}
