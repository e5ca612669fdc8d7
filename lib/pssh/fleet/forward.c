/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/fleet/forward.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "pssh/pssh_types.h"
#include "pssh/session/pump.h"

enum {
	FORWARD_CLIENTS = 16, /* at once, each with a window that libssh2 makes 2 MiB wide */
	FORWARD_RETRY_MS = 20,
	FORWARD_CLOSING = 256, /* channels whose end the server has not confirmed, and what came on them */
	FORWARD_UNREAD = 4 << 20,
	FORWARD_LENGTH = 4,
	FORWARD_LIST = 11,
	FORWARD_SIGN = 13,
};

struct forward_client {
	struct loop_owned tw;
	struct list link;
	struct pump pump;
	bool joined; /* the agent is connected */
	struct forward_words words;
};

int forward_new(struct loop *loop, int kind, void *owner, struct forward **out)
{
	struct forward *w = calloc(1, sizeof *w);

	if (!w)
		return PSSH_ENOMEM;
	w->loop = loop;
	w->kind = w->timer.kind = kind;
	w->owner = owner;
	list_init(&w->clients);
	*out = w;
	return 0;
}

static void forward_client_free(struct forward *w, struct forward_client *c)
{
	loop_forget(w->loop, &c->tw.watch);
	if (c->pump.fd >= 0)
		close(c->pump.fd);
	chan_close(c->pump.chan);
	pump_release(&c->pump);
	list_remove(&c->link);
	free(c);
	w->count--;
}

static void forward_cut(struct forward *w)
{
	while (!list_empty(&w->clients))
		forward_client_free(w, list_entry(list_first(&w->clients), struct forward_client, link));
}

void forward_free(struct forward *w)
{
	if (!w)
		return;
	forward_cut(w);
	loop_timer_clear(w->loop, &w->timer);
	free(w->path);
	free(w);
}

int forward_begin(struct forward *w, const char *path)
{
	char *copy = strdup(path);

	if (!copy)
		return PSSH_ENOMEM;
	free(w->path);
	w->path = copy;
	w->users++;
	return 0;
}

void forward_end(struct forward *w)
{
	if (--w->users == 0)
		forward_cut(w);
}

/*
 * A key may be for some hosts alone (ssh-add -h), and the agent knows by a word of ssh which host asks. We cannot say
 * that word, and a host that says it for itself would pass for us. Agents refuse a type that they do not know.
 */
void forward_filter(struct forward_words *words, char *data, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t rest;

		if (words->head < FORWARD_LENGTH) {
			words->len = words->head ? words->len << 8 : 0;
			words->len |= (unsigned char)data[i++];
			words->head++;
			words->at = 0;
			if (words->head == FORWARD_LENGTH && !words->len)
				words->head = 0;
			continue;
		}
		if (!words->at && data[i] != FORWARD_LIST && data[i] != FORWARD_SIGN)
			data[i] = 0;
		rest = words->len - words->at;
		rest = rest < len - i ? rest : len - i;
		words->at += (uint32_t)rest;
		i += rest;
		if (words->at == words->len)
			words->head = 0;
	}
}

static void forward_edit(struct pump *pump, char *data, size_t len)
{
	struct forward_client *c = list_entry(pump, struct forward_client, pump);

	forward_filter(&c->words, data, len);
}

/* 1: connected; 0: the agent has no room for another now; -1: there is none. */
static int forward_dial(struct forward *w, struct forward_client *c)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	int rc;

	if (strlen(w->path) >= sizeof sa.sun_path)
		return -1;
	memcpy(sa.sun_path, w->path, strlen(w->path) + 1);
	if (c->pump.fd < 0)
		c->pump.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = c->pump.fd < 0 ? -1 : connect(c->pump.fd, (struct sockaddr *)&sa, sizeof sa);
	if (rc == 0)
		return 1;
	if (c->pump.fd < 0 || (errno != EAGAIN && errno != EINTR))
		return -1;
	return loop_timer_set(w->loop, &w->timer, clock_ms() + FORWARD_RETRY_MS) == 0 ? 0 : -1;
}

/* -1: it is over. */
static int forward_serve(struct forward *w, struct forward_client *c, struct exec_room *room)
{
	uint32_t want;

	if (!c->joined) {
		int rc = forward_dial(w, c);

		if (rc <= 0)
			return rc;
		c->joined = true;
	}
	if (pump_step(&c->pump, room) != PSSH_EAGAIN)
		return -1;
	want = pump_want(&c->pump);
	if (!want) { /* epoll would report an agent that hung up again and again */
		loop_forget(w->loop, &c->tw.watch);
		return 0;
	}
	return loop_watch(w->loop, &c->tw.watch, c->pump.fd, want) == 0 ? 0 : -1;
}

/* Takes the channel over. */
static void forward_admit(struct forward *w, struct chan *ch)
{
	struct forward_client *c = w->users && w->count < FORWARD_CLIENTS ? calloc(1, sizeof *c) : NULL;

	if (!c) {
		chan_close(ch);
		return;
	}
	pump_init(&c->pump, -1, ch);
	c->pump.edit = forward_edit;
	c->tw = (struct loop_owned){ .watch.kind = w->kind, .owner = w->owner };
	list_append(&w->clients, &c->link);
	w->count++;
}

/* libssh2 keeps what comes on a channel until the server closes it; one that never does could fill our memory. */
static bool forward_swamped(struct link *l)
{
	struct list *pos, *tmp;
	size_t count = 0, unread = 0;

	list_each (pos, tmp, &l->closing) {
		const struct chan *ch = list_entry(pos, struct chan, in_closing);

		if (!ch->came) /* one of ours, a tunnel's for example */
			continue;
		unread += chan_unread(ch);
		count++;
	}
	return count > FORWARD_CLOSING || unread > FORWARD_UNREAD;
}

int forward_step(struct forward *w, struct link *l, struct exec_room *room, struct fail *f)
{
	struct list *pos, *tmp;
	struct chan *ch;

	while ((ch = chan_came(l)))
		forward_admit(w, ch);
	list_each (pos, tmp, &w->clients) {
		struct forward_client *c = list_entry(pos, struct forward_client, link);

		if (forward_serve(w, c, room) < 0)
			forward_client_free(w, c);
	}
	if (forward_swamped(l))
		return fail_set(f, PSSH_EPROTO, "the server opens channels to the agent and does not close them");
	return 0;
}
