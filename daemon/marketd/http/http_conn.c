/* SPDX-License-Identifier: Apache-2.0 */
/* A connection: what it does, its deadline, and which one to close when there are too many. */
#include <microhttpd.h>

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "marketd/http/http_hooks.h"
#include "marketd/http/listen.h"

void conn_state_set(struct conn *c, enum conn_state state)
{
	const struct http_settings *set = &c->http->set;
	int64_t ms = state == CONN_IDLE ? c->used ? set->idle_ms : set->head_ms
		: state == CONN_HEAD    ? set->head_ms
					: set->request_ms;

	c->state = state;
	c->deadline = state == CONN_WAIT ? INT64_MAX : c->http->now_ms + ms;
	if (state == CONN_IDLE || state == CONN_HEAD) {
		list_remove(&c->link);
		list_append(&c->http->conns, &c->link);
	}
	if (state == CONN_IDLE && c->http->quiet)
		conn_shut(c);
}

/* libmicrohttpd owns the descriptor: it sees the end and closes it. */
void conn_shut(struct conn *c)
{
	if (!c->closing)
		shutdown(c->fd, SHUT_RDWR);
	c->closing = true;
}

static uint16_t *address_count(struct http *h, uint64_t address)
{
	return &h->addresses[(address * 0x9e3779b97f4a7c15u) >> 52];
}

/* Makes room for one more: closes the connection idle longest, of that address if it has too many. */
static void make_room(struct http *h, struct conn *new)
{
	bool full = h->conn_count > h->set.connections;
	bool counts = new->address && !new->proxied;
	bool mine = counts && (*address_count(h, new->address)) > h->set.connections_per_address;
	struct list *at, *tmp;

	if (!full && !mine)
		return;
	for (int state = CONN_IDLE; state <= CONN_BODY; state++)
		list_each(at, tmp, &h->conns) {
			struct conn *c = list_entry(at, struct conn, link);

			if (c == new || c->closing || (int)c->state != state ||
				(mine && (c->known || c->address != new->address)))
				continue;
			h->metrics->connections_evicted++;
			conn_shut(c);
			return;
		}
	h->metrics->connections_evicted++;
	conn_shut(new);
}

/* A thousand agents may be behind one address. */
void conn_known(struct conn *c)
{
	assert(c->known || *address_count(c->http, c->address) > 0);
	if (!c->known)
		*address_count(c->http, c->address) -= 1;
	c->known = true;
}

/* A copy, because the answer to the next question may overwrite this one (libmicrohttpd 1.0 has one buffer for all). */
static bool conn_ask(struct MHD_Connection *mhd, enum MHD_ConnectionInfoType what, union MHD_ConnectionInfo *out)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, what);

	if (info)
		*out = *info;
	return info != NULL;
}

static void conn_new(struct listener *l, struct MHD_Connection *mhd, void **context)
{
	union MHD_ConnectionInfo fd, peer;
	struct http *h = l->http;
	struct conn *c = conn_ask(mhd, MHD_CONNECTION_INFO_CONNECTION_FD, &fd) ? calloc(1, sizeof *c) : NULL;
	uid_t uid;

	*context = c;
	if (!c)
		return;
	list_init(&c->link);
	c->http = h;
	c->listener = l;
	c->mhd = mhd;
	c->fd = fd.connect_fd;
	if (l->local) {
		c->refused = !listen_peer_uid(c->fd, &uid) || (uid != 0 && uid != geteuid());
	} else if (conn_ask(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS, &peer)) {
		c->address = listen_address_key(peer.client_addr);
		c->proxied = trusted_knows(&h->set.trusted, peer.client_addr);
	}
	h->conn_count++;
	h->metrics->connections = h->conn_count;
	h->metrics->connections_accepted++;
	*address_count(h, c->address) += 1;
	conn_state_set(c, CONN_IDLE);
	make_room(h, c);
}

static void conn_gone(struct conn *c)
{
	struct http *h = c->http;

	assert(h->conn_count > 0 && (c->known || *address_count(h, c->address) > 0));
	h->conn_count--;
	h->metrics->connections = h->conn_count;
	if (!c->known)
		*address_count(h, c->address) -= 1;
	list_remove(&c->link);
	free(c);
}

void hook_connection(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		conn_new(cls, mhd, context);
	} else if (*context) {
		conn_gone(*context);
		*context = NULL;
	}
}
