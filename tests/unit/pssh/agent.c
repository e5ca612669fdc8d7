/* SPDX-License-Identifier: Apache-2.0 */
/* The real ssh-agent, and agents that misbehave. */
#include "pssh/keys/agent.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../../lib/tap.h"
#include "../../lib/tool.h"
#include "base/clock.h"
#include "pssh/keys/key.h"
#include "pssh/pssh.h"
#include "pssh/keys/sshwire.h"

enum { KIND = 7, PATIENCE_MS = 20000 };

static const char data[] = "what is to be signed";

/* Waits at most ms for something to be due, and handles all of it. */
static void turn(struct loop *loop, struct agent *a, int ms)
{
	struct loop_watch *w;
	struct loop_timer *t;
	uint32_t ready;

	loop_wait(loop, ms);
	while (loop_next(loop, &w, &ready, &t)) {
		if (w == agent_watch(a) && w->kind == KIND)
			agent_ready(a, ready);
		else if (t == agent_timer(a) && t->kind == KIND)
			agent_due(a);
	}
}

static enum agent_state wait_list(struct loop *loop, struct agent *a)
{
	int64_t end = clock_ms() + PATIENCE_MS;

	while (agent_state(a) == AGENT_ASKING && clock_ms() < end)
		turn(loop, a, 1000);
	return agent_state(a);
}

static struct agent_sign_request *wait_done(struct loop *loop, struct agent *a)
{
	int64_t end = clock_ms() + PATIENCE_MS;
	struct agent_sign_request *req;

	while (!(req = agent_next_done(a)) && clock_ms() < end)
		turn(loop, a, 1000);
	return req;
}

/* ---- The real one ---------------------------------------------------------------------- */

static const struct sample {
	const char *kind, *bits, *file;
} samples[] = {
	{ "ed25519", "256", "ed" }, { "ecdsa", "384", "ec" }, { "rsa", "2048", "rsa" },
};

static pid_t start_agent(void)
{
	pid_t pid = tool_spawn((const char *const[]){ "ssh-agent", "-D", "-a", "sock", NULL });
	int64_t end = clock_ms() + PATIENCE_MS;
	struct stat st;

	while (stat("sock", &st) != 0 && clock_ms() < end)
		poll(NULL, 0, 5);
	setenv("SSH_AUTH_SOCK", "sock", 1);
	return pid;
}

/* Its signature is what our own key makes of it; ECDSA's differ each time, so only their form is looked at. */
static void check_signature(struct agent_sign_request *req, const struct sample *s, const char *algorithm)
{
	struct key *k = NULL;
	struct sshwire w;
	uint8_t *sig = NULL;
	size_t len = 0, n;

	ok(req->done && req->rc == 0 && req->sig, "'%s' is signed by: %s", s->file, req->text);
	if (!req->sig)
		return;
	if (strcmp(s->kind, "ecdsa") == 0) {
		sshwire_init(&w, req->sig, req->sig_len);
		sshwire_string(&w, &n);
		sshwire_string(&w, &n);
		ok(!w.bad && !w.left, "two numbers and nothing else");
	} else {
		ok(key_load(s->file, &k, NULL) == 0 &&
				key_sign(k, algorithm, data, strlen(data), &sig, &len, NULL) == 0 &&
				len == req->sig_len && memcmp(sig, req->sig, len) == 0,
			"as our own key signs by %s", algorithm);
	}
	free(sig);
	key_free(k);
}

static void sign_one(struct loop *loop, struct agent *a, const struct sample *s, const char *algorithm, const char *pub)
{
	struct agent_sign_request req = { .owner = loop };
	struct fail f = { 0 };
	uint8_t *blob = NULL;
	size_t len = 0;

	ok(key_read_public(pub, &blob, &len, NULL, NULL) == 0, "'%s'", pub);
	is_int(agent_sign(a, &req, blob, len, data, strlen(data), agent_flags(algorithm), &f), 0, "asks %s", f.text);
	ok(!req.done, "not done at once");
	ok(wait_done(loop, a) == &req && req.owner == loop, "done later");
	check_signature(&req, s, algorithm);
	agent_sign_abandon(a, &req);
	free(blob);
}

static void sign_many(struct loop *loop, struct agent *a)
{
	enum { MANY = 200 };
	static struct agent_sign_request req[MANY];
	size_t n, done = 0, right = 0;
	const struct agent_identity *ids = agent_identities(a, &n);

	for (int i = 0; i < MANY; i++) {
		req[i] = (struct agent_sign_request){ 0 };
		agent_sign(a, &req[i], ids[0].blob, ids[0].len, &i, sizeof i, 0, NULL);
	}
	for (int i = 0; i < MANY; i += 2)
		agent_sign_abandon(a, &req[i]);
	for (int i = 1; i < MANY; i += 2) {
		struct agent_sign_request *next = wait_done(loop, a);

		done += next != NULL;
		right += next == &req[i] && next->rc == 0 && next->sig_len == 64;
		if (next)
			agent_sign_abandon(a, next);
	}
	is_int(done, MANY / 2, "of %d requests the half that was not abandoned is done", MANY);
	is_int(right, MANY / 2, "in order");
	ok(!agent_next_done(a), "and no other");
}

static void test_real(struct loop *loop)
{
	struct agent *a = NULL;
	struct agent_sign_request req = { 0 };
	struct fail f = { 0 };
	pid_t pid = start_agent();
	const struct agent_identity *ids;
	size_t n, certs = 0;

	for (int i = 0; i < 3; i++)
		ok(tool_run("ssh-keygen", "-q", "-t", samples[i].kind, "-b", samples[i].bits, "-N", "", "-C",
			   samples[i].file, "-f", samples[i].file) == 0,
			"a key of type %s", samples[i].kind);
	ok(tool_run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "ca") == 0 &&
		tool_run("ssh-keygen", "-q", "-s", "ca", "-I", "me", "-n", "x", "ec.pub") == 0, "and a certificate");
	ok(tool_run("ssh-add", "-q", "ed", "ec", "rsa") == 0, "the agent has them");
	is_int(agent_new(loop, KIND, "sock", &a, &f), 0, "an agent %s", f.text);
	is_int(agent_state(a), AGENT_ASKING, "is asked");
	is_int(wait_list(loop, a), AGENT_LISTED, "and tells %s", agent_error(a));
	ids = agent_identities(a, &n);
	is_int(n, 4, "four identities");
	is_str(n ? ids[0].comment : NULL, "ed", "the first one's comment");
	for (size_t i = 0; i < n; i++) {
		char type[64] = "";

		sshwire_blob_type(ids[i].blob, ids[i].len, type, sizeof type);
		certs += strcmp(type, "ecdsa-sha2-nistp384-cert-v01@openssh.com") == 0;
	}
	is_int(certs, 1, "one is a certificate");
	sign_one(loop, a, &samples[0], "ssh-ed25519", "ed.pub");
	sign_one(loop, a, &samples[1], "ecdsa-sha2-nistp384", "ec.pub");
	sign_one(loop, a, &samples[1], "ecdsa-sha2-nistp384-cert-v01@openssh.com", "ec-cert.pub");
	sign_one(loop, a, &samples[2], "rsa-sha2-512", "rsa.pub");
	sign_one(loop, a, &samples[2], "rsa-sha2-256", "rsa.pub");
	sign_many(loop, a);

	ok(tool_run("ssh-add", "-q", "-D") == 0, "the agent forgets its keys");
	ids = agent_identities(a, &n);
	is_int(agent_sign(a, &req, ids[0].blob, ids[0].len, data, 4, 0, &f), 0, "one is asked for all the same");
	ok(wait_done(loop, a) == &req && req.rc == PSSH_EREFUSED && !req.sig, "and refused: %s", req.text);
	has_str(req.text, "refused", "with a sentence");

	tool_stop(pid);
	is_int(agent_sign(a, &req, ids[0].blob, ids[0].len, data, 4, 0, &f), 0, "the agent is gone, and asked");
	ok(wait_done(loop, a) == &req && req.rc < 0, "which fails: %s", req.text);
	unlink("sock");
	pid = start_agent();
	ok(tool_run("ssh-add", "-q", "ed") == 0, "another agent came");
	sign_one(loop, a, &samples[0], "ssh-ed25519", "ed.pub");
	agent_free(a);
	tool_stop(pid);
	unlink("sock");
}

/* ---- Bad ones -------------------------------------------------------------------------- */

static int listen_at(const char *path, int backlog)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
	unlink(path);
	if (bind(fd, (struct sockaddr *)&addr, sizeof addr) != 0 || listen(fd, backlog) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Reads what the client sends, as the agent. */
static ssize_t hear(struct loop *loop, struct agent *a, int fd, void *room, size_t size)
{
	int64_t end = clock_ms() + PATIENCE_MS;
	ssize_t n;

	while ((n = recv(fd, room, size, MSG_DONTWAIT)) < 0 && errno == EAGAIN && clock_ms() < end)
		turn(loop, a, 100);
	return n;
}

/* Asks for the list; the test then plays the agent. */
static int begin(struct loop *loop, int listener, struct agent **a)
{
	char request[5];
	int fd;

	if (agent_new(loop, KIND, "fake", a, NULL) != 0)
		return -1;
	fd = accept(listener, NULL, NULL);
	if (hear(loop, *a, fd, request, sizeof request) != sizeof request || memcmp(request, "\0\0\0\1\13", 5) != 0)
		diag("that was no request for the list");
	return fd;
}

static void reply(int fd, const void *bytes, size_t len)
{
	if (send(fd, bytes, len, MSG_NOSIGNAL) != (ssize_t)len)
		diag("cannot reply");
}

static void bad_list(struct loop *loop, int listener, const char *what, const char *bytes, size_t len,
	const char *words)
{
	struct agent *a = NULL;
	int fd = begin(loop, listener, &a);

	if (len)
		reply(fd, bytes, len);
	else
		close(fd);
	is_int(wait_list(loop, a), AGENT_FAILED, "an agent that %s is of no use", what);
	has_str(agent_error(a), words, "its sentence");
	agent_free(a);
	if (len)
		close(fd);
}

#define BAD(what, bytes, words) bad_list(loop, listener, what, bytes, sizeof (bytes) - 1, words)

static void test_bad_lists(struct loop *loop, int listener)
{
	struct agent *a = NULL;
	int fd;
	size_t n;

	BAD("closes", "", "closed the connection");
	BAD("says nothing in its message", "\0\0\0\0", "says what no agent says");
	BAD("says far too much", "\x7f\xff\xff\xff\14", "says what no agent says");
	BAD("answers what was not asked", "\0\0\0\2\16x", "says what no agent says");
	BAD("speaks HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", "says what no agent says");
	BAD("promises more keys than it sends", "\0\0\0\5\14\0\0\0\2", "says what no agent says");
	BAD("has a million keys", "\0\0\0\5\14\0\17\102\100", "says what no agent says");
	BAD("has a key that is longer than the message", "\0\0\0\11\14\0\0\0\1\0\0\0\7", "says what no agent says");
	BAD("says more than its list", "\0\0\0\6\14\0\0\0\0x", "says what no agent says");
	BAD("refuses", "\0\0\0\1\5", "does not tell its keys");

	fd = begin(loop, listener, &a);
	for (const char *p = "\0\0\0\17\14\0\0\0\1\0\0\0\1b\0\0\0\1c", *end = p + 19; p < end; p++) {
		reply(fd, p, 1);
		turn(loop, a, 100);
	}
	is_int(agent_state(a), AGENT_LISTED, "an agent that speaks slowly is listened to");
	ok(agent_identities(a, &n) && n == 1, "to the end");
	agent_free(a);
	close(fd);
}

static void test_no_list(struct loop *loop, int listener)
{
	struct agent *a = NULL;
	struct fail f = { 0 };
	char deep[200];

	ok(agent_new(loop, KIND, "fake", &a, NULL) == 0, "an agent that hangs");
	agent_set_patience(a, 50, 50);
	is_int(wait_list(loop, a), AGENT_FAILED, "is given up");
	has_str(agent_error(a), "does not answer in time", "its sentence");
	close(accept(listener, NULL, NULL));
	agent_free(a);

	ok(agent_new(loop, KIND, "nowhere", &a, NULL) == 0, "a path where nothing is");
	is_int(agent_state(a), AGENT_ASKING, "is not known to be one at once");
	is_int(wait_list(loop, a), AGENT_FAILED, "but soon");
	has_str(agent_error(a), "is it running?", "its sentence");
	agent_free(a);

	memset(deep, 'x', sizeof deep);
	deep[sizeof deep - 1] = '\0';
	is_int(agent_new(loop, KIND, deep, &a, &f), PSSH_EINVAL, "a path that is too long");
	is_int(agent_new(loop, KIND, "", &a, &f), PSSH_EINVAL, "and one that is too short");
}

static void test_full_backlog(struct loop *loop)
{
	int listener = listen_at("full", 0), first, second;
	struct agent *a[3] = { NULL };
	char request[5];

	for (int i = 0; i < 3; i++)
		ok(agent_new(loop, KIND, "full", &a[i], NULL) == 0, "agent %d of three, where one is let in", i);
	first = accept(listener, NULL, NULL);
	for (int64_t end = clock_ms() + 1000; clock_ms() < end;)
		for (int i = 0; i < 3; i++)
			agent_due(a[i]);
	second = accept(listener, NULL, NULL);
	ok(first >= 0 && second >= 0, "the next comes in when there is room");
	agent_free(a[1]);
	agent_free(a[2]);
	is_int(hear(loop, a[0], first, request, sizeof request), 5, "and asks");
	agent_free(a[0]);
	close(first);
	close(second);
	close(listener);
}

static const uint8_t some_key[] = "\0\0\0\13ssh-ed25519\0\0\0\40aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/* An agent with one key and requests to sign, the first of which the test has read. */
static int begin_signing(struct loop *loop, int listener, struct agent **a, struct agent_sign_request *req, int count)
{
	char request[512];
	int fd = begin(loop, listener, a);

	reply(fd, "\0\0\0\5\14\0\0\0\0", 9);
	wait_list(loop, *a);
	for (int i = 0; i < count; i++)
		agent_sign(*a, &req[i], some_key, sizeof some_key - 1, data, strlen(data), 0, NULL);
	if (hear(loop, *a, fd, request, sizeof request) < 20)
		diag("that was no request to sign");
	return fd;
}

static void bad_signature(struct loop *loop, int listener, const char *what, const char *bytes, size_t len, int code,
	bool all)
{
	struct agent *a = NULL;
	struct agent_sign_request req[3] = { 0 };
	int fd = begin_signing(loop, listener, &a, req, 3);
	int failed = 0;

	if (len)
		reply(fd, bytes, len);
	else
		shutdown(fd, SHUT_RDWR);
	ok(wait_done(loop, a) == &req[0], "when an agent %s, the request is done", what);
	is_int(req[0].rc, code, "with this code: %s", req[0].text);
	ok(*req[0].text && !req[0].sig, "and a sentence, and no signature");
	while (agent_next_done(a))
		failed++;
	is_int(failed, all ? 2 : 0, "the others %s", all ? "fail with it" : "go on");
	agent_free(a);
	for (int i = 0; i < 3; i++)
		agent_sign_abandon(NULL, &req[i]);
	close(fd);
}

#define BAD_SIGN(what, bytes, code, all) bad_signature(loop, listener, what, bytes, sizeof (bytes) - 1, code, all)

static void test_bad_signatures(struct loop *loop, int listener)
{
	struct agent *a = NULL;
	struct agent_sign_request req[2] = { 0 };
	struct fail f = { 0 };
	static uint8_t big[256 * 1024];
	int fd;

	BAD_SIGN("closes", "", PSSH_ECLOSED, true);
	BAD_SIGN("refuses", "\0\0\0\1\5", PSSH_EREFUSED, false);
	BAD_SIGN("tells a list instead", "\0\0\0\5\14\0\0\0\0", PSSH_EPROTO, true);
	BAD_SIGN("sends no signature", "\0\0\0\1\16", PSSH_EPROTO, true);
	BAD_SIGN("sends an empty signature", "\0\0\0\30\16\0\0\0\23\0\0\0\13ssh-ed25519\0\0\0\0", PSSH_EPROTO, true);
	BAD_SIGN("signs by something else", "\0\0\0\25\16\0\0\0\20\0\0\0\7ssh-dss\0\0\0\1x", PSSH_EALGORITHM, false);

	fd = begin_signing(loop, listener, &a, req, 2);
	agent_sign_abandon(a, &req[0]);
	reply(fd, "\0\0\0\31\16\0\0\0\24\0\0\0\13ssh-ed25519\0\0\0\1x", 29);
	turn(loop, a, 1000);
	ok(!agent_next_done(a) && !req[0].done, "an answer to what was abandoned is nobody's");
	reply(fd, "\0\0\0\31\16\0\0\0\24\0\0\0\13ssh-ed25519\0\0\0\1y", 29);
	ok(wait_done(loop, a) == &req[1] && req[1].sig_len == 1 && *req[1].sig == 'y', "the next is the next one's");
	agent_sign_abandon(a, &req[1]);

	is_int(agent_sign(a, &req[0], some_key, sizeof some_key - 1, big, sizeof big, 0, &f), PSSH_EINVAL,
		"too much to sign");
	is_int(agent_sign(a, &req[0], (const uint8_t *)"abc", 3, big, 1, 0, &f), PSSH_EINVAL, "a blob that is none");

	agent_set_patience(a, 50, 50);
	is_int(agent_sign(a, &req[0], some_key, sizeof some_key - 1, data, 4, 0, &f), 0, "an agent that hangs");
	ok(wait_done(loop, a) == &req[0] && req[0].rc == PSSH_ETIMEOUT, "is given up: %s", req[0].text);
	close(fd);

	is_int(agent_sign(a, &req[0], some_key, sizeof some_key - 1, data, 4, 0, &f), 0, "a request that waits");
	agent_free(a);
	ok(req[0].done && req[0].rc == PSSH_ECANCEL, "is cancelled with the agent");
	agent_sign_abandon(NULL, &req[0]);
}

int main(void)
{
	struct loop *loop = NULL;
	int listener;

	plan_none;
	if (!tool_begin() || loop_new(&loop) != 0)
		skip_all("no place to work in");
	listener = listen_at("fake", 8);
	is_int(agent_flags("rsa-sha2-512"), AGENT_RSA_SHA2_512, "the flag for SHA-512");
	is_int(agent_flags("rsa-sha2-256-cert-v01@openssh.com"), AGENT_RSA_SHA2_256,
		"and for SHA-256, of a certificate too");
	is_int(agent_flags("ssh-ed25519"), 0, "no flag for others");
	if (tool_run("ssh-add", "-l") == 127 || tool_run("ssh-agent", "-k") == 127)
		skip("ssh-agent is not installed");
	else
		test_real(loop);
	test_bad_lists(loop, listener);
	test_no_list(loop, listener);
	test_full_backlog(loop);
	test_bad_signatures(loop, listener);
	close(listener);
	loop_free(loop);
	tool_end();
	return done();
}
