/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/http_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "market/client.h"

enum {
	PIECE = 64 << 10,
	WAIT_MS = 100,
	WRITE_MS = 5000, /* an idle child reads at once */
	LATE_MS = 15000,
	NOT_STARTED = 127 /* as the loader's, of a program whose libraries are missing */
};

struct http_child {
	pid_t pid;         /* 0: no child at the moment; the next request starts one */
	int fd;            /* our end of this child's own pair of sockets; -1 */
	struct loop *loop; /* watches fd; NULL */
	struct loop_watch watch;
	bool busy;
	char url[IDENTITY_URL], pin[IDENTITY_PIN];
	bool plain;
	int64_t late_ms, due_ms;
	struct buf heard;
};

/* ---- Starting and ending -------------------------------------------------------------------- */

/* Its exit status as of waitpid(). */
static int http_child_end(struct http_child *c)
{
	int status = NOT_STARTED << 8;

	if (c->loop)
		loop_forget(c->loop, &c->watch);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	buf_clear(&c->heard);
	if (!c->pid)
		return status;
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
	return status;
}

/* What it gets of this process's environment. The rest may have secrets of whoever typed a verb. */
static const char *const http_child_names[] = {
	/* of libcurl, TLS and the look-up of names */
	"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"OPENSSL_CONF", "RES_OPTIONS", "LOCALDOMAIN", "HOSTALIASES",
	/* of any program */
	"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS"
};

enum { NAMES = sizeof http_child_names / sizeof *http_child_names };

static void http_child_environment(char *room[NAMES + 1])
{
	size_t n = 0, len;

	for (size_t i = 0; i < NAMES; i++) {
		len = strlen(http_child_names[i]);
		for (char **e = environ; e && *e; e++)
			if (strncmp(*e, http_child_names[i], len) == 0 && (*e)[len] == '=') {
				room[n++] = *e;
				break;
			}
	}
	room[n] = NULL;
}

/*
 * A new program, not a fork alone: what this process has in its memory is not for the network side, nor is the terminal
 * that a verb was typed at.
 */
_Noreturn static void http_child_exec(int end)
{
	char name[] = "nanopod-agentd", verb[] = HTTP_VERB, *argv[] = { name, verb, NULL }, *env[NAMES + 1];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	http_child_environment(env);
	end = end == HTTP_FD ? dup(end) : end; /* dup2() to itself would leave it to be closed */
	if (setsid() > 0 && null >= 0 && dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2 &&
		dup2(end, HTTP_FD) == HTTP_FD && close_range(HTTP_FD + 1, ~0U, 0) == 0)
		execve("/proc/self/exe", argv, env);
	_exit(NOT_STARTED);
}

/* Its sockets are its own: what another one before it may have handed on to a stranger leads nowhere. */
static int http_child_begin(struct http_child *c)
{
	int ends[2], rc = 0;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		http_child_exec(ends[1]);
	rc = pid < 0 ? -errno : 0;
	c->pid = pid < 0 ? 0 : pid;
	c->fd = ends[0];
	close(ends[1]);
	rc = rc || !c->loop ? rc : loop_watch(c->loop, &c->watch, c->fd, LOOP_READ);
	if (rc)
		http_child_end(c);
	return rc;
}

static bool http_child_died(struct http_child *c)
{
	siginfo_t info = { .si_pid = 0 };

	return !c->pid || waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid;
}

/* An idle one that has ended, or said something that nobody asked for, has no place here. */
static void http_child_look(struct http_child *c)
{
	char byte;

	if (c->pid && (http_child_died(c) || recv(c->fd, &byte, 1, MSG_DONTWAIT) >= 0))
		http_child_end(c);
}

int http_child_new(const struct http_child_setup *setup, struct http_child **out, struct fail *f)
{
	struct http_child *c = calloc(1, sizeof *c);
	int rc;

	if (!c)
		return fail_set(f, -ENOMEM, "out of memory");
	c->fd = -1;
	c->loop = setup->loop;
	c->watch.kind = setup->watch_kind;
	c->plain = setup->plain;
	c->late_ms = setup->late_ms ? setup->late_ms : LATE_MS;
	snprintf(c->url, sizeof c->url, "%s", setup->url);
	http_child_pin(c, setup->pin);
	buf_init(&c->heard, sizeof(struct http_answer) + HTTP_BODY_MAX + PIECE);
	rc = http_child_begin(c);
	if (rc) {
		http_child_free(c);
		return fail_errno(f, rc, -rc, "cannot start a child");
	}
	*out = c;
	return 0;
}

void http_child_free(struct http_child *c)
{
	if (!c)
		return;
	http_child_end(c);
	buf_release(&c->heard);
	free(c);
}

void http_child_pin(struct http_child *c, const char *pin)
{
	snprintf(c->pin, sizeof c->pin, "%s", pin ? pin : "");
}

bool http_child_idle(const struct http_child *c)
{
	return !c->busy;
}

/* ---- Asking --------------------------------------------------------------------------------- */

/* False: it did not get through, which http_child_take notices. */
static bool http_child_write(struct http_child *c, const void *data, size_t len)
{
	struct pollfd p = { .fd = c->fd, .events = POLLOUT };
	int64_t until = clock_ms() + WRITE_MS;

	for (size_t done = 0; done < len;) {
		ssize_t n = send(c->fd, (const char *)data + done, len - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		done += n > 0 ? (size_t)n : 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n < 0 && errno == EAGAIN && poll(&p, 1, WAIT_MS) == 0) {
			if (http_child_died(c))
				return false;
			if (clock_ms() > until) {
				c->due_ms = 0;
				return false;
			}
		}
	}
	return true;
}

void http_child_ask(struct http_child *c, const char *token, const char *method, const char *path, char *body,
	int64_t whole_ms)
{
	struct http_request q = { .whole_ms = whole_ms,
		.len = body ? strlen(body) : 0,
		.plain = c->plain,
		.has_body = body != NULL };

	assert(!c->busy);   /* one request at a time */
	memcpy(q.url, c->url, sizeof q.url);
	memcpy(q.pin, c->pin, sizeof q.pin);
	snprintf(q.token, sizeof q.token, "%s", token ? token : "");
	snprintf(q.method, sizeof q.method, "%s", method);
	snprintf(q.path, sizeof q.path, "%s", path);
	c->busy = true;
	c->due_ms = clock_ms() + whole_ms + c->late_ms;
	http_child_look(c);
	if ((c->pid || http_child_begin(c) == 0) && http_child_write(c, &q, sizeof q) && body)
		http_child_write(c, body, q.len);
	explicit_bzero(q.token, sizeof q.token);
	free(body);
}

/* ---- Its answer ----------------------------------------------------------------------------- */

/* As http_wire_read, of all that came until now. -EPIPE: no more will. */
static int http_child_listen(struct http_child *c, struct http_reply *out)
{
	char piece[PIECE];
	ssize_t n = 1;
	int rc = 0;

	while (!rc && (n = recv(c->fd, piece, sizeof piece, MSG_DONTWAIT)) > 0) {
		rc = buf_add(&c->heard, piece, (size_t)n);
		rc = rc ? rc : http_wire_read(c->heard.data, c->heard.len, out);
	}
	return n == 0 ? -EPIPE : rc;
}

static void http_child_say_end(int status, char why[64])
{
	if (WIFSIGNALED(status))
		snprintf(why, 64, "was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == NOT_STARTED)
		snprintf(why, 64, "could not start");
	else if (WEXITSTATUS(status))
		snprintf(why, 64, "has ended with status %d", WEXITSTATUS(status));
	else
		snprintf(why, 64, "has ended");
}

/* Its request may have reached the market. why: NULL where it ended by itself. */
static void http_child_lost(struct http_child *c, const char *why, struct http_reply *out)
{
	int status = http_child_end(c);
	char end[64];

	http_child_say_end(status, end);
	*out = (struct http_reply){ .retry_after = -1 };
	buf_init(&out->body, 1);
	out->rc = fail_set(&out->fail, CLIENT_LOST, "the process that talks to the market %s", why ? why : end);
}

bool http_child_take(struct http_child *c, struct http_reply *out)
{
	bool died;
	int rc;

	if (!c->busy) {
		http_child_look(c);
		return false;
	}
	died = http_child_died(c); /* before what it said last is read */
	rc = http_child_listen(c, out);
	if (rc == 1)
		buf_clear(&c->heard);
	else if (rc == -EPIPE || (!rc && died))
		http_child_lost(c, NULL, out);
	else if (rc)
		http_child_lost(c, "sent an invalid answer", out);
	else if (clock_ms() > c->due_ms)
		http_child_lost(c, "does not answer", out);
	else
		return false;
	c->busy = false;
	return true;
}

void http_child_wait(struct http_child *c, struct http_reply *out)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	assert(c->busy);
	while (!http_child_take(c, out))
		poll(&p, 1, WAIT_MS);
}
