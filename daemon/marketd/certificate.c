/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/certificate.h"

#include <errno.h>
#include <string.h>

enum { PEM_MAX = 1 << 20 };

static void certificate_wipe(struct buf *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buf_release(b);
}

static int certificate_read_next(const struct options *o, struct certificate *c, struct fail *f)
{
	struct buf text;
	int rc;

	buf_init(&text, PEM_MAX);
	rc = buf_read_file(&text, o->tls_next);
	if (rc == -ENOENT)
		rc = 0; /* until there is one */
	else if (rc != 0)
		fail_errno(f, rc, -rc, "cannot read the next key '%s'", o->tls_next);
	else if (listen_tls_key(buf_text(&text), c->next) != 0)
		rc = fail_set(f, -EINVAL, "no key or certificate in '%s'", o->tls_next);
	certificate_wipe(&text);
	if (strcmp(c->next, c->pin) == 0)
		c->next[0] = '\0'; /* it is in use already */
	return rc;
}

int certificate_read(const struct options *o, struct certificate *c, struct fail *f)
{
	int rc;

	*c = (struct certificate){ .pin = "" };
	buf_init(&c->cert, PEM_MAX);
	buf_init(&c->key, PEM_MAX);
	if (!o->tls_cert)
		return 0;
	rc = buf_read_file(&c->cert, o->tls_cert);
	if (rc != 0)
		return fail_errno(f, rc, -rc, "cannot read the certificate '%s'", o->tls_cert);
	rc = buf_read_file(&c->key, o->tls_key);
	if (rc != 0)
		return fail_errno(f, rc, -rc, "cannot read the key '%s'", o->tls_key);
	if (listen_tls_key(buf_text(&c->cert), c->pin) != 0)
		return fail_set(f, -EINVAL, "no certificate in '%s'", o->tls_cert);
	return o->tls_next ? certificate_read_next(o, c, f) : 0;
}

void certificate_release(struct certificate *c)
{
	certificate_wipe(&c->key);
	buf_release(&c->cert);
}
