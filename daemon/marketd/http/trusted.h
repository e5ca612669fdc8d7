/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proxies before the market that the operator trusts: whom they say a request comes from, in X-Forwarded-For, counts
 * for limits and in the log. What anybody else says there counts for nothing.
 */
#ifndef MARKETD_HTTP_TRUSTED_H
#define MARKETD_HTTP_TRUSTED_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

enum { TRUSTED_MAX = 16 };

/* An address, or all that begin as it does. IPv4 as ::ffff:a.b.c.d. */
struct trusted_net {
	struct in6_addr address;
	int bits;
};

struct trusted {
	struct trusted_net nets[TRUSTED_MAX];
	size_t count;
};

bool trusted_read(const char *text, struct trusted_net *out); /* "10.0.0.1", "10.0.0.0/8", "2001:db8::/32" */
bool trusted_knows(const struct trusted *t, const struct sockaddr *peer);

/*
 * Who stands behind a peer that is trusted: the last address of the list that is no such proxy's, as each proxy adds
 * whom it serves at the end. *out is IPv4 or IPv6. false: the list has none that can be read, so it is the peer itself.
 */
bool trusted_client(const struct trusted *t, const char *list, struct sockaddr_storage *out);

#endif
