/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that are listened on, and who is at the other end of a local one. */
#ifndef MARKETD_HTTP_LISTEN_H
#define MARKETD_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

enum { LISTEN_TEXT = 160 };

/* "127.0.0.1:8443", "[::1]:0", "localhost:80". *loopback: nobody else can reach it. where: with the port that it got. */
int listen_tcp(const char *text, int *fd, bool *loopback, char where[LISTEN_TEXT], struct fail *f);

/* A stale socket of an ended market is replaced; one that somebody listens on is not. Mode 0600. */
int listen_unix(const char *path, int *fd, struct fail *f);

/* The user at the other end of a unix socket; false where it cannot be told. */
bool listen_peer_uid(int fd, uid_t *uid);

struct sockaddr;
/* A number for an address (of IPv6 its /64, which one customer has): for counting per address. 0: none. */
uint64_t listen_address_key(const struct sockaddr *addr);

#endif
