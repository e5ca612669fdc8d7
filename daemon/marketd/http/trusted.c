/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/http/trusted.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum { MAPPED_BITS = 96, TRUSTED_TEXT = INET6_ADDRSTRLEN + 8 };

static struct in6_addr trusted_mapped(struct in_addr v4)
{
	struct in6_addr out = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(out.s6_addr + 12, &v4, sizeof v4);
	return out;
}

/* *v4: it was written as one. */
static bool trusted_address(const char *text, struct in6_addr *out, bool *v4)
{
	struct in_addr four;

	*v4 = inet_pton(AF_INET, text, &four) == 1;
	if (!*v4)
		return inet_pton(AF_INET6, text, out) == 1;
	*out = trusted_mapped(four);
	return true;
}

bool trusted_read(const char *text, struct trusted_net *out)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char room[INET6_ADDRSTRLEN];
	long bits = 0;
	bool v4;

	if (len >= sizeof room)
		return false;
	memcpy(room, text, len);
	room[len] = '\0';
	if (!trusted_address(room, &out->address, &v4))
		return false;
	if (slash && str_to_long(slash + 1, 0, v4 ? 32 : 128, &bits) != 0)
		return false;
	out->bits = !slash ? 128 : (int)bits + (v4 ? MAPPED_BITS : 0);
	return true;
}

static bool trusted_has(const struct trusted *t, const struct in6_addr *a)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct trusted_net *n = &t->nets[i];
		int bytes = n->bits / 8, rest = n->bits % 8;
		uint8_t mask = (uint8_t)(0xff00 >> rest);

		if (memcmp(a->s6_addr, n->address.s6_addr, (size_t)bytes) == 0 &&
			(!rest || ((a->s6_addr[bytes] ^ n->address.s6_addr[bytes]) & mask) == 0))
			return true;
	}
	return false;
}

bool trusted_knows(const struct trusted *t, const struct sockaddr *peer)
{
	struct in6_addr a;

	if (!t->count || !peer || (peer->sa_family != AF_INET && peer->sa_family != AF_INET6))
		return false;
	if (peer->sa_family == AF_INET)
		a = trusted_mapped(((const struct sockaddr_in *)(const void *)peer)->sin_addr);
	else
		a = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
	return trusted_has(t, &a);
}

/* "1.2.3.4", "1.2.3.4:5", "2001:db8::1" or "[2001:db8::1]:5", with spaces around. */
static bool trusted_word(const char *text, size_t len, struct in6_addr *out)
{
	char room[TRUSTED_TEXT], *at = room, *colon;
	bool v4;

	while (len && (*text == ' ' || *text == '\t'))
		text++, len--;
	while (len && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	if (len >= sizeof room)
		return false;
	memcpy(room, text, len);
	room[len] = '\0';
	if (*at == '[') {
		at++;
		at[strcspn(at, "]")] = '\0';
	} else if ((colon = strchr(at, ':')) && !strchr(colon + 1, ':')) {
		*colon = '\0';
	}
	return trusted_address(at, out, &v4);
}

static void trusted_put(const struct in6_addr *a, struct sockaddr_storage *out)
{
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = *a };

	memset(out, 0, sizeof *out);
	memcpy(&four.sin_addr, a->s6_addr + 12, sizeof four.sin_addr);
	if (IN6_IS_ADDR_V4MAPPED(a))
		memcpy(out, &four, sizeof four);
	else
		memcpy(out, &six, sizeof six);
}

bool trusted_client(const struct trusted *t, const char *list, struct sockaddr_storage *out)
{
	size_t end = strlen(list);
	struct in6_addr a;
	bool found = false;

	for (;;) {
		size_t begin = end;

		while (begin && list[begin - 1] != ',')
			begin--;
		if (!trusted_word(list + begin, end - begin, &a))
			return found; /* the nearest proxy that said so */
		trusted_put(&a, out);
		found = true;
		if (!begin || !trusted_has(t, &a))
			return true;
		end = begin - 1;
	}
}
