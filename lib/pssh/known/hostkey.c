/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/known/hostkey.h"

#include <stdio.h>
#include <string.h>

#include "pssh/keys/sshwire.h"

/* An RSA key is known that this libssh2 cannot check, so the server was asked for another. */
static bool rsa_is_beyond(const char *known, const char *shown)
{
	return strcmp(known, "ssh-rsa") == 0 && strcmp(shown, "ssh-rsa") != 0 && !libssh2_version(0x010b00);
}

static int check_pins(const struct hostkey_rule *rule, const uint8_t *blob, size_t len, const char *seen,
	struct fail *f)
{
	char type[WIRE_TYPE_MAX], shown[WIRE_TYPE_MAX];

	for (size_t i = 0; i < rule->pin_count; i++)
		if (knownhosts_pin_match(&rule->pins[i], blob, len))
			return 0;
	if (rule->pins[0].blob && sshwire_blob_type(rule->pins[0].blob, rule->pins[0].len, type, sizeof type) &&
		sshwire_blob_type(blob, len, shown, sizeof shown) && rsa_is_beyond(type, shown))
		return fail_set(f, PSSH_EHOSTKEY,
			"the host key of '%s' is %s %s, but its RSA key %s is pinned, and libssh2 before 1.11 cannot "
			"check RSA keys without SHA-1: pin the ed25519 key",
			rule->host, shown, seen, rule->pins[0].fingerprint);
	return fail_set(f, PSSH_EHOSTKEY,
		"the host key of '%s' is %s, but %s is pinned: this is another machine, or somebody is in between",
		rule->host, seen, rule->pins[0].fingerprint);
}

static void hostkey_learn(const struct hostkey_rule *rule, const uint8_t *blob, size_t len, bool *learnt,
	struct fail *f)
{
	*learnt = true;
	if (rule->known)
		knownhosts_remember(rule->known, rule->host, rule->port, blob, len, rule->hashed, f);
}

static int hostkey_unknown(const struct hostkey_rule *rule, const uint8_t *blob, size_t len, const char *seen,
	bool *learnt, struct fail *f)
{
	if (rule->policy != PSSH_HOSTKEYS_ACCEPT_NEW)
		return fail_set(f, PSSH_EHOSTNEW, "the host key of '%s', %s, is not known", rule->host, seen);
	hostkey_learn(rule, blob, len, learnt, f);
	return 0;
}

/* The host's name as a file of known hosts spells it. */
static const char *name_in_file(const struct hostkey_rule *rule, char room[300])
{
	if (!rule->port || rule->port == 22)
		return rule->host;
	snprintf(room, 300, "[%.255s]:%u", rule->host, rule->port);
	return room;
}

static int hostkey_mismatch(const struct hostkey_rule *rule, const uint8_t *blob, size_t len, const char *seen,
	const struct knownhosts_found *found, struct fail *f)
{
	char name[300], shown[WIRE_TYPE_MAX], port[24] = "";

	if (rule->port && rule->port != 22)
		snprintf(port, sizeof port, "-p %u ", rule->port);
	if (!sshwire_blob_type(blob, len, shown, sizeof shown))
		*shown = '\0';
	if (rsa_is_beyond(found->type, shown))
		return fail_set(f, PSSH_EHOSTKEY,
			"only the RSA key of '%s' is known (%s:%u), and libssh2 before 1.11 cannot check it without "
			"SHA-1; \"ssh -o UpdateHostKeys=yes %s'%s' true\" checks it and adds the host's other keys",
			rule->host, found->file, found->line, port, rule->host);
	if (*shown && strcmp(shown, found->type) != 0)
		return fail_set(f, PSSH_EHOSTKEY,
			"the host key of '%s' is %s %s, but %s:%u has its %s key, %s, which it did not "
			"show when asked",
			rule->host, shown, seen, found->file, found->line, found->type, found->fingerprint);
	return fail_set(f, PSSH_EHOSTKEY,
		"the host key of '%s' is %s, but %s:%u has %s: this is another machine, or somebody is in "
		"between; "
		"if it was reinstalled, \"ssh-keygen -f '%s' -R '%s'\" forgets the old key",
		rule->host, seen, found->file, found->line, found->fingerprint, found->file, name_in_file(rule, name));
}

int hostkey_check(const uint8_t *blob, size_t len, const struct hostkey_rule *rule, char *fingerprint, bool *learnt,
	struct fail *f)
{
	struct knownhosts_found found = { .answer = KNOWNHOSTS_UNKNOWN };

	*learnt = false;
	if (!blob)
		return fail_set(f, PSSH_EPROTO, "'%s' showed no host key", rule->host);
	sshwire_fingerprint(blob, len, fingerprint);
	if (rule->pin_count && check_pins(rule, blob, len, fingerprint, f) != 0)
		return PSSH_EHOSTKEY;
	if (rule->pin_count && rule->policy != PSSH_HOSTKEYS_ACCEPT_NEW)
		return 0;
	if (rule->known && knownhosts_check(rule->known, rule->host, rule->port, blob, len, &found) != 0)
		return fail_set(f, PSSH_ENOMEM, "out of memory");
	/* A pin decides alone; with accept-new the key is written to the files too. */
	if (rule->pin_count)
		return found.answer == KNOWNHOSTS_UNKNOWN ? hostkey_unknown(rule, blob, len, fingerprint, learnt, f)
							  : 0;
	switch (found.answer) {
	case KNOWNHOSTS_MATCH:
		return 0;
	case KNOWNHOSTS_MISMATCH:
		return hostkey_mismatch(rule, blob, len, fingerprint, &found, f);
	case KNOWNHOSTS_REVOKED:
		return fail_set(f, PSSH_EREVOKED, "the host key of '%s', %s, is revoked in %s:%u", rule->host,
			fingerprint, found.file, found.line);
	case KNOWNHOSTS_CA_ONLY:
		return fail_set(f, PSSH_EHOSTNEW,
			"only a certificate authority is known for '%s' (%s:%u), and host certificates are not "
			"supported; its key is %s",
			rule->host, found.file, found.line, fingerprint);
	case KNOWNHOSTS_UNKNOWN:
		break;
	}
	return hostkey_unknown(rule, blob, len, fingerprint, learnt, f);
}

int hostkey_decide(struct hostkey_doubt *d, const uint8_t *blob, size_t len, const struct hostkey_rule *rule,
	char *fingerprint, bool *learnt, struct fail *f)
{
	int rc;

	*learnt = false;
	switch (d->verdict) {
	case HOSTKEY_ASKED:
		return PSSH_EAGAIN;
	case HOSTKEY_REFUSED:
		return fail_set(f, d->why.code, "%s", d->why.text);
	case HOSTKEY_ACCEPTED:
		if (d->remember)
			hostkey_learn(rule, blob, len, learnt, f);
		return 0;
	case HOSTKEY_UNASKED:
		break;
	}
	rc = hostkey_check(blob, len, rule, fingerprint, learnt, f);
	if (rule->policy != PSSH_HOSTKEYS_ASK || rule->pin_count || (rc != PSSH_EHOSTNEW && rc != PSSH_EHOSTKEY))
		return rc;
	d->verdict = HOSTKEY_ASKED;
	d->why = *f;
	return PSSH_EAGAIN;
}

bool hostkey_doubtful(const struct hostkey_doubt *d)
{
	return d->verdict == HOSTKEY_ASKED;
}

int hostkey_judge(struct hostkey_doubt *d, enum pssh_hostkey_answer answer, struct fail *f)
{
	d->remember = answer == PSSH_HOSTKEY_REMEMBER;
	if (d->remember && d->why.code != PSSH_EHOSTNEW)
		return fail_set(f, PSSH_EINVAL, "a changed key is not written down: remove the old one first");
	d->verdict = answer == PSSH_HOSTKEY_REFUSE ? HOSTKEY_REFUSED : HOSTKEY_ACCEPTED;
	return 0;
}

static bool has_item(const char *list, const char *item, size_t len)
{
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && strncmp(at, item, len) == 0)
			return true;
	return false;
}

/* Adds an item that is among the preferred: SHA-1, for one, is there on request only. */
static int add_item(struct buf *out, const char *preferred, const char *item)
{
	return has_item(preferred, item, strlen(item)) ? buf_addf(out, "%s%s", out->len ? "," : "", item) : 0;
}

int hostkey_order(const struct hostkey_rule *rule, const char *preferred, struct buf *out)
{
	const char *types[8];
	char pinned[8][WIRE_TYPE_MAX];
	size_t n = rule->known && !rule->pin_count ? knownhosts_types(rule->known, rule->host, rule->port, types, 8)
						   : 0;
	int rc = 0;

	buf_clear(out);
	for (size_t i = 0; i < rule->pin_count && n < 8; i++)
		if (rule->pins[i].blob &&
			sshwire_blob_type(rule->pins[i].blob, rule->pins[i].len, pinned[n], WIRE_TYPE_MAX)) {
			types[n] = pinned[n];
			n++;
		}
	for (size_t i = 0; i < n && !rc; i++) {
		/* A known RSA key serves for every signature algorithm of RSA. */
		if (strcmp(types[i], "ssh-rsa") == 0)
			rc = add_item(out, preferred, "rsa-sha2-512") || add_item(out, preferred, "rsa-sha2-256");
		rc = rc || add_item(out, preferred, types[i]);
	}
	for (const char *at = preferred; *at && !rc; at += strcspn(at, ","), at += *at == ',') {
		size_t len = strcspn(at, ",");

		if (!has_item(buf_text(out), at, len))
			rc = buf_addf(out, "%s%.*s", out->len ? "," : "", (int)len, at);
	}
	return rc ? PSSH_ENOMEM : 0;
}
