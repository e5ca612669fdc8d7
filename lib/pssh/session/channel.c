/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/channel.h"

#include <poll.h>
#include <stdlib.h>

#include "pssh/session/pump.h"
#include "pssh/session/tunnel.h"

enum channel_state { CHANNEL_OPEN, CHANNEL_START, CHANNEL_RUN, CHANNEL_CLOSE, CHANNEL_OVER };

struct channel {
	struct loop_owned tw;
	struct loop *loop;
	enum pssh_channel_kind what;
	const char *target;
	char *host;
	unsigned port;
	enum channel_state state;
	struct pump pump;
	size_t err_len;
	int status;
	char *signal;
};

int channel_check(enum pssh_channel_kind what, const char *target, struct fail *f)
{
	char *host;
	unsigned port;
	int rc;

	if ((unsigned)what > PSSH_CHANNEL_COMMAND)
		return fail_set(f, PSSH_EINVAL, "unknown kind of channel");
	if (!target || !*target)
		return fail_set(f, PSSH_EINVAL, "the channel's target is missing");
	if (what == PSSH_CHANNEL_UNIX && *target != '/')
		return fail_set(f, PSSH_ESYNTAX, "'%s' is not the absolute path of a socket", target);
	if (what != PSSH_CHANNEL_TCP)
		return 0;
	rc = tunnel_target(target, &host, &port, f);
	if (!rc)
		free(host);
	return rc;
}

int channel_new(struct loop *loop, int kind, enum pssh_channel_kind what, const char *target, int fd, void *owner,
	struct link *l, struct channel **out)
{
	struct channel *c = calloc(1, sizeof *c);
	struct fail f;

	if (!c)
		return PSSH_ENOMEM;
	c->tw = (struct loop_owned){ .watch.kind = kind, .owner = owner };
	c->loop = loop;
	c->what = what;
	c->target = target;
	pump_init(&c->pump, fd, chan_new(l));
	if (!c->pump.chan || (what == PSSH_CHANNEL_TCP && tunnel_target(target, &c->host, &c->port, &f) != 0)) {
		channel_free(c);
		return PSSH_ENOMEM;
	}
	*out = c;
	return 0;
}

void channel_free(struct channel *c)
{
	if (!c)
		return;
	loop_forget(c->loop, &c->tw.watch);
	chan_close(c->pump.chan);
	pump_release(&c->pump);
	free(c->host);
	free(c->signal);
	free(c);
}

bool channel_asked(const struct channel *c)
{
	return c->state >= CHANNEL_START && (c->what == PSSH_CHANNEL_COMMAND || c->what == PSSH_CHANNEL_SUBSYSTEM);
}

bool channel_runs(const struct channel *c)
{
	return channel_asked(c) && c->state < CHANNEL_OVER;
}

size_t channel_stderr(const struct channel *c)
{
	return c->err_len;
}

int channel_status(const struct channel *c, const char **signal)
{
	*signal = c->signal;
	return c->status;
}

static bool channel_is_session(const struct channel *c)
{
	return c->what == PSSH_CHANNEL_COMMAND || c->what == PSSH_CHANNEL_SUBSYSTEM;
}

/* 0: open. */
static int channel_open(struct channel *c, struct fail *f)
{
	struct fail why = { 0 };
	int rc;

	if (channel_is_session(c))
		return chan_open_session(c->pump.chan, CHAN_WINDOW, f);
	rc = c->what == PSSH_CHANNEL_TCP ? chan_open_direct(c->pump.chan, c->host, c->port, CHAN_WINDOW_DIRECT, &why)
					 : chan_open_unix(c->pump.chan, c->target, &why);
	if (rc && rc != PSSH_EAGAIN)
		return fail_set(f, rc == PSSH_EREFUSED ? PSSH_ECONNECT : rc, "cannot reach '%s' from the host: %s",
			c->target, why.text);
	return rc;
}

static int channel_begin(struct channel *c, struct fail *f)
{
	int rc = 0;

	if (c->state == CHANNEL_OPEN) {
		rc = channel_open(c, f);
		if (rc)
			return rc;
		c->state = CHANNEL_START;
	}
	if (channel_is_session(c))
		rc = chan_start(c->pump.chan, c->what == PSSH_CHANNEL_COMMAND ? "exec" : "subsystem", c->target, f);
	if (rc)
		return rc;
	c->state = CHANNEL_RUN;
	return CHANNEL_BEGUN;
}

/* The program has closed its end and not just shut it down for writing. */
static bool hung_up(const struct channel *c)
{
	struct pollfd pfd = { .fd = c->pump.fd };

	return c->pump.eof_sent && poll(&pfd, 1, 0) == 1 && pfd.revents & POLLHUP;
}

static int channel_arm(struct channel *c, struct fail *f)
{
	uint32_t want = pump_want(&c->pump);

	/* Until the last bytes are sent, a hang-up is no news, and epoll would report it again and again. */
	if (!want && !c->pump.eof_sent) {
		loop_forget(c->loop, &c->tw.watch);
		return PSSH_EAGAIN;
	}
	if (loop_watch(c->loop, &c->tw.watch, c->pump.fd, want) != 0)
		return fail_set(f, PSSH_ELOCAL, "cannot wait for the channel's descriptor");
	return PSSH_EAGAIN;
}

static int channel_run(struct channel *c, struct exec_room *room, struct fail *f)
{
	ssize_t n = 0;
	int rc = pump_step(&c->pump, room);

	/* A process that sends no more has ended; a peer may still listen. */
	if (rc == PSSH_EAGAIN && channel_is_session(c) && c->pump.out_ended && !c->pump.out.len)
		rc = 0;
	if (rc == 0) {
		loop_forget(c->loop, &c->tw.watch);
		c->state = CHANNEL_CLOSE;
		return 0;
	}
	if (rc == PSSH_ELOCAL || (rc == PSSH_EAGAIN && hung_up(c)))
		return fail_set(f, PSSH_ECANCEL, "the program closed its end of the channel");
	if (rc == PSSH_EAGAIN && channel_is_session(c))
		n = chan_read(c->pump.chan, 1, room->data, room->size);
	if (n > 0) {
		c->err_len = (size_t)n;
		return CHANNEL_STDERR;
	}
	if (rc != PSSH_EAGAIN || (n && n != PSSH_EAGAIN)) {
		rc = rc != PSSH_EAGAIN ? rc : (int)n;
		return fail_set(f, rc, "the connection was lost: %s", link_reason(c->pump.chan->link, rc));
	}
	return channel_arm(c, f);
}

static int channel_end(struct channel *c, struct fail *f)
{
	int rc;

	if (!channel_is_session(c))
		return CHANNEL_DONE;
	rc = chan_wait_closed(c->pump.chan);
	if (rc == PSSH_EAGAIN)
		return rc;
	if (rc)
		return fail_set(f, rc, "the connection was lost: %s", link_reason(c->pump.chan->link, rc));
	c->status = chan_exit(c->pump.chan, &c->signal);
	if (c->status < 0 && !c->signal && c->what == PSSH_CHANNEL_COMMAND)
		return fail_set(f, PSSH_ECLOSED, "the server closed the channel without an exit status");
	c->status = c->status < 0 ? 0 : c->status;
	c->state = CHANNEL_OVER;
	return CHANNEL_DONE;
}

int channel_step(struct channel *c, struct exec_room *room, struct fail *f)
{
	int rc;

	if (c->state < CHANNEL_RUN)
		return channel_begin(c, f);
	if (c->state == CHANNEL_RUN) {
		rc = channel_run(c, room, f);
		if (rc)
			return rc;
	}
	return channel_end(c, f);
}
