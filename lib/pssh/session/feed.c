/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/feed.h"

#include <string.h>

#include "base/str.h"

enum { FEED_FIXED = 0x010b00, FEED_HEAD = 5, FEED_NEWKEYS = 21 }; /* the length and one byte more; a message */

void feed_init(struct feed *f)
{
	*f = (struct feed){ .on = !libssh2_version(FEED_FIXED) };
}

static void feed_shape(struct feed *f, LIBSSH2_SESSION *session)
{
	const char *crypt, *mac;

	f->head = FEED_HEAD;
	f->mac = 0;
	if (!f->encrypted)
		return;
	crypt = libssh2_session_methods(session, LIBSSH2_METHOD_CRYPT_SC);
	mac = libssh2_session_methods(session, LIBSSH2_METHOD_MAC_SC);
	f->head = crypt && (str_starts(crypt, "aes") || str_starts(crypt, "rijndael")) ? 16 : 8;
	f->mac = 20;
	if (mac && strstr(mac, "sha2"))
		f->mac = strstr(mac, "512") ? 64 : 32;
	else if (mac && strstr(mac, "-96"))
		f->mac = 12;
	else if (mac && strstr(mac, "md5"))
		f->mac = 16;
}

size_t feed_room(struct feed *f, LIBSSH2_SESSION *session, size_t len)
{
	size_t most;

	if (!f->on || len == 1) /* libssh2 reads the banner byte by byte */
		return len;
	if (f->damaged)
		return 0;
	if (!f->rest && !f->given)
		feed_shape(f, session);
	most = f->rest ? f->rest : f->head - f->given;
	f->counts = true;
	return len < most ? len : most;
}

void feed_gave(struct feed *f, const void *data, size_t len)
{
	if (!f->counts)
		return;
	f->counts = false;
	if (!f->rest) {
		f->given += len;
		f->asks = f->given == f->head;
		return;
	}
	if (f->first && !f->encrypted)
		f->newkeys = *(const unsigned char *)data == FEED_NEWKEYS;
	f->first = false;
	f->rest -= len;
	if (f->rest)
		return;
	f->given = 0;
	f->encrypted = f->encrypted || f->newkeys;
}

void feed_allocates(struct feed *f, size_t len)
{
	if (!f->asks)
		return;
	f->asks = false;
	f->first = true;
	/* The five bytes of the length are not in the memory, the check sum is. */
	f->damaged = len < f->mac + (f->head - FEED_HEAD) || len == 0 ||
		(f->encrypted && (len - f->mac + FEED_HEAD) % f->head != 0);
	if (!f->damaged)
		f->rest = len - (f->head - FEED_HEAD);
}
