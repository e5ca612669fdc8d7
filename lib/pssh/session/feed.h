/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of what arrived libssh2 may have at once. libssh2 1.10 believes the length in a packet's
 * first block before it checks the packet, and aborts the whole program if that is no multiple of the
 * cipher's block. So it gets the first block alone; the memory that it then asks for tells the length;
 * and only if that can be, it gets the rest of that packet.
 */
#ifndef PSSH_SESSION_FEED_H
#define PSSH_SESSION_FEED_H

#include <libssh2.h>
#include <stdbool.h>
#include <stddef.h>

struct feed {
	bool on;                 /* later versions have packets of other shapes */
	bool encrypted, newkeys; /* newkeys: encrypted from the next packet on */
	bool counts;             /* what is given next belongs to a packet */
	bool asks;               /* libssh2's next allocation is that for the packet */
	bool first;              /* nothing was given after the first block */
	bool damaged;            /* the length cannot be right, so nothing more is given */
	size_t head, mac;        /* bytes of the first block, and of the check sum at the end */
	size_t given, rest;      /* of the first block; still to give after it */
};

void feed_init(struct feed *f);
/* How many of the len bytes that libssh2 asks for it may have now. 0: none, as the packet is damaged. */
size_t feed_room(struct feed *f, LIBSSH2_SESSION *session, size_t len);
void feed_gave(struct feed *f, const void *data, size_t len);
/* libssh2 allocates so many bytes. */
void feed_allocates(struct feed *f, size_t len);

#endif
