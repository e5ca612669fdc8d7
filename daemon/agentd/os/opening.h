/* SPDX-License-Identifier: Apache-2.0 */
/* A network that nodes may reach although it is private: what the machine's owner wrote after --allow-net. */
#ifndef AGENTD_OS_OPENING_H
#define AGENTD_OS_OPENING_H

#include <stdbool.h>
#include <stdint.h>

enum { OPENING_TEXT = 32, OPENING_ADDRESS = 32, OPENING_WIDEST = 8 };

struct opening {
	uint32_t net;  /* in the host's byte order; bits beyond the prefix are 0 */
	unsigned bits; /* 0 to OPENING_ADDRESS: one address */
	unsigned port; /* of TCP and UDP; 0: all protocols */
};

/* Reads "192.168.1.0/24", "192.168.1.5" or "192.168.1.5:2049". */
bool opening_read(const char *text, struct opening *out);

/* Loopback, link-local and multicast addresses and the nodes' own networks, as texts; NULL ends them. */
extern const char *const opening_never[];

/* Not within those, and no wider than a private network can be. */
bool opening_is_possible(const struct opening *o);

/* As opening_read reads it, always with the prefix: "192.168.1.5/32:2049". */
void opening_text(const struct opening *o, char room[OPENING_TEXT]);

#endif
