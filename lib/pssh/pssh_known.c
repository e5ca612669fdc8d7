/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for known keys of one host: what is known, and what somebody else learnt. */
#include <stdlib.h>

#include "base/buf.h"
#include "pssh/entry.h"
#include "pssh/pssh.h"

/* While there is a connection, what it uses stays. */
static int known_plan(struct pssh_host *h)
{
	int rc = h->conn ? 0 : host_make_plan(h);

	return rc ? fail_set(&h->fleet->why, rc, "%s", h->why.text) : 0;
}

int pssh_host_known(struct pssh_host *h, char **lines)
{
	const struct hostkey_rule *rule = &h->plan.hostkey;
	int rc = entry_here(h->fleet);
	struct buf b;
	char *text;

	rc = rc ? rc : known_plan(h);
	if (rc)
		return rc;
	buf_init(&b, 1 << 20);
	rc = knownhosts_write(rule->known, rule->host, rule->port, h->alias, h->plan.port, &b);
	text = rc ? NULL : buf_steal(&b);
	buf_release(&b);
	if (!text)
		return entry_no_memory(h->fleet);
	*lines = text;
	return 0;
}

int pssh_host_remember(struct pssh_host *h, const char *key)
{
	char fingerprint[WIRE_FINGERPRINT];
	int rc = entry_here(h->fleet);
	struct knownhosts_pin pin;
	struct hostkey_rule rule;
	struct fail f = { 0 };
	bool learnt;

	rc = rc ? rc : known_plan(h);
	if (rc)
		return rc;
	rc = knownhosts_pin_parse(key, &pin, &h->fleet->why);
	if (rc)
		return rc;
	if (!pin.blob) {
		rc = entry_refuse(h->fleet, "a fingerprint is no key");
	} else {
		/* The other program may lie: where we know or want another key, it teaches us nothing. */
		rule = h->plan.hostkey;
		rule.policy = PSSH_HOSTKEYS_ACCEPT_NEW;
		rc = hostkey_check(pin.blob, pin.len, &rule, fingerprint, &learnt, &f);
		rc = rc ? rc : f.code; /* it could not be written */
		if (rc)
			fail_set(&h->fleet->why, rc, "%s", f.text);
	}
	knownhosts_pin_release(&pin);
	return rc;
}
