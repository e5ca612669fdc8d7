/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body's length is said once. Then what libmicrohttpd before 1.0 lets pass in a request's head: a NUL, which ends a
 * text for us and not for a proxy, a bare LF, and folded lines. It leaves the head where it read it and ends each part
 * with a NUL, so the parts of a plain head lie side by side: CR and LF apart, or the space of the first line.
 */
#include <microhttpd.h>

#include <string.h>
#include <strings.h>

#include "marketd/http/http_head.h"

#if MHD_VERSION < 0x01000000

enum { HEAD_EOL = 2 };

struct head_walk {
	const char *at; /* where the next part begins in a plain head */
	bool plain;
};

static enum MHD_Result head_field(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head_walk *w = cls;

	(void)kind;
	w->plain = w->plain && name == w->at && value;
	if (!w->plain)
		return MHD_NO;
	w->at = value + strlen(value) + HEAD_EOL;
	return MHD_YES;
}

static bool head_plain(struct MHD_Connection *mhd, const char *method, const char *target, size_t len,
	const char *version)
{
	const union MHD_ConnectionInfo *size = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct head_walk w = { .at = version + strlen(version) + HEAD_EOL };

	w.plain = method + strlen(method) + 1 == target && target + len + 1 == version;
	if (w.plain)
		MHD_get_connection_values(mhd, MHD_HEADER_KIND, head_field, &w);
	return w.plain && size && method + size->header_size == w.at + HEAD_EOL;
}

#else

static bool head_plain(struct MHD_Connection *mhd, const char *method, const char *target, size_t len,
	const char *version)
{
	(void)mhd, (void)method, (void)target, (void)len, (void)version;
	return true;
}

#endif

/* What says how long a body is. */
struct head_framing {
	int lengths, codings;
	bool other; /* a coding that is not chunked */
};

static enum MHD_Result head_count_framing(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct head_framing *f = cls;

	(void)kind;
	f->lengths += strcasecmp(name, "Content-Length") == 0;
	if (strcasecmp(name, "Transfer-Encoding") != 0)
		return MHD_YES;
	f->codings++;
	f->other = f->other || !value || strcasecmp(value, "chunked") != 0;
	return MHD_YES;
}

const char *head_fault(struct MHD_Connection *mhd, const char *method, const char *target, size_t len,
	const char *version)
{
	struct head_framing f = { 0 };

	if (target && !head_plain(mhd, method, target, len, version))
		return "the head of the request has a NUL, a folded line, or a line that does not end in CR LF";
	/* A proxy may go by the one and we by the other: one request would become two. */
	MHD_get_connection_values(mhd, MHD_HEADER_KIND, head_count_framing, &f);
	return f.lengths + f.codings > 1 || f.other
		? "a request has one length or is chunked once, not both, and no other coding"
		: NULL;
}

static enum MHD_Result head_add_forwarded(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct buf *list = cls;

	(void)kind;
	if (strcasecmp(name, "X-Forwarded-For") == 0 && value)
		return buf_addf(list, "%s%s", list->len ? "," : "", value) == 0 ? MHD_YES : MHD_NO;
	return MHD_YES;
}

void head_forwarded(struct MHD_Connection *mhd, struct buf *list)
{
	MHD_get_connection_values(mhd, MHD_HEADER_KIND, head_add_forwarded, list);
}
