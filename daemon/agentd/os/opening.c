/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/opening.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static uint32_t opening_mask(unsigned bits)
{
	return bits ? ~0U << (32 - bits) : 0;
}

/* Cuts text at the sign and reads the number behind it. False: it is no number of that range. */
static bool opening_cut(char *text, char sign, long min, long max, unsigned *out)
{
	char *at = strchr(text, sign);
	long n;

	if (!at)
		return true;
	*at = '\0';
	if (str_to_long(at + 1, min, max, &n) != 0)
		return false;
	*out = (unsigned)n;
	return true;
}

bool opening_read(const char *text, struct opening *out)
{
	struct opening o = { .bits = 32 };
	char room[OPENING_TEXT];
	struct in_addr a;

	if (strlen(text) >= sizeof room)
		return false;
	snprintf(room, sizeof room, "%s", text);
	if (!opening_cut(room, ':', 1, 65535, &o.port) || !opening_cut(room, '/', 0, 32, &o.bits) ||
		inet_pton(AF_INET, room, &a) != 1)
		return false;
	o.net = ntohl(a.s_addr) & opening_mask(o.bits);
	*out = o;
	return true;
}

const char *const opening_never[] = { "0.0.0.0/8", "10.0.2.0/24", "10.88.0.0/16", "127.0.0.0/8", "169.254.0.0/16",
	"224.0.0.0/3", NULL };

bool opening_is_possible(const struct opening *o)
{
	if (o->bits < OPENING_WIDEST)
		return false;
	for (size_t i = 0; opening_never[i]; i++) {
		struct opening n;

		if (opening_read(opening_never[i], &n) && o->bits >= n.bits && (o->net & opening_mask(n.bits)) == n.net)
			return false;
	}
	return true;
}

void opening_text(const struct opening *o, char room[OPENING_TEXT])
{
	struct in_addr a = { .s_addr = htonl(o->net) };
	char address[INET_ADDRSTRLEN] = "";
	size_t n;

	inet_ntop(AF_INET, &a, address, sizeof address);
	n = (size_t)snprintf(room, OPENING_TEXT, "%s/%u", address, o->bits);
	if (o->port)
		snprintf(room + n, OPENING_TEXT - n, ":%u", o->port);
}
