/* SPDX-License-Identifier: Apache-2.0 */
/* Asks for the addresses of names, many at once; a server of names that hangs holds nobody up longer than they say. */
#ifndef MARKETD_GATEWAY_GATELOOK_H
#define MARKETD_GATEWAY_GATELOOK_H

#include <netdb.h>
#include <stdint.h>

#include "base/list.h"

struct gatelooks {
	struct list all; /* asked and not forgotten */
};

void gatelooks_init(struct gatelooks *l);
void gatelooks_ask(struct gatelooks *l, const char *host); /* once, however often it is called */
/* Until all are answered, until then on clock_ms(), or until a blocked SIGTERM or SIGINT is pending. */
void gatelooks_wait(struct gatelooks *l, int64_t until);
/* As getaddrinfo() returns it; EAI_INPROGRESS: no answer yet; EAI_AGAIN also: it cannot be asked. The list is l's. */
int gatelooks_answer(const struct gatelooks *l, const char *host, const struct addrinfo **out);
void gatelooks_forget(struct gatelooks *l); /* what is answered */
/* What is still asked stays with the C library's threads until the process ends. */
void gatelooks_release(struct gatelooks *l);

#endif
