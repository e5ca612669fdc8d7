/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod tunnel: forwards local ports to a node, or to what the node can reach, and ports of the node to this machine.
 * It runs until it is stopped, and reconnects where the connection is lost.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/frame/json.h"
#include "cli/nodes/node.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "cli/remote/summary.h"

enum {
	PORTS_MAX = 64,
	PAUSE_FIRST_MS = 500,
	PAUSE_MAX_MS = 15000,
	KEEPALIVE_MS = 15000,
	EVENT_BYTES = 8192,
	REFUSED_MS = 1000
};

enum way_kind { WAY_OUT, WAY_SOCKS, WAY_BACK };

struct way {
	enum way_kind kind;
	char *listen, *target; /* as pssh_tunnel() takes them; SOCKS has no target */
	struct pssh_task *task;
	bool open;
};

struct tunnel {
	struct nanopod *np;
	const struct options *o;
	const char *name;
	struct connect *connect;
	struct pssh_host *host;
	struct way ways[PORTS_MAX];
	size_t count;
	bool lost, ever;
	int64_t again_at, pause_ms; /* 0: nothing is due */
	int64_t refused_at;         /* when it told last of a connection that failed; 0: never */
	uint64_t seq;
	int status;             /* why it cannot continue */
	int asked;              /* a signal's number */
};

/* ---- What was typed -------------------------------------------------------------------- */

static bool is_port(const char *text, size_t len)
{
	char room[8];
	long n;

	if (!len || len >= sizeof room)
		return false;
	memcpy(room, text, len);
	room[len] = '\0';
	return str_to_long(room, 0, 65535, &n) == 0;
}

static size_t tunnel_is_address(const char *s)
{
	const char *end = *s == '[' ? strchr(s, ']') : NULL;

	return end ? (size_t)(end + 1 - s) : strcspn(s, ":");
}

/*
 * "8888", "8888:80", "8888:host:80", "address:8888:host:80", "/path:host:80", "/path:80": split at colons outside
 * brackets.
 */
static int tunnel_parse(struct nanopod *np, const char *typed, struct way *w)
{
	const char *part[4];
	size_t len[4], n = 0;
	bool good, path;
	int rc;

	for (const char *s = typed; n < 4; n++) {
		part[n] = s;
		len[n] = tunnel_is_address(s);
		s += len[n];
		if (*s != ':') {
			good = !*s;
			n++;
			break;
		}
		s++;
	}
	good = n && part[n - 1][len[n - 1]] == '\0' && (w->kind != WAY_BACK || n > 1);
	path = good && w->kind == WAY_OUT && strchr(typed, '/') && typed[0] != '[' && memchr(part[0], '/', len[0]);
	good = good && is_port(part[n - 1], len[n - 1]) && strcmp(part[n - 1], "0") != 0 &&
		(path ? n == 2 || n == 3 : true);
	if (good && !path)
		good = is_port(part[n == 4], len[n == 4]);
	if (!good)
		return print_fail(np, STATUS_USAGE,
			w->kind == WAY_BACK ? "write it as 8888:80, 8888:host:80 or address:8888:host:80"
					    : "write it as 8888, 8888:80, 8888:host:80 or address:8888:host:80",
			"cannot understand '%s%.100s'", w->kind == WAY_BACK ? "-R " : "", typed);
	if (path)
		rc = asprintf(&w->listen, "%.*s", (int)len[0], part[0]);
	else if (n == 4)
		rc = asprintf(&w->listen, "%.*s:%.*s", (int)len[0], part[0], (int)len[1], part[1]);
	else
		rc = asprintf(&w->listen, "%s:%.*s", w->kind == WAY_BACK ? "localhost" : "127.0.0.1", (int)len[0],
			part[0]);
	if (rc >= 0 && (n == 1 || (n == 2)))
		rc = asprintf(&w->target, "localhost:%s", part[n - 1]);
	else if (rc >= 0)
		rc = asprintf(&w->target, "%s", part[n - 2]);
	if (rc < 0)
		command_nomem();
	return STATUS_OK;
}

/* "1080" or "address:1080". */
static int tunnel_parse_socks(struct nanopod *np, const char *typed, struct way *w)
{
	size_t len = tunnel_is_address(typed);
	const char *port = typed[len] == ':' ? typed + len + 1 : typed;

	if (!is_port(port, strlen(port)))
		return print_fail(np, STATUS_USAGE, "write it as 1080 or address:1080", "cannot understand '-D %.100s'",
			typed);
	if (asprintf(&w->listen, "%s%s", port == typed ? "127.0.0.1:" : "", typed) < 0)
		command_nomem();
	return STATUS_OK;
}

static int tunnel_read_option(struct tunnel *t, const char *name, enum way_kind kind)
{
	int status = STATUS_OK;

	for (size_t i = 0; !status && i < option_count(t->o, name); i++) {
		const char *typed = option_at(t->o, name, i);
		struct way *w = &t->ways[t->count];

		if (t->count == PORTS_MAX)
			return print_fail(t->np, STATUS_USAGE, NULL, "a tunnel has at most %d ports", PORTS_MAX);
		t->count++;
		w->kind = kind;
		status = kind == WAY_SOCKS ? tunnel_parse_socks(t->np, typed, w) : tunnel_parse(t->np, typed, w);
	}
	return status;
}

static int tunnel_read_line(struct tunnel *t)
{
	int status = STATUS_OK;

	t->name = option_argv(t->o)[0];
	for (int i = 1; !status && i < option_argc(t->o); i++)
		status = tunnel_parse(t->np, option_argv(t->o)[i], &t->ways[t->count++]);
	status = status ? status : tunnel_read_option(t, "reverse", WAY_BACK);
	status = status ? status : tunnel_read_option(t, "socks", WAY_SOCKS);
	if (!status && !t->count)
		status = print_fail(t->np, STATUS_USAGE, "'nanopod tunnel HOST 8888' forwards its port 8888",
			"PORT, -R or -D is required");
	return status;
}

/* ---- What happens ---------------------------------------------------------------------- */

/* Ports of notebooks, dashboards and the like: a link that the terminal can open. */
static bool tunnel_is_web(const char *target)
{
	const char *colon = strrchr(target, ':');
	long port = colon ? strtol(colon + 1, NULL, 10) : 0;

	return port == 80 || port == 3000 || port == 6006 || port == 9090 || (port >= 8000 && port < 9000);
}

/* "http://localhost:8888 -> train-0:8888 (Ctrl-C stops)" */
static void tunnel_note(const struct tunnel *t, const struct way *w)
{
	bool here = str_starts(w->listen, "127.0.0.1:"), there = w->target && str_starts(w->target, "localhost:");

	if (w->kind == WAY_BACK) {
		print_note(t->np, "%s:%s -> %s (Ctrl-C stops)", t->name,
			w->listen + (str_starts(w->listen, "localhost:") ? strlen("localhost:") : 0), w->target);
		return;
	}
	if (w->kind == WAY_SOCKS) {
		print_note(t->np, "socks5h://%s%s -> %s (Ctrl-C stops)", here ? "localhost:" : "",
			w->listen + (here ? strlen("127.0.0.1:") : 0), t->name);
		return;
	}
	print_note(t->np, "%s%s%s -> %s%s%s%s (Ctrl-C stops)", here && tunnel_is_web(w->target) ? "http://" : "",
		here ? "localhost:" : "", w->listen + (here ? strlen("127.0.0.1:") : 0), there ? t->name : w->target,
		there ? w->target + strlen("localhost") : "", there ? "" : " through ", there ? "" : t->name);
}

/* With -o jsonl one object per line; else text for people on standard error. */
static void tunnel_tell(struct tunnel *t, const char *type, const struct way *w, const char *text)
{
	struct json j;
	struct buf b;

	if (t->np->format != FORMAT_JSONL) {
		if (w)
			tunnel_note(t, w);
		else
			print_note(t->np, "%s", text);
		return;
	}
	buf_init(&b, EVENT_BYTES);
	j = json_to(&b);
	json_begin_object(&j, NULL);
	json_int(&j, "seq", (int64_t)++t->seq);
	json_text(&j, "type", type);
	json_text(&j, "host", t->name);
	if (w) {
		json_text(&j, "listen", w->listen);
		if (w->target)
			json_text(&j, "target", w->target);
		json_text(&j, "way", (const char *[]){ "out", "socks", "back" }[w->kind]);
	}
	if (text)
		json_text(&j, "message", text);
	json_end(&j);
	fprintf(t->np->out, "%s\n", buf_text(&b));
	fflush(t->np->out);
	buf_release(&b);
}

static int open_way(struct tunnel *t, struct way *w)
{
	struct pssh *fleet = t->connect->fleet;
	int rc = w->kind == WAY_SOCKS ? pssh_tunnel_socks(fleet, w->listen, &w->task)
		: w->kind == WAY_BACK ? pssh_tunnel_back(fleet, w->listen, w->target, &w->task)
				      : pssh_tunnel(fleet, w->listen, w->target, &w->task);

	rc = rc ? rc : pssh_task_add(w->task, t->host);
	rc = rc ? rc : pssh_task_start(w->task);
	if (rc == PSSH_ENOMEM)
		command_nomem();
	return rc ? print_fail(t->np, STATUS_USAGE, NULL, "%s", pssh_error(fleet)) : STATUS_OK;
}

static void close_ways(struct tunnel *t)
{
	for (size_t i = 0; i < t->count; i++) {
		pssh_task_free(t->ways[i].task);
		t->ways[i].task = NULL;
		t->ways[i].open = false;
	}
}

/* After a reconnect it listens on the port that it found free the first time. */
static void tunnel_opened(struct tunnel *t, struct way *w)
{
	char *colon = strrchr(w->listen, ':');
	bool all = true;

	w->open = true;
	if (colon && strcmp(colon, ":0") == 0) {
		char *made;

		if (asprintf(&made, "%.*s:%u", (int)(colon - w->listen), w->listen, pssh_tunnel_port(w->task)) < 0)
			command_nomem();
		free(w->listen);
		w->listen = made;
	}
	if (!t->lost)
		tunnel_tell(t, "listening", w, NULL);
	for (size_t i = 0; i < t->count; i++)
		all = all && t->ways[i].open;
	if (!all)
		return;
	if (t->lost)
		tunnel_tell(t, "connected", NULL, "reconnected");
	t->ever = true;
	t->lost = false;
	t->pause_ms = 0;
}

/* Tries again what may pass, once the tunnel has worked; anything else ends it. */
static void tunnel_broke(struct tunnel *t, const struct way *w, const struct pssh_event *ev)
{
	/* The host may hold a port for the lost connection until it notices that loss. */
	bool held = w->kind == WAY_BACK && ev->status == PSSH_EREFUSED;
	bool passing = t->ever && (pssh_retryable(ev->status) || held) && ev->status != PSSH_ELOCAL;
	char text[600], room[SELECT_HINT];

	if (t->again_at || t->status)
		return;
	if (!passing) {
		const char *hint = ev->status == PSSH_ELOCAL ? "try another port; '0:PORT' takes any free one"
							     : summary_hint_about(t->np, t->name, ev->status, room);

		if (ev->status == PSSH_EHOSTKEY && nodes_of_host(t->np->nodes, t->name))
			hint = "the market knows this node's key, and this is another: nothing was sent";
		t->status = print_fail(t->np, ev->status == PSSH_ELOCAL ? STATUS_FAILURE : STATUS_TRANSPORT, hint,
			"%s%s%s", strstr(ev->text, t->name) ? "" : t->name, strstr(ev->text, t->name) ? "" : ": ",
			*ev->text ? ev->text : pssh_strerror(ev->status));
		return;
	}
	t->pause_ms = !t->pause_ms ? PAUSE_FIRST_MS : t->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : t->pause_ms * 2;
	t->again_at = clock_ms() + t->pause_ms;
	snprintf(text, sizeof text, "connection to %.100s lost (%.300s); trying again", t->name,
		*ev->text ? ev->text : pssh_strerror(ev->status));
	if (!t->lost)
		tunnel_tell(t, "lost", NULL, text);
	t->lost = true;
}

/* A program that tries again and again is told of once a second. */
static void tunnel_refused(struct tunnel *t, const struct pssh_event *ev)
{
	if (t->refused_at && clock_ms() - t->refused_at < REFUSED_MS)
		return;
	t->refused_at = clock_ms();
	print_warn(t->np, "%s: a connection failed: %.*s", t->name, (int)ev->len, ev->data);
}

static void tunnel_event(struct tunnel *t, const struct pssh_event *ev)
{
	if (ev->type == PSSH_EV_PROMPT) {
		prompt_add(t->connect->prompt, t->connect->fleet, ev);
		return;
	}
	for (size_t i = 0; i < t->count; i++) {
		if (!ev->task || ev->task != t->ways[i].task)
			continue;
		if (ev->type == PSSH_EV_STARTED)
			tunnel_opened(t, &t->ways[i]);
		else if (ev->type == PSSH_EV_ERROR)
			tunnel_broke(t, &t->ways[i], ev);
		else if (ev->type == PSSH_EV_STDERR)
			tunnel_refused(t, ev);
		return;
	}
}

/* A node may come back at another address: asks the market again. True: it is not back yet. */
static bool still_away(struct tunnel *t)
{
	const struct node *n;

	if (!t->lost || !nodes_of_host(t->np->nodes, t->name) || !nodes_look_again(t->np))
		return false;
	n = nodes_of_host(t->np->nodes, t->name);
	if (!n || !node_lives(n) || node_reachable(n))
		return false;
	t->pause_ms = t->pause_ms * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : t->pause_ms * 2;
	t->again_at = clock_ms() + t->pause_ms;
	return true;
}

static int tunnel_begin(struct tunnel *t)
{
	int status;

	t->again_at = 0;
	close_ways(t);
	if (still_away(t))
		return STATUS_OK;
	status = connect_host(t->np, t->connect, t->name, &t->host);
	for (size_t i = 0; !status && i < t->count; i++)
		status = open_way(t, &t->ways[i]);
	return status;
}

static int tunnel_shorter(int a, int b)
{
	return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Sleeps until something happens or is due. */
static void tunnel_look(struct tunnel *t)
{
	struct pollfd fds[] = {
		{ .fd = pssh_fd(t->connect->fleet), .events = POLLIN },
		{ .fd = signals_fd(), .events = POLLIN },
		{ .fd = prompt_fd(t->connect->prompt), .events = POLLIN },
	};
	int64_t left = t->again_at ? t->again_at - clock_ms() : -1;
	int number;

	if (poll(fds, 3,
		    tunnel_shorter(pssh_timeout(t->connect->fleet), t->again_at ? left > 0 ? (int)left : 0 : -1)) <= 0)
		return;
	while (fds[1].revents && (number = signals_next()) != 0)
		if (number != SIGWINCH)
			t->asked = number;
	if (fds[2].revents && prompt_fd(t->connect->prompt) >= 0)
		prompt_step(t->connect->prompt, t->connect->fleet);
}

static int tunnel_serve(struct tunnel *t)
{
	const struct pssh_event *ev;
	int rc, status = tunnel_begin(t);

	while (!status && !t->status && !t->asked) {
		rc = pssh_next(t->connect->fleet, &ev);
		if (rc < 0)
			return print_fail(t->np, STATUS_FAILURE, NULL, "%s", pssh_error(t->connect->fleet));
		if (rc > 0)
			tunnel_event(t, ev);
		else
			tunnel_look(t);
		if (t->again_at && clock_ms() >= t->again_at)
			status = tunnel_begin(t);
	}
	return status ? status : t->status ? t->status : 128 + t->asked;
}

static int tunnel_command(struct nanopod *np, const struct options *o)
{
	struct tunnel t = { .np = np, .o = o };
	struct pssh_list *hosts = NULL;
	int status = tunnel_read_line(&t);

	status = status ? status : select_one(np, t.name, "tunnel", &hosts);
	if (!status)
		t.name = pssh_list_get(hosts, 0);

	if (!status && signals_begin())
		status = print_fail(np, STATUS_FAILURE, NULL, "cannot catch signals: %s", strerror(errno));
	if (!status) {
		status = connect_open(np, &t.connect);
		if (!status) {
			/* Keepalives notice a connection that went dead silently. */
			pssh_set_keepalive(t.connect->fleet, KEEPALIVE_MS);
			status = tunnel_serve(&t);
			close_ways(&t);
			connect_close(np, t.connect);
		}
		signals_end();
	}
	pssh_list_free(hosts);
	for (size_t i = 0; i < t.count; i++) {
		free(t.ways[i].listen);
		free(t.ways[i].target);
	}
	return status;
}

static const struct option options[] = {
	{ .name = "reverse",
		.letter = 'R',
		.kind = OPTION_LIST,
		.arg = "PORT",
		.help = "[ADDRESS:]THERE:[HOST:]PORT, the host's port THERE leads to PORT of this machine; "
			"repeatable" },
	{ .name = "socks",
		.letter = 'D',
		.kind = OPTION_LIST,
		.arg = "PORT",
		.help = "[ADDRESS:]PORT, listen as a SOCKS proxy whose connections leave from the host; repeatable" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod tunnel train-0 8888", "the node's port 8888 as http://localhost:8888" },
	{ "nanopod tunnel train-0 8080:80 6006", "its port 80 as local port 8080, and 6006" },
	{ "nanopod tunnel train-0 5432:db.internal:5432", "a host that the node can reach" },
	{ "nanopod tunnel train-0 0:8888", "on any free local port; prints which" },
	{ "nanopod tunnel train-0 -R 3128:localhost:3128", "the node uses this machine's port 3128 as its own" },
	{ "nanopod tunnel train-0 -D 1080", "a SOCKS proxy: curl -x socks5h://localhost:1080 URL" },
	{ 0 },
};

const struct command cmd_tunnel = {
	.name = "tunnel",
	.args = "HOST [PORT...]",
	.summary = "forward ports to a node, and back",
	.examples = examples,
	.description = "Listens locally and carries each connection through the host. Prints what listens where, "
		       "stays in the foreground until Ctrl-C, and after a lost connection listens again as soon as "
		       "the host is back.\n\nListens on 127.0.0.1 unless you write an address in front: "
		       "0.0.0.0:8888:localhost:80 is open to everybody who can reach this machine. A path instead "
		       "of a port is a unix socket.",
	.positional = "HOST  a node of yours, or any host that ssh knows\n"
		      "PORT  PORT, HERE:PORT, HERE:HOST:PORT or ADDRESS:HERE:HOST:PORT, as for ssh -L",
	.options = options,
	.formats = "text|jsonl|yaml",
	.flags = COMMAND_MORE | COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 1,
	.max_args = PORTS_MAX,
	.complete_first = COMPLETE_HOSTS,
	.run = tunnel_command,
};
