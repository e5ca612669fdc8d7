/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers that are asked what they have: all at once, more than there are descriptors, and such as stand still. */
#include "pssh/keep/keeplist.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "pssh/keep/keepfolder.h"
#include "pssh/keep/keepwire.h"

enum { TOGETHER = 8, MANY = 60, FEW_FDS = 48 };

static int folder;

/* Names of keepers, which nobody else's begin like. */
static const char *key_of(int i)
{
	static char key[KEEPKEY_NAME];

	snprintf(key, sizeof key, "%043d", i);
	return key;
}

static void listens(int i, int *fd)
{
	char name[KEEPFOLDER_NAME];

	if (keepfolder_listen(folder, key_of(i), name, fd) != 0)
		_exit(2);
}

static void hear(int fd)
{
	char room[64];

	if (read(fd, room, sizeof room) <= 0)
		_exit(3);
}

/* What a good keeper says, and what a strange one might. */
static const char *agreed_of(int i)
{
	static char text[5 * 100];

	if (i == 0)
		return "curve25519-sha256 ssh-ed25519 aes256-ctr hmac-sha2-512";
	if (i == 1)
		return "one two";
	memset(text, 'x', sizeof text - 1);
	for (int k = 1; i == 2 && k < 4; k++)
		text[k * 100] = ' ';
	return i < 4 ? text : "";
}

static void answer(int fd, int i)
{
	struct buf b;
	char name[16];

	snprintf(name, sizeof name, "me@n%d", i);
	buf_init(&b, 1024);
	if (keepwire_add(&b, &(struct keepwire_frame){ .type = KEEP_STATE,
				   .t = { keepwire_text(name), keepwire_text(agreed_of(i)) } }) != 0 ||
		write(fd, b.data, b.len) != (ssize_t)b.len)
		_exit(4);
	buf_release(&b);
}

static int visitor(int listener)
{
	struct pollfd p = { listener, POLLIN, 0 };

	poll(&p, 1, -1);
	return accept(listener, NULL, NULL);
}

/* Answers nobody before it has heard all. */
static void keep_together(int *listeners)
{
	int fds[TOGETHER];

	for (int i = 0; i < TOGETHER; i++) {
		fds[i] = visitor(listeners[i]);
		hear(fds[i]);
	}
	for (int i = 0; i < TOGETHER; i++)
		answer(fds[i], i);
}

static void keep_many(int *listeners)
{
	for (;;) {
		struct pollfd p[MANY];

		for (int i = 0; i < MANY; i++)
			p[i] = (struct pollfd){ listeners[i], POLLIN, 0 };
		poll(p, MANY, -1);
		for (int i = 0; i < MANY; i++) {
			int fd = p[i].revents ? visitor(listeners[i]) : -1;

			if (fd < 0)
				continue;
			hear(fd);
			answer(fd, i);
			close(fd);
		}
	}
}

static void keep_still(int *listeners)
{
	(void)listeners;
	raise(SIGSTOP);
}

/* A keeper with so many connections, in a process of its own, which listens when this returns. */
static pid_t keeper(int count, void (*keeps)(int *listeners))
{
	int ready[2], listeners[MANY];
	char byte;
	pid_t pid;

	if (pipe(ready) != 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		alarm(120);
		for (int i = 0; i < count; i++)
			listens(i, &listeners[i]);
		if (write(ready[1], "r", 1) != 1)
			_exit(5);
		keeps(listeners);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		exit(99);
	close(ready[0]);
	return pid;
}

static void asked(bool stop, size_t want, size_t want_silent, const char *what)
{
	struct pssh_kept *list = NULL;
	size_t count = 0, silent = 0;
	struct fail f = { 0 };

	is_int(keeplist_ask(folder, stop, &list, &count, &silent, &f), 0, "%s", what);
	is_int((long)count, (long)want, "%zu of its connections are told", want);
	is_int((long)silent, (long)want_silent, "of %zu nothing is heard", want_silent);
	free(list);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Asks one of these keepers, and the next where it got no processor in the time that it has to answer. */
static pid_t answered(void (*keeps)(int *listeners), struct pssh_kept **list, const char *what)
{
	pid_t pid = keeper(TOGETHER, keeps);
	size_t count = 0, silent = 0;
	struct fail f = { 0 };
	int rc = keeplist_ask(folder, false, list, &count, &silent, &f);

	for (int tries = 1; rc == 0 && silent && tries < 5; tries++) {
		free(*list);
		*list = NULL;
		end(pid);
		pid = keeper(TOGETHER, keeps);
		rc = keeplist_ask(folder, false, list, &count, &silent, &f);
	}
	is_int(rc, 0, "%s", what);
	is_int((long)count, TOGETHER, "all of its connections are told");
	is_int((long)silent, 0, "of none nothing is heard");
	return pid;
}

static struct pssh_kept *one_of(struct pssh_kept *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	exit(99);
}

/* Names of algorithms have 64 characters at most. */
static void check_agreed(void)
{
	struct pssh_kept *list = NULL, *k;
	pid_t pid = answered(keep_together, &list, "algorithms");
	const size_t count = list ? TOGETHER : 0;

	k = one_of(list, count, "me@n0");
	is_str(k->kex, "curve25519-sha256", "the key exchange is told");
	is_str(k->hostkey, "ssh-ed25519", "the host key's type");
	is_str(k->cipher, "aes256-ctr", "the cipher");
	is_str(k->mac, "hmac-sha2-512", "the MAC");
	k = one_of(list, count, "me@n1");
	ok(strcmp(k->hostkey, "two") == 0 && !*k->cipher && !*k->mac, "what a keeper does not say is empty");
	for (int i = 2; i < 4; i++) {
		k = one_of(list, count, i == 2 ? "me@n2" : "me@n3");
		ok(strlen(k->kex) == 64 && strlen(k->mac) <= 64, "what is too long is cut");
	}
	ok(!*one_of(list, count, "me@n4")->kex, "a keeper that says nothing of them");
	free(list);
	end(pid);
}

static void check_few_descriptors(void)
{
	struct rlimit was, few;
	pid_t pid = keeper(MANY, keep_many);

	getrlimit(RLIMIT_NOFILE, &was);
	few = was;
	few.rlim_cur = FEW_FDS;
	setrlimit(RLIMIT_NOFILE, &few);
	asked(false, MANY, 0, "more connections than descriptors");
	setrlimit(RLIMIT_NOFILE, &was);
	end(pid);
}

static void check_still(void)
{
	pid_t pid = keeper(TOGETHER, keep_still);
	int status = 0;

	asked(false, 0, TOGETHER, "a keeper that stands still");
	is_int(waitpid(pid, &status, WNOHANG), 0, "is left alone");
	asked(true, 0, TOGETHER, "the same when its connections are to be closed");
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "is killed");
	asked(false, 0, 0, "then it is gone");
}

int main(void)
{
	char path[] = "/tmp/nanopod-keeplist.XXXXXX";
	struct pssh_kept *list = NULL;
	struct fail f = { 0 };
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(path) || keepfolder_open(path, &folder, &f) != 0)
		return 99;
	pid = answered(keep_together, &list, "a keeper that answers when it has heard all questions");
	free(list);
	end(pid);
	asked(false, 0, 0, "what it leaves behind is no keeper");
	check_agreed();
	check_few_descriptors();
	check_still();
	close(folder);
	ok(rmdir(path) == 0, "(no socket is left)");
	return done();
}
