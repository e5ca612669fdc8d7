/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/socks.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

enum {
	CONNECT = 1,
	IPV4 = 1,
	NAME = 3,
	IPV6 = 4,
	NO_AUTHENTICATION = 0,
	NO_METHOD = 0xff,
	GRANTED = 0,
	FAILED = 1,
	REFUSED = 5,
	NO_COMMAND = 7,
	NO_ADDRESS = 8,
	GRANTED4 = 90,
	FAILED4 = 91
};

static int socks_reply(int version, int code, struct buf *out)
{
	const uint8_t five[10] = { 5, (uint8_t)code, 0, IPV4 }, four[8] = { 0, (uint8_t)code };

	return version == 5 ? buf_add(out, five, sizeof five) : buf_add(out, four, sizeof four);
}

static int socks_refuse(int version, int code, struct buf *out)
{
	socks_reply(version, code, out);
	return SOCKS_BAD;
}

static bool socks_name(struct socks *s, const uint8_t *name, size_t len)
{
	if (!len || len >= sizeof s->host)
		return false;
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] >= 127)
			return false;
	memcpy(s->host, name, len);
	s->host[len] = '\0';
	return true;
}

static int socks_ready(struct socks *s, const uint8_t *port, struct buf *in, size_t used)
{
	s->port = (unsigned)port[0] << 8 | port[1];
	buf_drop(in, used);
	return SOCKS_CONNECT;
}

static int socks_greet(struct socks *s, struct buf *in, struct buf *out)
{
	const uint8_t *p = (const uint8_t *)in->data;
	uint8_t answer[2] = { 5, NO_METHOD };

	if (in->len < 2 || in->len < 2u + p[1])
		return SOCKS_MORE;
	if (memchr(p + 2, NO_AUTHENTICATION, p[1]))
		answer[1] = NO_AUTHENTICATION;
	buf_drop(in, 2u + p[1]);
	s->greeted = true;
	return buf_add(out, answer, sizeof answer) != 0 || answer[1] == NO_METHOD ? SOCKS_BAD : SOCKS_MORE;
}

static int socks_five(struct socks *s, struct buf *in, struct buf *out)
{
	const uint8_t *p = (const uint8_t *)in->data;
	size_t len;

	if (!s->greeted && socks_greet(s, in, out) == SOCKS_BAD)
		return SOCKS_BAD;
	p = (const uint8_t *)in->data;
	if (!s->greeted || in->len < 5)
		return SOCKS_MORE;
	if (p[0] != 5 || p[2] != 0)
		return socks_refuse(5, FAILED, out);
	if (p[1] != CONNECT)
		return socks_refuse(5, NO_COMMAND, out);
	if (p[3] != IPV4 && p[3] != NAME && p[3] != IPV6)
		return socks_refuse(5, NO_ADDRESS, out);
	len = p[3] == IPV4 ? 4 : p[3] == IPV6 ? 16 : 1u + p[4];
	if (in->len < 4 + len + 2)
		return SOCKS_MORE;
	if (p[3] == NAME && !socks_name(s, p + 5, p[4]))
		return socks_refuse(5, FAILED, out);
	if (p[3] != NAME)
		inet_ntop(p[3] == IPV4 ? AF_INET : AF_INET6, p + 4, s->host, sizeof s->host);
	return socks_ready(s, p + 4 + len, in, 4 + len + 2);
}

/* Version, command, port, address, the user's name with NUL; 4a: address 0.0.0.x, and the host's name with NUL. */
static int socks_four(struct socks *s, struct buf *in, struct buf *out)
{
	enum { HEAD = 8, TEXT = 256 };
	const uint8_t *p = (const uint8_t *)in->data, *end, *name;
	bool named;

	if (in->len < HEAD)
		return SOCKS_MORE;
	if (p[1] != CONNECT)
		return socks_refuse(4, FAILED4, out);
	end = memchr(p + HEAD, 0, in->len - HEAD);
	if (!end)
		return in->len - HEAD < TEXT ? SOCKS_MORE : socks_refuse(4, FAILED4, out);
	named = !p[4] && !p[5] && !p[6] && p[7];
	if (!named) {
		inet_ntop(AF_INET, p + 4, s->host, sizeof s->host);
		return socks_ready(s, p + 2, in, (size_t)(end + 1 - p));
	}
	name = end + 1;
	end = memchr(name, 0, in->len - (size_t)(name - p));
	if (!end && in->len - (size_t)(name - p) < TEXT)
		return SOCKS_MORE;
	if (!end || !socks_name(s, name, (size_t)(end - name)))
		return socks_refuse(4, FAILED4, out);
	return socks_ready(s, p + 2, in, (size_t)(end + 1 - p));
}

int socks_step(struct socks *s, struct buf *in, struct buf *out)
{
	int rc;

	if (!s->version && in->len)
		s->version = (uint8_t)in->data[0];
	if (!s->version && !in->len)
		return SOCKS_MORE;
	rc = s->version == 5 ? socks_five(s, in, out) : s->version == 4 ? socks_four(s, in, out) : SOCKS_BAD;
	if (rc == SOCKS_CONNECT && !s->port)
		return socks_refuse(s->version, s->version == 5 ? FAILED : FAILED4, out);
	return rc;
}

int socks_answer(const struct socks *s, bool connected, bool refused, struct buf *out)
{
	int code = connected ? GRANTED : refused ? REFUSED : FAILED;

	return socks_reply(s->version, s->version == 5 ? code : connected ? GRANTED4 : FAILED4, out);
}
