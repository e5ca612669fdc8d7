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
	const struct hostkey_rule *rule = &h->plan.hostkey;
	int rc = entry_here(h->fleet);
	struct knownhosts_pin pin;

	rc = rc ? rc : known_plan(h);
	if (rc)
		return rc;
	rc = knownhosts_pin_parse(key, &pin, &h->fleet->why);
	if (rc)
		return rc;
	if (!pin.blob)
		rc = entry_refuse(h->fleet, "a fingerprint is no key");
	else
		rc = knownhosts_remember(rule->known, rule->host, rule->port, pin.blob, pin.len, rule->hashed,
			&h->fleet->why);
	knownhosts_pin_release(&pin);
	return rc;
}
