/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the options hold: certificate and key, and which key the market will show next. */
#ifndef MARKETD_CERTIFICATE_H
#define MARKETD_CERTIFICATE_H

#include "base/buf.h"
#include "base/fail.h"
#include "marketd/http/listen.h"
#include "marketd/options.h"

struct certificate {
	struct buf cert, key;
	char pin[LISTEN_KEY_TEXT], next[LISTEN_KEY_TEXT]; /* "": no TLS; none is announced */
};

/* Release it whatever this returns. 0 or a negative code. Without TLS all of it is empty. */
int certificate_read(const struct options *o, struct certificate *c, struct fail *f);
void certificate_release(struct certificate *c);

#endif
