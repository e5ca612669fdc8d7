/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/opadoor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <openssl/crypto.h>

#include "marketd/policy/opatoken.h"

#define OPADOOR_SCHEME "Bearer "

struct opadoor {
	const struct opa_settings *set;
	struct bundle bundle;
	struct decisionlog *log;
	char token[OPATOKEN];
};

int opadoor_reload(struct opadoor *d, struct fail *f)
{
	struct bundle fresh = { 0 };
	int rc = d->set->bundle ? bundle_read(d->set->bundle, &fresh, f) : 0;

	rc = rc ? rc : opatoken_read(d->set->token_file, d->token, f);
	bundle_release(rc ? &fresh : &d->bundle);
	if (rc == 0)
		d->bundle = fresh;
	return rc;
}

int opadoor_new(struct opadoor **out, const struct opa_settings *set, struct fail *f)
{
	struct opadoor *d = calloc(1, sizeof *d);
	int rc;

	if (!d)
		return fail_set(f, -ENOMEM, "out of memory");
	d->set = set;
	rc = opadoor_reload(d, f);
	rc = rc ? rc : decisionlog_open(&d->log, set->decisions, f);
	if (rc)
		opadoor_free(d);
	else
		*out = d;
	return rc;
}

void opadoor_free(struct opadoor *d)
{
	if (!d)
		return;
	bundle_release(&d->bundle);
	decisionlog_free(d->log);
	explicit_bzero(d->token, sizeof d->token);
	free(d);
}

bool opadoor_knows(const struct opadoor *d, const char *authorization)
{
	size_t len = strlen(d->token), scheme = strlen(OPADOOR_SCHEME);

	return len && authorization && strncasecmp(authorization, OPADOOR_SCHEME, scheme) == 0 &&
		strlen(authorization + scheme) == len && CRYPTO_memcmp(authorization + scheme, d->token, len) == 0;
}

const struct bundle *opadoor_bundle(const struct opadoor *d)
{
	return d->set->bundle ? &d->bundle : NULL;
}

struct decisionlog *opadoor_log(struct opadoor *d)
{
	return d->log;
}
