/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network side that dies, hangs, lies or sends unasked: the agent's side says that the request is lost, and the next
 * one goes to another process. This program is the network side of itself; the path of a request says what it does.
 */
#include "agentd/market/http_child.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/file.h"
#include "market/client.h"

/* ---- The other side ------------------------------------------------------------------------- */

static void httpchild_tell(const struct http_answer *a, const char *body)
{
	if (file_write(HTTP_FD, a, sizeof *a) != 0 || (body && file_write(HTTP_FD, body, strlen(body)) != 0))
		_exit(1);
}

/* An answer, and once that was taken something more. */
static void httpchild_stray(struct http_answer *a, const char *text)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	httpchild_tell(a, text);
	sigwait(&set, &got);
	httpchild_tell(a, "more");
	pause();
}

/* Leaves a stranger behind who has its socket, and answers for whoever comes next. */
static void httpchild_share(struct http_answer *a)
{
	struct http_request q;

	if (fork() != 0)
		_exit(0);
	a->len = 1;
	while (read(HTTP_FD, &q, sizeof q) > 0)
		httpchild_tell(a, "1");
	_exit(0);
}

static void httpchild_answer(const char *path)
{
	char text[32];
	struct http_answer a = { .status = 200, .took_us = 1, .retry_after = -1 };

	snprintf(text, sizeof text, "%d", (int)getpid());
	a.len = strlen(text);
	if (strcmp(path, "/dies") == 0)
		_exit(0);
	if (strcmp(path, "/status") == 0)
		_exit(5);
	if (strcmp(path, "/missing") == 0)
		_exit(127);
	if (strcmp(path, "/killed") == 0)
		raise(SIGKILL);
	if (strcmp(path, "/shared") == 0)
		httpchild_share(&a);
	if (strcmp(path, "/hangs") == 0)
		pause();
	if (strcmp(path, "/half") == 0 && file_write(HTTP_FD, &a, sizeof a / 2) == 0)
		_exit(0);
	if (strcmp(path, "/huge") == 0)
		a.len = UINT64_MAX - 8;
	if (strcmp(path, "/other") == 0)
		a.rc = -12345;
	if (strcmp(path, "/floods") == 0)
		for (a.len = HTTP_BODY_MAX;;)
			httpchild_tell(&a, "0123456789012345678901234567890123456789");
	if (strcmp(path, "/stray") == 0)
		httpchild_stray(&a, text);
	httpchild_tell(&a, text);
	if (strcmp(path, "/deaf") == 0)
		pause();
}

static int httpchild_other_side(void)
{
	struct http_request q;

	for (size_t done;;) {
		for (done = 0; done < sizeof q;) {
			ssize_t n = read(HTTP_FD, (char *)&q + done, sizeof q - done);

			if (n <= 0)
				return 0;
			done += (size_t)n;
		}
		for (char byte; q.len; q.len--)
			if (read(HTTP_FD, &byte, 1) != 1)
				return 0;
		httpchild_answer(q.path);
	}
}

/* ---- This side ------------------------------------------------------------------------------ */

/* The pid that answered; 0: the request is lost; -1: something else. */
static int httpchild_ask(struct http_child *c, const char *path, char *body, int64_t whole_ms, char why[128])
{
	struct http_reply r;
	int pid = -1;

	http_child_ask(c, NULL, "GET", path, body, whole_ms);
	http_child_wait(c, &r);
	if (r.rc == CLIENT_LOST || (r.rc == 0 && sscanf(buf_text(&r.body), "%d", &pid) != 1))
		pid = r.rc == CLIENT_LOST ? 0 : -1;
	snprintf(why, 128, "%.127s", r.fail.text);
	buf_release(&r.body);
	return pid;
}

static void test_faults(struct http_child *c)
{
	static const struct {
		const char *path, *why;
	} faults[] = {
		{ "/dies", "has ended" },
		{ "/status", "has ended with status 5" },
		{ "/missing", "could not start" },
		{ "/killed", "was ended by signal 9 (Killed)" },
		{ "/shared", "has ended" },
		{ "/hangs", "does not answer" },
		{ "/half", "has ended" },
		{ "/huge", "sent an invalid answer" },
		{ "/other", "sent an invalid answer" },
		{ "/floods", "sent an invalid answer" },
	};
	char why[128], expected[128];

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
		int before = httpchild_ask(c, "/good", NULL, 60000, why), after;

		snprintf(expected, sizeof expected, "the process that talks to the market %s", faults[i].why);
		ok(before > 0, "%s: one answers", faults[i].path);
		is_int(httpchild_ask(c, faults[i].path, NULL, strcmp(faults[i].path, "/hangs") == 0 ? 1 : 60000, why),
			0, "then the request is lost");
		is_str(why, expected, "which it says");
		after = httpchild_ask(c, "/good", strdup("body"), 60000, why);
		ok(after > 0 && after != before, "the next one answers: %d after %d", after, before);
	}
}

/* Bytes that nobody asked for must not be taken for the next answer, nor keep the loop awake. */
static void test_stray(struct http_child *c, struct loop *loop)
{
	struct loop_timer *t;
	struct loop_watch *w;
	struct http_reply r;
	uint32_t ready;
	char why[128];
	int pid = httpchild_ask(c, "/stray", NULL, 60000, why), n = 0;

	while (loop_next(loop, &w, &ready, &t) == 1)
		; /* of its answer */
	ok(pid > 0 && kill(pid, SIGUSR1) == 0, "one answers");
	while (loop_wait(loop, n ? 0 : 60000) == 0 && loop_next(loop, &w, &ready, &t) == 1 && n++ < 1000)
		if (http_child_take(c, &r))
			buf_release(&r.body);
	ok(n > 0 && n < 1000, "after bytes that nobody asked for it is quiet again");
	pid = httpchild_ask(c, "/good", NULL, 60000, why);
	ok(pid > 0 && kill(pid, 0) == 0, "and the next answer is the next one's");
}

/* It ends while nobody asks: that costs no request. */
static void test_idle(struct http_child *c)
{
	char why[128];
	siginfo_t info;
	int pid = httpchild_ask(c, "/good", NULL, 60000, why), after;

	ok(pid > 0 && kill(pid, SIGKILL) == 0, "an idle one is killed");
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	after = httpchild_ask(c, "/good", NULL, 60000, why);
	ok(after > 0 && after != pid, "and the next request does not get lost: %s", why);
}

/* More than a socket holds, to somebody who does not read. */
static void test_deaf(struct http_child *c)
{
	int pid, after;
	char why[128], *body = malloc(HTTP_BODY_MAX);

	pid = httpchild_ask(c, "/deaf", NULL, 60000, why);
	ok(pid > 0, "one that will read no more");
	if (body) {
		memset(body, 'x', HTTP_BODY_MAX - 1);
		body[HTTP_BODY_MAX - 1] = '\0';
	}
	is_int(httpchild_ask(c, "/good", body, 60000, why), 0, "does not hold up the agent");
	after = httpchild_ask(c, "/good", NULL, 60000, why);
	ok(after > 0 && after != pid, "another one answers");
}

int main(int argc, char **argv)
{
	struct http_child_setup setup = { .url = "http://127.0.0.1:1", .late_ms = 300 };
	struct http_child *c = NULL;
	struct loop *loop = NULL;

	if (argc == 2 && strcmp(argv[1], HTTP_VERB) == 0)
		return httpchild_other_side();
	plan_none;
	is_int(loop_new(&loop), 0, "a loop");
	setup.loop = loop;
	is_int(http_child_new(&setup, &c, NULL), 0, "a network side starts");
	test_faults(c);
	test_stray(c, loop);
	test_idle(c);
	test_deaf(c);
	http_child_free(c);
	loop_free(loop);
	return done();
}
