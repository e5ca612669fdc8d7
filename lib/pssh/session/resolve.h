/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to addresses without ever blocking the loop. getaddrinfo(3) alone knows all the ways in
 * which a machine looks names up, and it blocks, so a few threads wait in it; a number needs none.
 */
#ifndef PSSH_SESSION_RESOLVE_H
#define PSSH_SESSION_RESOLVE_H

#include <netdb.h>

struct resolver;
struct resolve;

int resolver_new(struct resolver **out);
void resolver_free(struct resolver *r); /* threads that still wait are left to end by themselves */
int resolver_fd(const struct resolver *r); /* readable: look at your questions again */
void resolver_clear(struct resolver *r);

/* 0 or a code. An answer may be there at once. */
int resolve_start(struct resolver *r, const char *name, unsigned port, int family, struct resolve **out);

/* PSSH_EAGAIN; 0 with *out (freeaddrinfo it); or PSSH_ERESOLVE with *why. Ask once more after that never. */
int resolve_result(struct resolve *q, struct addrinfo **out, const char **why);
void resolve_free(struct resolve *q); /* whatever its state; may be NULL */

#endif
