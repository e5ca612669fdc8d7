/* SPDX-License-Identifier: Apache-2.0 */
/* How old the keys of an issuer may be, what counts where newer ones cannot be fetched, and the page's secret. */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "marketd/oidc/issuer.h"

enum { MINUTE_MS = 60000, HOUR_MS = 3600000 };

/* What the server does, and how often it was asked for its keys. */
static struct state {
	volatile int fault, asked;
} * state;

static struct loop *loop;
static struct outward *outward;
static char url[64], kept[64], secret[64];

/* ---- The issuer ------------------------------------------------------------------------- */

static void issuer_answer(int fd)
{
	char room[4096], body[512], head[128];
	ssize_t n = read(fd, room, sizeof room - 1);
	bool keys;

	if (n <= 0)
		return;
	room[n] = '\0';
	keys = strstr(room, "GET /keys ") != NULL;
	state->asked += keys;
	if (keys)
		snprintf(body, sizeof body, "{\"keys\":[]}");
	else
		snprintf(body, sizeof body,
			"{\"issuer\":\"%s\",\"jwks_uri\":\"%s/keys\",\"token_endpoint\":\"%s/token\","
			"\"authorization_endpoint\":\"http://evil.example.org/\"}",
			url, url, url);
	snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
		state->fault ? state->fault : 200, strlen(body));
	if (send(fd, head, strlen(head), MSG_NOSIGNAL) < 0 || send(fd, body, strlen(body), MSG_NOSIGNAL) < 0)
		diag("the client is gone");
}

static pid_t issuer_serve(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t pid;

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, len) || listen(fd, 100) ||
		getsockname(fd, (struct sockaddr *)&a, &len))
		exit(99);
	snprintf(url, sizeof url, "http://127.0.0.1:%d", ntohs(a.sin_port));
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;) {
			int conn = accept(fd, NULL, NULL);

			issuer_answer(conn);
			close(conn);
		}
	}
	close(fd);
	return pid;
}

/* ---- The market's side -------------------------------------------------------------------- */

static void issuer_pass(void)
{
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	loop_wait(loop, outward_timeout(outward));
	while (loop_next(loop, &w, &ready, &t) == 1 && w)
		outward_take(outward, w, ready);
	outward_turn(outward);
}

/* Asks until there is an answer, all at one moment. waited: it had to. */
static int issuer_wait(struct issuer *i, int64_t now_ms, bool *waited, struct fail *why)
{
	int rc = issuer_ready(i, now_ms, why);

	*waited = rc == -EAGAIN;
	while (rc == -EAGAIN) {
		issuer_pass();
		rc = issuer_ready(i, now_ms, why);
	}
	return rc;
}

static struct issuer *issuer_open(const struct issuer_settings *set)
{
	struct issuer *i = NULL;
	struct fail f = { 0 };

	if (issuer_new(&i, set, outward, &f) != 0)
		diag("%s", f.text);
	return i;
}

static void test_age(const struct issuer_settings *set)
{
	struct issuer *i = issuer_open(set);
	struct fail why = { 0 };
	bool waited;

	ok(issuer_wait(i, 1, &waited, &why) == 0 && waited && state->asked == 1,
		"the first who asks waits for the keys");
	ok(issuer_wait(i, HOUR_MS - MINUTE_MS, &waited, &why) == 0 && !waited && state->asked == 1,
		"for almost an hour nobody else does");
	ok(issuer_wait(i, HOUR_MS + 1, &waited, &why) == 0 && waited && state->asked == 2,
		"keys that are an hour old are fetched anew");
	state->fault = 503;
	ok(issuer_wait(i, 2 * HOUR_MS + 2, &waited, &why) == 0 && waited && state->asked == 2,
		"where they cannot be fetched the old ones count");
	ok(issuer_wait(i, 2 * HOUR_MS + 1002, &waited, &why) == 0 && !waited, "and nobody waits again at once");
	state->fault = 0;
	ok(issuer_wait(i, 2 * HOUR_MS + MINUTE_MS, &waited, &why) == 0 && waited && state->asked == 3,
		"a minute later they are fetched");
	ok(issuer_endpoint(i, "token_endpoint") && !issuer_endpoint(i, "authorization_endpoint"),
		"a page in plain text on another machine is no page");
	issuer_free(i);
}

static void test_kept(const struct issuer_settings *set)
{
	struct fail why = { 0 };
	struct issuer *i;
	bool waited;

	state->fault = 503;
	i = issuer_open(set);
	ok(issuer_wait(i, 5 * HOUR_MS, &waited, &why) == 0 && waited, "after a restart those on disk count");
	issuer_free(i);
	unlink(kept);
	i = issuer_open(set);
	ok(issuer_wait(i, 5 * HOUR_MS, &waited, &why) < 0, "without those nobody signs in");
	ok(strstr(why.text, "answers with status 503"), "and hears why");
	issuer_free(i);
	state->fault = 0;
}

static void test_secret(struct issuer_settings set)
{
	FILE *f = fopen(secret, "w");
	struct fail why = { 0 };
	struct issuer *i = NULL;

	set.secret = secret;
	if (!f || fputs("s e:cret\nsecond line\n", f) < 0 || fclose(f) != 0)
		exit(99);
	chmod(secret, 0640);
	ok(issuer_new(&i, &set, outward, &why) < 0 && strstr(why.text, "chmod 600"), "a secret that others can read");
	chmod(secret, 0600);
	i = issuer_open(&set);
	is_str(i ? issuer_secret(i) : NULL, "s e:cret", "its first line is the secret");
	is_str(i ? issuer_page_client(i) : NULL, "nanopod", "the page has the market's name, where it has none");
	issuer_free(i);
	ok(truncate(secret, 0) == 0 && issuer_new(&i, &set, outward, &why) < 0 && strstr(why.text, "no secret in"),
		"an empty file has none");
	unlink(secret);
	ok(issuer_new(&i, &set, outward, &why) < 0 && strstr(why.text, "cannot read"), "nor has one that is not there");
}

int main(void)
{
	struct issuer_settings set = { .url = url, .client = "nanopod", .kept = kept };
	pid_t pid;

	state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(kept, sizeof kept, "/tmp/issuer-%d.json", (int)getpid());
	snprintf(secret, sizeof secret, "/tmp/issuer-%d.secret", (int)getpid());
	signal(SIGPIPE, SIG_IGN);
	pid = issuer_serve();
	plan_none;
	if (state == MAP_FAILED || loop_new(&loop) != 0 || outward_new(&outward, loop) != 0)
		return 99;
	test_age(&set);
	test_kept(&set);
	test_secret(set);
	outward_free(outward);
	loop_free(loop);
	unlink(kept);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return done();
}
