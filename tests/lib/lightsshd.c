/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An SSH server for load and fault tests: one process, no fork, fake commands (lightshell.c). It is so
 * light that tests measure the client, and it fails in the phase that a test chooses. Every address of
 * 127/8 is one of its hosts; it answers nobody else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/str.h"
#include "lightcrypto.h"
#include "lightfault.h"
#include "lightshell.h"

enum { KEYS = 16, RAW = 4096 };
enum watch_kind { WATCH_LISTEN, WATCH_SIGNAL, WATCH_CONN };
enum timer_kind { TIMER_LIFE, TIMER_CONN, TIMER_SHELL };

struct server {
	struct loop *loop;
	struct loop_watch listener, signals;
	struct loop_timer life;
	int sigfd;
	int over;
	ssh_bind bind, bind_wrong;
	ssh_key keys[KEYS];
	int key_count;
	const char *password;
	struct fault_rules rules;
	long most, open, peak, accepted, refused, ready, commands;
	struct list conns;
};

struct conn {
	struct list link;
	struct loop_watch watch;
	struct loop_timer timer;
	struct server *server;
	ssh_session ssh;                         /* NULL: its fault needs no SSH */
	struct ssh_server_callbacks_struct cb;
	struct list shells;
	enum fault fault;
	char address[INET_ADDRSTRLEN];
	enum { CONN_KEX, CONN_READY } phase;
	bool dead;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "lightsshd: %s: %s\n", what, why);
	exit(1);
}

static void conn_free(struct conn *c)
{
	int fd = c->watch.fd;

	loop_forget(c->server->loop, &c->watch);
	loop_timer_clear(c->server->loop, &c->timer);
	while (!list_empty(&c->shells))
		shell_free(list_entry(list_first(&c->shells), struct shell, link));
	list_remove(&c->link);
	c->server->open--;
	if (c->ssh)
		ssh_free(c->ssh);
	else
		close(fd);
	free(c);
}

/* Ends a connection from inside a callback; the end of the step frees the session. */
static void conn_kill(struct conn *c)
{
	shutdown(c->watch.fd, SHUT_RDWR);
	c->dead = true;
}

/* ---- What libssh asks ---------------------------------------------------------------------- */

static int on_pubkey(ssh_session s, const char *user, ssh_key key, char state, void *arg)
{
	struct conn *c = arg;

	(void)s;
	(void)user;
	if (c->fault == FAULT_CLOSE_AUTH)
		conn_kill(c);
	if (c->dead || c->fault == FAULT_REFUSE_AUTH ||
		(state != SSH_PUBLICKEY_STATE_NONE && state != SSH_PUBLICKEY_STATE_VALID))
		return SSH_AUTH_DENIED;
	for (int i = 0; i < c->server->key_count; i++)
		if (ssh_key_cmp(key, c->server->keys[i], SSH_KEY_CMP_PUBLIC) == 0)
			return SSH_AUTH_SUCCESS;
	return SSH_AUTH_DENIED;
}

static int on_password(ssh_session s, const char *user, const char *password, void *arg)
{
	struct conn *c = arg;

	(void)s;
	(void)user;
	if (c->fault == FAULT_CLOSE_AUTH)
		conn_kill(c);
	if (c->dead || c->fault == FAULT_REFUSE_AUTH || !c->server->password)
		return SSH_AUTH_DENIED;
	return strcmp(password, c->server->password) == 0 ? SSH_AUTH_SUCCESS : SSH_AUTH_DENIED;
}

static ssh_channel on_open(ssh_session s, void *arg)
{
	struct conn *c = arg;
	struct shell *sh;
	ssh_channel ch;

	if (c->fault == FAULT_CLOSE_OPEN)
		conn_kill(c);
	if (c->dead || c->fault == FAULT_REFUSE_OPEN)
		return NULL;
	ch = ssh_channel_new(s);
	if (!ch)
		return NULL;
	sh = shell_new(ch, c->server->loop, c->address, c->fault);
	if (!sh) {
		ssh_channel_free(ch);
		return NULL;
	}
	sh->timer.kind = TIMER_SHELL;
	sh->owner = c;
	list_append(&c->shells, &sh->link);
	c->server->commands++;
	return ch;
}

/* libssh calls it for messages that no other callback took; 0 leaves them without an answer. */
static int on_other(ssh_session s, ssh_message m, void *arg)
{
	struct conn *c = arg;

	(void)s;
	switch (ssh_message_type(m)) {
	case SSH_REQUEST_AUTH: return c->fault != FAULT_HANG_AUTH;
	case SSH_REQUEST_CHANNEL_OPEN: return c->fault != FAULT_HANG_OPEN;
	case SSH_REQUEST_CHANNEL: return c->fault != FAULT_HANG_EXEC;
	default: return 1;
	}
}

/* ---- Faults in front of SSH ---------------------------------------------------------------- */

static void raw_send(struct conn *c, const void *data, size_t n)
{
	if (send(c->watch.fd, data, n, MSG_NOSIGNAL) < 0 && errno != EAGAIN)
		c->dead = true;
}

static void raw_garbage(struct conn *c)
{
	unsigned char noise[RAW];
	uint32_t x = 0x9e3779b9u + (uint32_t)c->server->accepted;

	for (size_t i = 0; i < sizeof noise; i++) {
		x = x * 1664525u + 1013904223u;
		noise[i] = (unsigned char)(x >> 24);
	}
	raw_send(c, noise, sizeof noise);
}

static void raw_begin(struct conn *c)
{
	static const char banner[] = "SSH-2.0-lightsshd\r\n", old[] = "SSH-1.5-lightsshd\r\n";
	struct linger reset = { 1, 0 };

	switch (c->fault) {
	case FAULT_RESET_BANNER:
		setsockopt(c->watch.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
		c->dead = true;
		break;
	case FAULT_CLOSE_BANNER: c->dead = true; break;
	case FAULT_GARBAGE_BANNER: raw_garbage(c); break;
	case FAULT_OLD_BANNER: raw_send(c, old, sizeof old - 1); break;
	case FAULT_SLOW_BANNER: loop_timer_set(c->server->loop, &c->timer, clock_ms() + 200); break;
	case FAULT_HANG_KEX:
	case FAULT_CLOSE_KEX:
	case FAULT_GARBAGE_KEX: raw_send(c, banner, sizeof banner - 1); break;
	default: break;
	}
	if (c->fault == FAULT_GARBAGE_KEX)
		raw_garbage(c);
}

/* Reads and discards; this is also how a silent connection notices that its client left. */
static void raw_step(struct conn *c, uint32_t ready)
{
	char trash[RAW];
	ssize_t n = 0;

	if (ready & (LOOP_READ | LOOP_HANGUP)) {
		n = recv(c->watch.fd, trash, sizeof trash, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			c->dead = true;
		if (n > 0 && c->fault == FAULT_CLOSE_KEX)
			c->dead = true;
	}
	if (c->fault == FAULT_FLOOD_BANNER && !c->dead) {
		memset(trash, 'x', sizeof trash);
		for (size_t i = 99; i < sizeof trash; i += 100)
			trash[i] = '\n';
		raw_send(c, trash, sizeof trash);
	}
	if (!c->dead)
		loop_watch(c->server->loop, &c->watch, c->watch.fd,
			LOOP_READ | (c->fault == FAULT_FLOOD_BANNER ? LOOP_WRITE : 0));
}

/* ---- Connections --------------------------------------------------------------------------- */

static bool conn_start_ssh(struct conn *c, int fd)
{
	struct server *v = c->server;
	int no = 0;

	c->ssh = ssh_new();
	if (!c->ssh)
		return false;
	/* Now the session owns the descriptor. */
	ssh_options_set(c->ssh, SSH_OPTIONS_PROCESS_CONFIG, &no);
	if (ssh_bind_accept_fd(c->fault == FAULT_WRONG_KEY ? v->bind_wrong : v->bind, c->ssh, fd) != SSH_OK)
		return false;
	ssh_set_blocking(c->ssh, 0);
	ssh_set_auth_methods(c->ssh, (v->key_count ? SSH_AUTH_METHOD_PUBLICKEY : 0) |
		(v->password ? SSH_AUTH_METHOD_PASSWORD : 0));
	c->cb.userdata = c;
	if (c->fault != FAULT_HANG_AUTH) {
		c->cb.auth_pubkey_function = on_pubkey;
		c->cb.auth_password_function = on_password;
	}
	if (c->fault != FAULT_HANG_OPEN)
		c->cb.channel_open_request_session_function = on_open;
	ssh_callbacks_init(&c->cb);
	ssh_set_message_callback(c->ssh, on_other, c);
	return ssh_set_server_callbacks(c->ssh, &c->cb) == SSH_OK;
}

static uint32_t conn_pump(struct conn *c)
{
	struct list *pos, *tmp;
	uint32_t want = LOOP_READ;

	list_each(pos, tmp, &c->shells) {
		struct shell *sh = list_entry(pos, struct shell, link);

		switch (shell_step(sh)) {
		case SHELL_GONE: shell_free(sh); break;
		case SHELL_KILL: conn_kill(c); break;
		case SHELL_WRITES: want |= LOOP_WRITE; break;
		case SHELL_WAITS: break;
		}
	}
	return want;
}

/* libssh only writes after a poll that allows it, so it may need up to two more rounds. */
static bool conn_settle(struct conn *c)
{
	for (int i = 0; i < 3 && ssh_get_poll_flags(c->ssh) & SSH_WRITE_PENDING; i++)
		if (ssh_execute_message_callbacks(c->ssh) != SSH_OK)
			c->dead = true;
	return !(ssh_get_poll_flags(c->ssh) & SSH_WRITE_PENDING);
}

/* Settling and writing also read, so a window may have opened for a shell that was waiting. */
static bool conn_hungry(const struct conn *c)
{
	struct list *pos, *tmp;

	list_each(pos, tmp, &c->shells)
		if (shell_hungry(list_entry(pos, struct shell, link)))
			return true;
	return false;
}

static void conn_step_ssh(struct conn *c)
{
	uint32_t want = LOOP_READ;
	int rc;

	if (c->phase == CONN_KEX) {
		rc = ssh_handle_key_exchange(c->ssh);
		if (rc == SSH_OK) {
			c->phase = CONN_READY;
			c->server->ready++;
		} else if (rc == SSH_ERROR) {
			c->dead = true;
		}
	} else if (ssh_execute_message_callbacks(c->ssh) != SSH_OK) {
		c->dead = true;
	}
	if (!c->dead && conn_settle(c)) {
		want = conn_pump(c);
		if (!conn_settle(c) || conn_hungry(c))
			want |= LOOP_WRITE;
	} else {
		want |= LOOP_WRITE;
	}
	if (c->dead || !ssh_is_connected(c->ssh))
		c->dead = true;
	else
		loop_watch(c->server->loop, &c->watch, c->watch.fd, want);
}

static void conn_step(struct conn *c, uint32_t ready)
{
	if (c->ssh)
		conn_step_ssh(c);
	else
		raw_step(c, ready);
	if (c->dead)
		conn_free(c);
}

static void conn_timer(struct conn *c)
{
	raw_send(c, "x", 1);
	if (c->dead)
		conn_free(c);
	else
		loop_timer_set(c->server->loop, &c->timer, clock_ms() + 200);
}

static void conn_new(struct server *v, int fd, uint32_t address)
{
	struct in_addr in = { htonl(address) };
	struct conn *c = calloc(1, sizeof *c);
	int one = 1;

	if (!c) {
		close(fd);
		return;
	}
	c->server = v;
	c->watch = (struct loop_watch){ .fd = fd, .kind = WATCH_CONN };
	c->timer.kind = TIMER_CONN;
	c->fault = fault_of(&v->rules, address);
	inet_ntop(AF_INET, &in, c->address, sizeof c->address);
	list_init(&c->shells);
	list_append(&v->conns, &c->link);
	v->accepted++;
	if (++v->open > v->peak)
		v->peak = v->open;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (fault_is_raw(c->fault)) {
		raw_begin(c);
		if (c->dead)
			conn_free(c);
		else
			raw_step(c, 0);
	} else if (conn_start_ssh(c, fd)) {
		conn_step(c, 0);
	} else {
		conn_free(c);
	}
}

static void server_accept(struct server *v)
{
	for (int i = 0; i < 1024; i++) {
		struct sockaddr_in peer, self;
		socklen_t len = sizeof peer, self_len = sizeof self;
		int fd = accept4(v->listener.fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		if (ntohl(peer.sin_addr.s_addr) >> 24 != 127 || v->open >= v->most ||
			getsockname(fd, (struct sockaddr *)&self, &self_len) != 0) {
			v->refused++;
			close(fd);
			continue;
		}
		conn_new(v, fd, ntohl(self.sin_addr.s_addr));
	}
}

/* ---- Start, options, end ------------------------------------------------------------------- */

static ssh_bind make_bind(const char *keyfile, const char *known_hosts)
{
	static const char kex[] = "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256";
	static const char ciphers[] = "aes128-ctr,aes256-ctr,aes128-gcm@openssh.com";
	ssh_bind b = ssh_bind_new();
	ssh_key key = NULL;
	char *text = NULL;
	bool config = false;
	FILE *f;

	if (!b || (keyfile ? ssh_pki_import_privkey_file(keyfile, NULL, NULL, NULL, &key)
			: ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key)) != SSH_OK)
		die(keyfile ? keyfile : "host key", "cannot be had");
	if (known_hosts) {
		f = fopen(known_hosts, "w");
		if (!f || ssh_pki_export_pubkey_base64(key, &text) != SSH_OK ||
			fprintf(f, "* %s %s\n", ssh_key_type_to_char(ssh_key_type(key)), text) < 0 || fclose(f) != 0)
			die(known_hosts, "cannot be written");
		ssh_string_free_char(text);
	}
	if (ssh_bind_options_set(b, SSH_BIND_OPTIONS_PROCESS_CONFIG, &config) != SSH_OK ||
		ssh_bind_options_set(b, SSH_BIND_OPTIONS_IMPORT_KEY, key) != SSH_OK ||
		ssh_bind_options_set(b, SSH_BIND_OPTIONS_KEY_EXCHANGE, kex) != SSH_OK ||
		ssh_bind_options_set(b, SSH_BIND_OPTIONS_CIPHERS_C_S, ciphers) != SSH_OK ||
		ssh_bind_options_set(b, SSH_BIND_OPTIONS_CIPHERS_S_C, ciphers) != SSH_OK ||
		ssh_bind_options_set(b, SSH_BIND_OPTIONS_HMAC_C_S, "hmac-sha2-256") != SSH_OK ||
		ssh_bind_options_set(b, SSH_BIND_OPTIONS_HMAC_S_C, "hmac-sha2-256") != SSH_OK)
		die("libssh", ssh_get_error(b));
	return b;
}

static void read_authorized(struct server *v, const char *path)
{
	char line[4096], type[64], key[3072];
	FILE *f = fopen(path, "r");

	if (!f)
		die(path, strerror(errno));
	while (fgets(line, sizeof line, f)) {
		if (v->key_count == KEYS || sscanf(line, "%63s %3071s", type, key) != 2 || type[0] == '#')
			continue;
		if (ssh_pki_import_pubkey_base64(key, ssh_key_type_from_name(type), &v->keys[v->key_count]) != SSH_OK)
			die(path, "not a public key");
		v->key_count++;
	}
	fclose(f);
}

static void server_listen(struct server *v, long port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t len = sizeof in;
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	/* Listen on all addresses to cover 127/8; refuse other peers. */
	in.sin_addr.s_addr = htonl(INADDR_ANY);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
		bind(fd, (struct sockaddr *)&in, sizeof in) != 0 || listen(fd, 16384) != 0 ||
		getsockname(fd, (struct sockaddr *)&in, &len) != 0)
		die("cannot listen", strerror(errno));
	v->listener.kind = WATCH_LISTEN;
	loop_watch(v->loop, &v->listener, fd, LOOP_READ);
	printf("listening on %u\n", ntohs(in.sin_port));
	fflush(stdout);
}

static void server_signals(struct server *v, long life)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	v->signals.kind = WATCH_SIGNAL;
	v->sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (v->sigfd < 0 || loop_watch(v->loop, &v->signals, v->sigfd, LOOP_READ) != 0)
		die("signals", strerror(errno));
	v->life.kind = TIMER_LIFE;
	loop_timer_set(v->loop, &v->life, clock_ms() + life * 1000);
}

static void server_turn(struct server *v)
{
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	loop_wait(v->loop, -1);
	while (!v->over && loop_next(v->loop, &w, &ready, &t)) {
		if (t && t->kind == TIMER_LIFE) {
			v->over = 1;
		} else if (t && t->kind == TIMER_CONN) {
			conn_timer(list_entry(t, struct conn, timer));
		} else if (t) {
			struct shell *sh = list_entry(t, struct shell, timer);

			sh->woken = true;
			conn_step(sh->owner, 0);
		} else if (w->kind == WATCH_LISTEN) {
			server_accept(v);
		} else if (w->kind == WATCH_SIGNAL) {
			v->over = 1;
		} else {
			conn_step(list_entry(w, struct conn, watch), ready);
		}
	}
}

static void server_report(const struct server *v)
{
	struct rusage u;
	double ms;

	getrusage(RUSAGE_SELF, &u);
	ms = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
	fprintf(stderr, "lightsshd: %ld connections, %ld turned away, %ld key exchanges, %ld channels, "
		"at most %ld open, %.0f ms of processor time (%.3f a connection), %ld KiB at most\n",
		v->accepted, v->refused, v->ready, v->commands, v->peak, ms,
		ms / (double)(v->accepted ? v->accepted : 1), u.ru_maxrss);
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: lightsshd [--port N] [--authorized FILE] [--password TEXT] [--hostkey FILE]\n"
		"                 [--known-hosts FILE] [--life SECONDS] [--most CONNECTIONS] [--stats]\n"
		"                 [--fast]\n"
		"                 [--fault NAME[:TIMES][@ADDRESS[/BITS][,...]]]...\n"
		"--known-hosts writes the host key down, --fast believes signatures (for load tests only),\n"
		"TIMES: only so many connections; faults:\n");
	fault_list(to);
	fputs("commands, also several with ';':\n" SHELL_HELP, to);
}

static void read_fault(struct fault_rules *r, char *text)
{
	const char *why = fault_add(r, text);

	if (why)
		die("--fault", why);
}

static long number(const char *s, long min, long max)
{
	long n;

	if (str_to_long(s, min, max, &n) != 0)
		die(s, "not a number that fits");
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "port", 1, NULL, 'p' }, { "authorized", 1, NULL, 'a' }, { "password", 1, NULL, 'w' },
		{ "hostkey", 1, NULL, 'k' }, { "known-hosts", 1, NULL, 'o' }, { "life", 1, NULL, 'l' },
		{ "most", 1, NULL, 'm' }, { "fault", 1, NULL, 'f' }, { "stats", 0, NULL, 's' },
		{ "fast", 0, NULL, 'F' }, { "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	static struct server v = { .most = 12000 };
	const char *hostkey = NULL, *known = NULL;
	long port = 0, life = 300;
	bool stats = false, fast = false;
	struct rlimit files;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p': port = number(optarg, 0, 65535); break;
		case 'a': read_authorized(&v, optarg); break;
		case 'w': v.password = optarg; break;
		case 'k': hostkey = optarg; break;
		case 'o': known = optarg; break;
		case 'l': life = number(optarg, 1, 86400); break;
		case 'm': v.most = number(optarg, 1, 100000); break;
		case 'f': read_fault(&v.rules, optarg); break;
		case 's': stats = true; break;
		case 'F': fast = true; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	list_init(&v.conns);
	if (ssh_init() != SSH_OK || loop_new(&v.loop) != 0)
		die("cannot start", "out of memory");
	v.bind = make_bind(hostkey, known);
	v.bind_wrong = make_bind(NULL, NULL);
	if (fast)
		lightcrypto_fast();
	server_signals(&v, life);
	server_listen(&v, port);
	while (!v.over)
		server_turn(&v);
	while (!list_empty(&v.conns))
		conn_free(list_entry(list_first(&v.conns), struct conn, link));
	if (stats)
		server_report(&v);
	close(v.listener.fd);
	close(v.sigfd);
	ssh_bind_free(v.bind);
	ssh_bind_free(v.bind_wrong);
	for (int i = 0; i < v.key_count; i++)
		ssh_key_free(v.keys[i]);
	loop_free(v.loop);
	lightcrypto_release();
	ssh_finalize();
	return 0;
}
