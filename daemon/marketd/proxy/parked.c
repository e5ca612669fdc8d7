/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection that waits for others, and whose it is. libmicrohttpd does not look at it then, so we do: its client may
 * go away.
 */
#include <microhttpd.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "marketd/http/http_head.h"
#include "marketd/proxy/proxy_own.h"

enum { PARKED_LIST = 32 * 1024 /* a whole head */ };

void relay_park(struct relay *x)
{
	struct loop_watch *w = &x->gone_watch.watch;

	x->suspended = true;
	MHD_suspend_connection(x->mhd);
	loop_watch(x->proxy->loop, w, w->fd, LOOP_READ);
}

void relay_wake(struct relay *x)
{
	if (!x->suspended)
		return;
	x->suspended = false;
	x->proxy->resumed = true;
	MHD_resume_connection(x->mhd);
}

void relay_from(const struct relay *x, char out[RELAY_FROM])
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(x->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *a = info ? info->client_addr : NULL;
	char peer[INET6_ADDRSTRLEN] = "unknown";
	struct buf list;

	if (a && a->sa_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)a)->sin_addr, peer, sizeof peer);
	else if (a && a->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, peer, sizeof peer);
	buf_init(&list, PARKED_LIST);
	head_forwarded(x->mhd, &list);
	if (snprintf(out, RELAY_FROM, "X-Forwarded-For: %s%s%s", buf_text(&list), list.len ? ", " : "", peer) >=
		RELAY_FROM)
		snprintf(out, RELAY_FROM, "X-Forwarded-For: %s", peer);
	buf_release(&list);
}
