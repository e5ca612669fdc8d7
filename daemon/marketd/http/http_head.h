/* SPDX-License-Identifier: Apache-2.0 */
/* What a proxy might read in another way in a request's head. Include <microhttpd.h> first. */
#ifndef MARKETD_HTTP_HTTP_HEAD_H
#define MARKETD_HTTP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* NULL, or what is wrong with it. target: where libmicrohttpd read it, len bytes long; NULL: it is not known. */
const char *head_fault(struct MHD_Connection *mhd, const char *method, const char *target, size_t len,
	const char *version);

/* X-Forwarded-For; several headers of the name are one list. list has room for a whole head. */
void head_forwarded(struct MHD_Connection *mhd, struct buf *list);

#endif
