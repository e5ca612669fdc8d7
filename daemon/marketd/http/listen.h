/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets, who is at the other end of a local one, and the key that a TLS one shows. */
#ifndef MARKETD_HTTP_LISTEN_H
#define MARKETD_HTTP_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/fail.h"

enum { LISTEN_TEXT = 160, LISTEN_KEY_TEXT = 64 };

/* "127.0.0.1:8443", "[::1]:0", "localhost:80". *loopback: only this machine reaches it. where: with its port. */
int listen_tcp(const char *text, int *fd, bool *loopback, char where[LISTEN_TEXT], struct fail *f);

/* Which socket a descriptor is. libmicrohttpd closes the one that it is given for some of its failures, not for all. */
struct listen_id {
	dev_t device;
	ino_t number;
};
struct listen_id listen_id(int fd);
void listen_drop(int fd, struct listen_id id); /* closes it, where it is that one still */

/* Replaces the stale socket of a market that has ended, never one that somebody listens on. Mode 0600. */
int listen_unix(const char *path, int *fd, struct fail *f);

/* The user at the other end of a unix socket; false if unknown. */
bool listen_peer_uid(int fd, uid_t *uid);

struct sockaddr;
/* A number for an address (IPv6: for its /64, which one customer has), to count per address. 0: none. */
uint64_t listen_address_key(const struct sockaddr *addr);

/*
 * The pin of a key, "sha256//BASE64" of the public key of the first certificate, or else the first key, in this text: a
 * client that knows it can check the market without an authority. 0, or -EINVAL: neither.
 */
int listen_tls_key(const char *pem, char out[LISTEN_KEY_TEXT]);

#endif
