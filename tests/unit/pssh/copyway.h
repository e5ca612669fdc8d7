/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of copies: a real sftp-server on a socketpair, and files to copy. */
#ifndef TESTS_UNIT_COPYWAY_H
#define TESTS_UNIT_COPYWAY_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "pssh/copy/copy.h"
#include "pssh/pssh.h"

enum { MB = 1 << 20 };

static char top[64], server[128];

static TAP_UNUSED const char *find_server(void)
{
	static const char *const places[] = { "/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server",
		"/usr/lib/ssh/sftp-server", "/usr/libexec/sftp-server", "/usr/lib/sftp-server" };

	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

/* Random numbers, the same in every run. */
static TAP_UNUSED size_t dice(void)
{
	static uint64_t x = 1;

	x = x * 6364136223846793005u + 1442695040888963407u;
	return (size_t)(x >> 40);
}

static TAP_UNUSED bool shell(const char *command)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (chdir(top) == 0)
			execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

/* ---- A peer, and the way to it --------------------------------------------------------- */

struct way {
	pid_t pid;
	int fd;
	/* Settings. */
	size_t chunk;            /* most bytes moved at once; 0: as many as come */
	bool no_exec, wrong_sum, old_server;
	uint64_t kill_after;     /* bytes of the copy; the server dies then */
	uint64_t cancel_after, act_after;
	const char *act_before; /* what a request holds; `act` runs before it is sent */
	void (*act)(const void *arg);
	const void *arg;
	bool no_write; /* the first one ends the server (SIGXFSZ) */
	/* Results. */
	uint64_t sent, got;
	unsigned commands, notes;
	char note[512];
};

static TAP_UNUSED void way_open(struct way *w)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		abort();
	w->pid = fork();
	if (w->pid == 0) {
		dup2(pair[1], 0);
		dup2(pair[1], 1);
		if (w->no_write)
			setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 0 });
		umask(022);
		execl(server, "sftp-server", "-d", top, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	w->fd = pair[0];
	fcntl(w->fd, F_SETFL, O_NONBLOCK);
}

static TAP_UNUSED void way_close(struct way *w)
{
	close(w->fd);
	waitpid(w->pid, NULL, 0);
}

static TAP_UNUSED void run_command(struct way *w, struct copy *c, const char *command)
{
	char line[8192], out[256];
	FILE *p;
	size_t n = 0;
	int status = -1;

	w->commands++;
	if (!w->no_exec) {
		snprintf(line, sizeof line, "cd '%s' && %s", top, command);
		p = popen(line, "r");
		n = fread(out, 1, sizeof out, p);
		status = pclose(p);
		if (w->wrong_sum && n)
			out[0] = out[0] == '0' ? '1' : '0';
	}
	copy_checksum_result(c, status, out, n);
}

/* Changes the extension's name, so the server seems to lack it. */
static TAP_UNUSED void make_old(char *data, size_t n)
{
	char *at = memmem(data, n, "posix-rename", 12);

	if (at)
		*at = 'x';
}

static TAP_UNUSED bool way_read(struct way *w, struct copy *c)
{
	static char in[128 * 1024];
	size_t most = w->chunk ? 1 + dice() % w->chunk : sizeof in;
	ssize_t n = read(w->fd, in, most);
	struct fail f;

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		copy_lost(c, PSSH_ECLOSED, "the connection was closed");
		return false;
	}
	if (w->old_server)
		make_old(in, (size_t)n);
	w->got += (size_t)n;
	copy_input(c, in, (size_t)n, &f);
	return true;
}

static TAP_UNUSED bool way_write(struct way *w, struct copy *c)
{
	const char *data;
	size_t len;
	ssize_t n;

	copy_output(c, &data, &len);
	if (!len)
		return false;
	if (w->act && w->act_before && memmem(data, len, w->act_before, strlen(w->act_before))) {
		w->act(w->arg);
		w->act = NULL;
	}
	if (w->chunk && len > w->chunk)
		len = 1 + dice() % w->chunk;
	n = send(w->fd, data, len, MSG_NOSIGNAL);
	if (n <= 0)
		return false;
	w->sent += (size_t)n;
	copy_sent(c, (size_t)n);
	return true;
}

static TAP_UNUSED void way_faults(struct way *w, struct copy *c)
{
	struct copy_progress p;

	copy_progress(c, &p);
	if (w->kill_after && p.done >= w->kill_after) {
		w->kill_after = 0;
		kill(w->pid, SIGKILL);
	}
	if (w->cancel_after && p.done >= w->cancel_after) {
		w->cancel_after = 0;
		copy_cancel(c);
	}
	if (w->act && !w->act_before && p.done >= w->act_after) {
		w->act(w->arg);
		w->act = NULL;
	}
}

/* Runs the copy to its end, or fails after too long. */
static TAP_UNUSED int way_run(struct way *w, struct copy *c, struct fail *f)
{
	time_t end = time(NULL) + 60;

	*f = (struct fail){ 0 };
	while (!copy_finished(c) && time(NULL) < end) {
		bool moved = way_write(w, c);
		const char *command = copy_checksum_command(c);

		if (command)
			run_command(w, c, command);
		way_faults(w, c);
		moved |= way_read(w, c);
		if (!moved && !copy_finished(c) && !copy_busy(c)) {
			struct pollfd p = { .fd = w->fd, .events = POLLIN };
			const char *data;
			size_t len;

			copy_output(c, &data, &len);
			if (len)
				p.events |= POLLOUT;
			poll(&p, 1, 1000);
		}
	}
	if (!copy_finished(c))
		return fail_set(f, PSSH_ETIMEOUT, "the copy does not end");
	while (copy_note(c, f)) {
		w->notes++;
		snprintf(w->note, sizeof w->note, "%s", f->text);
	}
	*f = (struct fail){ 0 };
	return copy_result(c, f);
}

static TAP_UNUSED int put(struct way *w, const char *local, const char *remote, unsigned flags, struct fail *f)
{
	struct copy_source *s;
	struct copy *c;
	int rc = copy_source_new(local, flags, &s, f);

	if (rc)
		return rc;
	rc = copy_new_put(s, remote, flags, &c, f);
	if (rc == 0) {
		way_open(w);
		rc = way_run(w, c, f);
		copy_free(c);
		way_close(w);
	}
	copy_source_free(s);
	return rc;
}

static TAP_UNUSED int get(struct way *w, const char *remote, const char *local, unsigned flags, struct fail *f)
{
	struct copy *c;
	int rc = copy_new_get(remote, local, flags, &c, f);

	if (rc)
		return rc;
	way_open(w);
	rc = way_run(w, c, f);
	copy_free(c);
	way_close(w);
	return rc;
}

/* ---- Files ----------------------------------------------------------------------------- */

static TAP_UNUSED char *at(const char *name)
{
	static char ring[8][512];
	static unsigned next;
	char *p = ring[next++ % 8];

	snprintf(p, sizeof ring[0], "%s/%s", top, name);
	return p;
}

static TAP_UNUSED void make(const char *name, size_t len, unsigned seed, mode_t mode)
{
	static unsigned char block[65536];
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint64_t x = seed * 2654435761u + 1;

	for (size_t done = 0; done < len;) {
		size_t n = len - done < sizeof block ? len - done : sizeof block;

		for (size_t i = 0; i < n; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			block[i] = (unsigned char)(x >> 56);
		}
		if (write(fd, block, n) != (ssize_t)n)
			abort();
		done += n;
	}
	fchmod(fd, mode);
	close(fd);
}

static TAP_UNUSED bool same(const char *a, const char *b)
{
	char line[1200];

	snprintf(line, sizeof line, "cmp -s '%s' '%s'", at(a), at(b));
	return shell(line);
}

static TAP_UNUSED bool no_parts(void)
{
	return shell("test -z \"$(find . -name '*.pssh-part')\"");
}

static TAP_UNUSED mode_t mode_of(const char *name)
{
	struct stat st = { 0 };

	stat(at(name), &st);
	return st.st_mode & 07777;
}

static TAP_UNUSED bool way_begin(void)
{
	const char *found = find_server();

	if (!found)
		skip_all("no sftp-server (Debian: openssh-sftp-server)");
	snprintf(server, sizeof server, "%s", found);
	snprintf(top, sizeof top, "/tmp/copy-test-XXXXXX");
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	return mkdtemp(top) != NULL;
}

static TAP_UNUSED int way_end(void)
{
	shell("chmod -R u+rwx . && rm -rf \"$PWD\"");
	return done();
}

#endif
