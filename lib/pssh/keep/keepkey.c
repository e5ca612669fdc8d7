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

/* A file, or an agent's socket, by what it is now: another key under its name is another key. */
static int keepkey_file(struct buf *b, const char *path)
{
	struct stat st = { 0 };
	int rc = keepkey_text(b, path);

	if (rc || !path || stat(path, &st) != 0)
		return rc;
	return buf_addf(b, "%llu %llu %lld.%ld %lld", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino,
		S_ISSOCK(st.st_mode) ? 0 : (long long)st.st_mtim.tv_sec,
		S_ISSOCK(st.st_mode) ? 0 : (long)st.st_mtim.tv_nsec, (long long)st.st_size);
}

/* A key file with what is read beside it. */
static int keepkey_identity(struct buf *b, const char *path)
{
	static const char *const beside[] = { "", ".pub", "-cert.pub" };
	int rc = 0;

	for (size_t i = 0; i < sizeof beside / sizeof *beside && !rc; i++) {
		char *name;

		if (asprintf(&name, "%s%s", path, beside[i]) < 0)
			return PSSH_ENOMEM;
		rc = keepkey_file(b, name);
		free(name);
	}
	return rc;
}

static int keepkey_pins(struct buf *b, const struct hostkey_rule *rule)
{
	int rc = 0;

	for (size_t i = 0; i < rule->pin_count && !rc; i++)
		rc = keepkey_text(b, rule->pins[i].fingerprint);
	return rc;
}

int keepkey_add(struct buf *b, const struct conn_plan *plan)
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
		rc = keepkey_identity(b, *s);
	return rc ? rc : keepkey_file(b, auth->agent ? agent_path(auth->agent) : NULL);
}

int keepkey_add_key(struct buf *b, const struct key *key)
{
	size_t len = 0;
	const uint8_t *blob = key_blob(key, &len);

	return blob ? sshwire_add_string(b, blob, len) : PSSH_ENOENT;
}

void keepkey_name(const struct buf *b, char name[KEEPKEY_NAME])
{
	char sum[WIRE_FINGERPRINT];

	sshwire_fingerprint(buf_text(b), b->len, sum);
	snprintf(name, KEEPKEY_NAME, "%s", strchr(sum, ':') + 1);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '_' : *c == '+' ? '-' : *c;
}
