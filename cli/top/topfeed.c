/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/topfeed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/frame/signals.h"
#include "cli/frame/terminal.h"

/* What the child says: parts of an answer, then its end with 0 or a code and a sentence. */
enum { TOPFEED_END = 100 };

struct topfeed_head {
	uint32_t part;
	int32_t code;
	uint64_t len;
};

/* ---- The child ------------------------------------------------------------------------- */

static int topfeed_write(int fd, const void *data, size_t len)
{
	for (const char *at = data; len;) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int topfeed_say(int fd, uint32_t part, int code, const char *text, size_t len)
{
	const struct topfeed_head head = { .part = part, .code = code, .len = len };
	int rc = topfeed_write(fd, &head, sizeof head);

	return rc ? rc : topfeed_write(fd, text, len);
}

static int topfeed_pass(void *arg, enum top_part part, const char *text, size_t len, struct fail *f)
{
	int rc = topfeed_say(*(int *)arg, part, 0, text, len);

	return rc ? fail_errno(f, CLIENT_STOPPED, -rc, "cannot pass it on") : 0;
}

/* Nothing that it prints may reach the screen. One that is started again inherits what the screen set up, too. */
static _Noreturn void topfeed_run(struct nanopod *np, bool machines, int in, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), rc = 0;
	struct market_link *m = NULL;
	char go;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signals_forget();
	terminal_forget();
	signal(SIGINT, SIG_IGN); /* the terminal sends it to both; the parent decides */
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	while (read(in, &go, 1) == 1 && !rc) {
		struct fail why = { .code = CLIENT_BAD_SETUP, .text = "cannot sign in any more" };

		if ((m || market_sign_in(np, NULL, 0, &m) == 0) && toplook_ask(m, machines, topfeed_pass, &out) == 0)
			why = (struct fail){ 0 };
		else if (m)
			why = m->fail;
		rc = topfeed_say(out, TOPFEED_END, why.code, why.text, strlen(why.text));
	}
	_exit(0);
}

/* ---- The parent ------------------------------------------------------------------------ */

int topfeed_start(struct topfeed *t, struct nanopod *np, bool machines)
{
	int to[2], from[2];

	*t = (struct topfeed){ .to = -1, .from = -1 };
	buf_init(&t->in, WIRE_BYTES_MAX + 2 * sizeof(struct topfeed_head));
	if (pipe2(to, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(from, O_CLOEXEC) < 0) {
		close(to[0]);
		close(to[1]);
		return -errno;
	}
	fflush(np->out);
	fflush(np->err);
	t->pid = fork();
	if (t->pid == 0) {
		close(to[1]);
		close(from[0]);
		topfeed_run(np, machines, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	t->to = to[1];
	t->from = from[0];
	fcntl(t->from, F_SETFL, O_NONBLOCK);
	if (t->pid > 0)
		return 0;
	t->pid = 0;
	topfeed_stop(t);
	return -EAGAIN;
}

void topfeed_stop(struct topfeed *t)
{
	if (t->pid) {
		kill(t->pid, SIGKILL);
		while (waitpid(t->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (t->to >= 0)
		close(t->to);
	if (t->from >= 0)
		close(t->from);
	t->pid = 0;
	t->to = t->from = -1;
	buf_release(&t->in);
	toplook_free(t->making);
	t->making = NULL;
}

void topfeed_ask(struct topfeed *t)
{
	toplook_free(t->making);
	t->making = toplook_new();
	t->fail = (struct fail){ 0 };
	t->asked = topfeed_write(t->to, "", 1) == 0;
}

/* One message. 1: it ended the answer. */
static int topfeed_take(struct topfeed *t, const struct topfeed_head *h, const char *text, struct toplook **out,
	struct fail *why)
{
	if (h->part != TOPFEED_END) {
		if (!t->fail.code && toplook_take(t->making, (enum top_part)h->part, text, h->len, &t->fail) != 0)
			t->fail.code = t->fail.code ? t->fail.code : CLIENT_BAD_ANSWER;
		return 0;
	}
	t->asked = false;
	*why = t->fail;
	if (h->code)
		fail_set(why, h->code, "%.*s", (int)h->len, text);
	*out = why->code ? NULL : t->making;
	if (*out)
		t->making = NULL;
	return 1;
}

/* 1: a whole answer. */
static int topfeed_parse(struct topfeed *t, struct toplook **out, struct fail *why)
{
	struct topfeed_head h;
	size_t at = 0;
	int rc = 0;

	while (!rc && t->in.len - at >= sizeof h) {
		memcpy(&h, t->in.data + at, sizeof h);
		if (t->in.len - at - sizeof h < h.len)
			break;
		rc = topfeed_take(t, &h, t->in.data + at + sizeof h, out, why);
		at += sizeof h + h.len;
	}
	buf_drop(&t->in, at);
	return rc;
}

int topfeed_read(struct topfeed *t, struct toplook **out, struct fail *why)
{
	char piece[65536];
	ssize_t n;
	int rc = 0;

	while (!rc && (n = read(t->from, piece, sizeof piece)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -EPIPE;
		if (buf_add(&t->in, piece, (size_t)n))
			return -EPIPE;
		rc = topfeed_parse(t, out, why);
	}
	return rc ? rc : -EPIPE;
}
