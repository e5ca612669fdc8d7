/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to addresses without blocking the loop. Only getaddrinfo(3) knows all the ways in which a
 * machine looks up names, and it blocks, so a few threads call it. A numeric address needs no thread.
 */
#ifndef PSSH_SESSION_RESOLVE_H
#define PSSH_SESSION_RESOLVE_H

#include <netdb.h>

struct resolver;
struct resolve;

int resolver_new(struct resolver **out);
void resolver_free(struct resolver *r); /* threads that still wait end by themselves later */
/* In a forked child, which has none of the threads: after it, freeing waits for no lock. */
void resolver_leave(struct resolver *r);
int resolver_fd(const struct resolver *r); /* readable: some questions may have been answered */
void resolver_clear(struct resolver *r);

/* 0 or a code. The answer may be ready at once. */
int resolve_start(struct resolver *r, const char *name, unsigned port, int family, struct resolve **out);

/* PSSH_EAGAIN; 0 with *out (free by freeaddrinfo); or PSSH_ERESOLVE with *why. Never call again after these two. */
int resolve_result(struct resolve *q, struct addrinfo **out, const char **why);
void resolve_free(struct resolve *q); /* whatever its state; may be NULL */

#endif
