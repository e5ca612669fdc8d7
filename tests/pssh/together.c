/* SPDX-License-Identifier: Apache-2.0 */
/* Copies over several connections beside kept connections, signers, and questions about host keys. */
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../lib/tool.h"
#include "drive.h"

enum { STREAMS = 4 };

static struct drive d;
static unsigned verified; /* connections whose host key was checked */

/* A path for the host, whose home is elsewhere. */
static const char *there(const char *name)
{
	static char room[4096];

	snprintf(room, sizeof room, "%s/%s", env("TMP"), name);
	return room;
}

static void hear(void *arg, enum pssh_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	verified += strstr(text, "key exchange") != NULL;
}

/* This program's disk is slow until all streams are there: else a copy may be over before. */
static bool slow;

__attribute__((visibility("default"))) ssize_t pread(int fd, void *data, size_t len, off_t at)
{
	if (slow && verified < STREAMS)
		poll(NULL, 0, 5);
	return syscall(SYS_pread64, fd, data, len, at);
}

static void begin(const char *config)
{
	if (!drive_start(&d) || pssh_read_config(d.p, config) != 0)
		exit(99);
	verified = 0;
	pssh_set_log(d.p, PSSH_LOG_INFO, hear, NULL);
}

static struct pssh_task *copying(struct pssh_task *t, struct pssh_host *h)
{
	if (pssh_task_set_streams(t, STREAMS) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	return t;
}

static struct pssh_task *put(struct pssh_host *h, const char *name)
{
	struct pssh_task *t;

	if (pssh_put(d.p, "large", there(name), 0, &t) != 0)
		exit(99);
	return copying(t, h);
}

static void came_whole(const char *name)
{
	is_int(tool_run("cmp", "large", there(name)), 0, "the copy is whole");
	unlink(there(name));
}

/* A kept connection whose server stands still: the copy begins again on another one, and its streams with it. */
static void check_kept(void)
{
	struct pssh_host *h;
	struct pssh_task *t;
	pid_t server;

	begin(env("SSHD_CONFIG"));
	pssh_set_keep(d.p, "kept", 600);
	h = host(&d, "n1");
	server = (pid_t)strtol(once(&d, h, "echo $PPID")->out, NULL, 10);
	drive_end(&d, "a connection is kept");
	begin(env("SSHD_CONFIG"));
	pssh_set_keep(d.p, "kept", 600);
	h = host(&d, "n1");
	kill(server, SIGSTOP);
	t = put(h, "kept-copy");
	drive_done(&d, 1);
	kill(server, SIGCONT);
	ends(drive_seen(&d, t, h), "exit 0", "a copy over a kept connection that does not answer begins again");
	came_whole("kept-copy");
	pssh_set_keep(d.p, NULL, 0);
	drive_end(&d, "kept");
}

/* ---- Questions ------------------------------------------------------------------------- */

struct asked {
	unsigned signs, keys;
};

/* By the key that stands for a token, which openssl uses here. */
static void sign(const struct pssh_event *ev)
{
	char hash[16], out[16] = "", sig[4096];
	size_t len = 0;
	FILE *f;

	snprintf(hash, sizeof hash, "-sha%d", ev->status);
	if (!tool_write("to-sign", ev->data, ev->len, 0600))
		exit(99);
	tool_output(out, "openssl", "dgst", hash, "-sign", "token.pem", "-out", "signature", "to-sign");
	f = fopen("signature", "r");
	if (f)
		len = fread(sig, 1, sizeof sig, f);
	if (!f || fclose(f) != 0 || pssh_answer_sign(d.p, ev->prompt, sig, len) != 0)
		diag("no signature: %s", pssh_error(d.p));
}

/* Pulls events until a task is done, and answers what is asked. */
static struct asked answer_all(void)
{
	struct asked a = { 0 };
	int64_t end = now_ms() + DRIVE_PATIENCE_MS;
	unsigned done = d.done;
	const struct pssh_event *ev;

	while (d.done == done && now_ms() < end) {
		if (pssh_wait(d.p, &ev, 1000) != 1)
			continue;
		drive_take(&d, ev);
		if (ev->type == PSSH_EV_SIGN) {
			a.signs++;
			sign(ev);
		} else if (ev->type == PSSH_EV_HOSTKEY) {
			a.keys++;
			pssh_answer_hostkey(d.p, ev->prompt, PSSH_HOSTKEY_ACCEPT);
		}
	}
	return a;
}

/* A program that signs is asked for the host that it named, and not once more for each stream. */
static void check_signer(void)
{
	char text[2048] = "";
	struct pssh_host *h;
	struct pssh_task *t;
	struct asked a;

	begin("config");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	tool_output(text, "cat", "token.pub");
	is_int(pssh_add_signer(d.p, text), 0, "a program that signs");
	h = host(&d, "n1");
	t = put(h, "signed");
	a = answer_all();
	ends(drive_seen(&d, t, h), "exit 0", "copies");
	came_whole("signed");
	is_int(a.signs, 1, "after one signature");
	is_int(verified, 1, "over one connection");
	drive_end(&d, "signer");
}

/* Through a jump host: questions are about those two, and about them once. */
static void check_doubts(void)
{
	struct pssh_host *h;
	struct pssh_task *t;
	struct asked a;

	begin("config");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ASK);
	pssh_add_identity(d.p, env("SSHD_KEY"));
	h = host(&d, "n1");
	pssh_host_set_jump(h, "n2");
	t = put(h, "doubted");
	a = answer_all();
	ends(drive_seen(&d, t, h), "exit 0", "a copy to a host whose key, and whose jump host's, was accepted");
	came_whole("doubted");
	is_int(a.keys, 2, "each was asked about once");
	drive_end(&d, "doubts");
}

/* A stream's name for the host is not the one that its key is known by. */
static void check_learnt(void)
{
	char lines[16] = "";
	struct pssh_host *h;
	struct pssh_task *t;

	begin("config");
	pssh_set_hostkeys(d.p, PSSH_HOSTKEYS_ACCEPT_NEW);
	pssh_add_known_hosts(d.p, "learnt");
	pssh_add_identity(d.p, env("SSHD_KEY"));
	h = host(&d, "n1");
	slow = true;
	t = put(h, "new");
	drive_done(&d, 1);
	slow = false;
	ends(drive_seen(&d, t, h), "exit 0", "a copy to a new host");
	came_whole("new");
	is_int(verified, STREAMS, "over %d connections", STREAMS);
	tool_output(lines, "sh", "-c", "wc -l <learnt");
	is_int(strtol(lines, NULL, 10), 1, "whose key is written down once");
	drive_end(&d, "learnt");
}

/* What is read again to be compared goes over the first connection. */
static void check_compared(void)
{
	const struct pssh_event *ev;
	struct pssh_host *h;
	struct pssh_task *t;
	uint64_t done = 0, total = 0;
	int64_t end = now_ms() + DRIVE_PATIENCE_MS;

	begin(env("FILES_CONFIG"));
	h = host(&d, "files1");
	if (pssh_get(d.p, there("large"), "back", PSSH_COPY_CHECKSUM, &t) != 0)
		exit(99);
	copying(t, h);
	while (!d.done && now_ms() < end) {
		if (pssh_wait(d.p, &ev, 1000) != 1)
			continue;
		drive_take(&d, ev);
		if (ev->type == PSSH_EV_PROGRESS) {
			done = ev->done;
			total = ev->total;
		}
	}
	ends(drive_seen(&d, t, h), "exit 0", "a copy from a host that runs no command is compared");
	is_int(tool_run("cmp", "large", "back"), 0, "it is whole");
	ok(total == 40000000 && done == total, "each byte came once (%llu of %llu)", (unsigned long long)done,
		(unsigned long long)total);
	drive_end(&d, "compared");
}

int main(void)
{
	plan_none;
	mkdir("kept", 0700);
	check_kept();
	check_signer();
	check_doubts();
	check_learnt();
	check_compared();
	return done();
}
