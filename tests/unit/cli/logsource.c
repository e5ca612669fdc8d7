/* SPDX-License-Identifier: Apache-2.0 */
/* The commands are run by this machine's own shell, on real files that grow, rotate and shrink. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/logs/logsource.h"
#include "../../lib/tap.h"

static char dir[] = "/tmp/nanopod-logsource.XXXXXX";
static char path[64], path1[70], path2[70];

struct reader {
	struct log_source s;
	struct log_want w;
	struct logmerge *m;
	pid_t pid;
	int out, in;
	struct buf said;
	uint64_t enough;             /* of the file's bytes; 0: not asked for */
};

static void write_to(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_APPEND | O_CREAT, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		abort();
	close(fd);
}

static void reader_init(struct reader *r, enum log_kind kind, const char *what, bool follow, long lines)
{
	*r = (struct reader){ .w = { .follow = follow, .lines = lines, .priority = -1 },
		.pid = -1,
		.out = -1,
		.in = -1 };
	logsource_init(&r->s, kind, strdup(what), 0);
	logmerge_new(1, &r->m);
	buf_init(&r->said, 1 << 20);
}

/* As sshd would: a session of its own, three pipes. */
static void connect_it(struct reader *r)
{
	int in[2], out[2];
	struct buf command;

	buf_init(&command, 1 << 16);
	if (logsource_command(&r->s, &r->w, &command) || pipe(in) || pipe(out))
		abort();
	r->pid = fork();
	if (r->pid == 0) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		execl("/bin/sh", "sh", "-c", buf_text(&command), (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	r->in = in[1];
	r->out = out[0];
	buf_release(&command);
}

static void drain(struct reader *r)
{
	struct logline l;

	while (logmerge_next(r->m, INT64_MAX, &l)) {
		buf_addf(&r->said, "%s|", l.text);
		free(l.text);
	}
}

/* Until this was said, or it ended, or time is over. */
static bool until(struct reader *r, const char *text)
{
	int64_t deadline = clock_ms() + 60000;
	char piece[7]; /* small, so that headers come in parts */

	while (clock_ms() < deadline) {
		struct pollfd p = { .fd = r->out, .events = POLLIN };
		ssize_t n;

		drain(r);
		if ((text && strstr(buf_text(&r->said), text)) || (r->enough && r->s.offset >= r->enough))
			return true;
		if (poll(&p, 1, 100) <= 0)
			continue;
		n = read(r->out, piece, sizeof piece);
		if (n <= 0)
			break;
		if (logsource_feed(&r->s, &r->w, r->m, piece, (size_t)n, 1000))
			abort();
	}
	drain(r);
	return text ? strstr(buf_text(&r->said), text) != NULL : true;
}

/* The connection goes: the processes must too. */
static bool cut(struct reader *r)
{
	int64_t deadline = clock_ms() + 60000;
	int status;
	pid_t got = 0;

	close(r->in);
	close(r->out);
	while (clock_ms() < deadline && (got = waitpid(r->pid, &status, WNOHANG)) == 0)
		poll(NULL, 0, 10);
	if (got == 0) {
		kill(-r->pid, SIGKILL);
		waitpid(r->pid, &status, 0);
	}
	logsource_end(&r->s, &r->w, r->m, 1000);
	drain(r);
	while (clock_ms() < deadline && kill(-r->pid, 0) == 0)
		poll(NULL, 0, 10);
	return got == r->pid && kill(-r->pid, 0) != 0;
}

static void reader_release(struct reader *r)
{
	logsource_release(&r->s);
	logmerge_free(r->m);
	buf_release(&r->said);
}

static void once(void)
{
	struct reader r;

	write_to(path, "one\ntwo\nthree\nfour");
	reader_init(&r, LOG_FILE, path, false, 2);
	connect_it(&r);
	until(&r, NULL);
	cut(&r);
	is_str(buf_text(&r.said), "three|four|", "the last lines of a file, also one without its end");
	reader_release(&r);
	reader_init(&r, LOG_FILE, path, false, -1);
	connect_it(&r);
	until(&r, NULL);
	cut(&r);
	is_str(buf_text(&r.said), "one|two|three|four|", "all of it");
	reader_release(&r);
	reader_init(&r, LOG_FILE, "/tmp/nanopod-is-not-there", false, -1);
	connect_it(&r);
	until(&r, NULL);
	cut(&r);
	is_str(buf_text(&r.said), "", "one that is not there says nothing on standard output");
	reader_release(&r);
}

static void follow(void)
{
	struct reader r;

	unlink(path);
	reader_init(&r, LOG_FILE, path, true, 1);
	connect_it(&r);
	write_to(path, "old\nlast\n");
	ok(until(&r, "last|"), "a file that comes later is found");
	write_to(path, "half");
	write_to(path, " a line\nnext\n");
	ok(until(&r, "half a line|next|"), "a line that comes in parts is one line");
	rename(path, path1);
	write_to(path1, "after the rename\n");
	write_to(path, "new file\n");
	ok(until(&r, "new file|"), "a file that was rotated is followed");
	ok(strstr(buf_text(&r.said), "after the rename|new file|"), "and the old one read to its end");
	ok(truncate(path, 0) == 0, "it shrinks");
	poll(NULL, 0, 700);
	write_to(path, "anew\n"); /* shorter than it was, for a reader who has not looked since */
	ok(until(&r, "anew|"), "what shrank begins anew");
	ok(cut(&r), "without a connection no process stays");
	reader_release(&r);
}

static void resume(void)
{
	struct reader r;

	unlink(path);
	unlink(path1);
	write_to(path, "1\n2\n3\n");
	reader_init(&r, LOG_FILE, path, true, -1);
	connect_it(&r);
	ok(until(&r, "3|"), "it was read");
	write_to(path, "4\nfi");
	ok(until(&r, "4|"), "a line came");
	r.enough = 10;
	ok(until(&r, NULL), "and of the next line");
	r.enough = 0;
	ok(cut(&r), "the connection is cut");
	write_to(path, "ve\n6\n");
	rename(path, path2);
	write_to(path, "7\n8\n");
	rename(path, path1);
	write_to(path, "9\n");
	connect_it(&r);
	ok(until(&r, "9|"), "it goes on");
	is_str(buf_text(&r.said), "1|2|3|4|five|6|7|8|9|", "nothing is lost and nothing twice, over two rotations");
	cut(&r);
	unlink(path1);
	unlink(path2);
	unlink(path);
	write_to(path, "10\n");
	connect_it(&r);
	ok(until(&r, "10|"), "a file whose old self is gone begins anew");
	ok(r.s.lost, "and that lines may be missing is told");
	cut(&r);
	reader_release(&r);
}

static void command(void)
{
	struct reader r;

	reader_init(&r, LOG_COMMAND, "echo 'it''s'; echo $((1 + 1)); printf end", false, -1);
	connect_it(&r);
	until(&r, NULL);
	cut(&r);
	is_str(buf_text(&r.said), "its|2|end|", "a command's output");
	reader_release(&r);
	reader_init(&r, LOG_COMMAND, "while :; do echo on; sleep 60; done", true, -1);
	connect_it(&r);
	ok(until(&r, "on|"), "one that goes on");
	ok(cut(&r), "ends with its connection");
	reader_release(&r);
}

/* Entries as journalctl writes them. */
static void journal(void)
{
	static const char entries[] = "{\"__CURSOR\":\"c1\",\"__REALTIME_TIMESTAMP\":\"1795280400000001\",\"PRIORITY\":"
				      "\"3\",\"SYSLOG_IDENTIFIER\":\"sshd\",\"_PID\":\"7\","
				      "\"MESSAGE\":\"bad \\u00fc\"}\n"
				      "{\"__CURSOR\":\"c2\",\"__REALTIME_TIMESTAMP\":\"1795280400000002\",\"_COMM\":"
				      "\"x\",\"MESSAGE\":[1,2,3]}\n"
				      "not json\n{\"__CURSOR\":\"c3\",\"MESS";
	struct buf b;
	struct reader r;
	struct logline l;

	reader_init(&r, LOG_JOURNAL, "ssh.service", true, 5);
	ok(logsource_feed(&r.s, &r.w, r.m, entries, strlen(entries), 1000) == 0, "entries are read");
	ok(logmerge_next(r.m, INT64_MAX, &l) && strcmp(l.text, "sshd[7]: bad ü") == 0 && l.us == 1795280400000001 &&
			l.priority == 3,
		"text, time and priority");
	free(l.text);
	drain(&r);
	is_str(buf_text(&r.said), "x: (a message that is not text)|not json|", "what is no text is said to be none");
	buf_init(&b, 1 << 16);
	ok(logsource_command(&r.s, &r.w, &b) == 0 && strstr(buf_text(&b), "--after-cursor=") &&
			strstr(buf_text(&b), "c2") && strstr(buf_text(&b), "ssh.service"),
		"it goes on after the last whole entry");
	buf_release(&b);
	reader_release(&r);
}

static void words(void)
{
	static const struct { const char *typed; int kind; const char *what;
	} good[] = {
		{ "console", LOG_CONSOLE, "" },
		{ "journal", LOG_JOURNAL, "" },
		{ "ssh.service", LOG_JOURNAL, "ssh.service" },
		{ "unit:ssh", LOG_JOURNAL, "ssh" },
		{ "/var/log/x y", LOG_FILE, "/var/log/x y" },
		{ "~/x", LOG_FILE, "~/x" },
	};
	static const char *const bad[] = { "", "nix", "unit:", "unit:-x", "--x.service", ".service", "relative/path" };
	struct fail f = { 0 };
	enum log_kind kind;
	const char *what;

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ok(!logsource_what(good[i].typed, &kind, &what, &f) && (int)kind == good[i].kind &&
				strcmp(what, good[i].what) == 0,
			"'%s'", good[i].typed);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ok(logsource_what(bad[i], &kind, &what, &f) < 0, "'%s' is no log", bad[i]);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof path, "%s/it's a log", dir);
	snprintf(path1, sizeof path1, "%s.1", path);
	snprintf(path2, sizeof path2, "%s.2", path);
	words();
	once();
	follow();
	resume();
	command();
	journal();
	unlink(path);
	unlink(path1);
	unlink(path2);
	rmdir(dir);
	return done();
}
