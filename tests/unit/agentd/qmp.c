/* SPDX-License-Identifier: Apache-2.0 */
/* QEMU's monitor, played by this test at the other end of a socket pair: correct, silent, and hostile. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/vm/qmp.h"
#include "agentd/vm/socket.h"
#include "base/clock.h"

#include "../../lib/tap.h"

#define GREETING "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\r\n"
#define FINE "{\"return\": {}}\r\n"

/* What it sends first, then after each line that it receives; ends with NULL. Then it is silent until closed. */
static pid_t play(const char *const *says, size_t flood, int *fd)
{
	int pair[2];
	pid_t pid;
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(pair[0]);
		for (; *says; says++) {
			if (write(pair[1], *says, strlen(*says)) < 0)
				_exit(1);
			while (says[1] && read(pair[1], &c, 1) == 1 && c != '\n')
				;
		}
		while (flood-- && write(pair[1], "xxxxxxxxxxxxxxxx", 16) > 0)
			;
		while (read(pair[1], &c, 1) == 1)
			;
		_exit(0);
	}
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

/* ms is a monitor's that is silent; the others answer long before, however busy the machine is. */
static int sign_in_within(int ms, const char *const *says, size_t flood, struct qmp **q, pid_t *pid, struct fail *f)
{
	int fd = -1;

	signal(SIGPIPE, SIG_IGN);
	*pid = play(says, flood, &fd);
	return qmp_over(q, fd, ms, f);
}

static int sign_in(const char *const *says, size_t flood, struct qmp **q, pid_t *pid, struct fail *f)
{
	return sign_in_within(20000, says, flood, q, pid, f);
}

static void end(struct qmp *q, pid_t pid)
{
	qmp_close(q);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_good(void)
{
	static const char *const says[] = { GREETING, "{\"event\": \"RESUME\", \"timestamp\": {}}\r\n" FINE,
		"{\"event\": \"STOP\"}\n{\"return\": {\"status\": \"inmigrate\"}}\r\n",
		"{\"return\": {\"status\": \"paused\"}}\n",
		"{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such device\"}}\n", NULL };
	static const char *const words[] = { "running", "paused", NULL };
	struct qmp *q = NULL;
	struct fail f;
	int which = -1;
	pid_t pid;

	is_int(sign_in(says, 0, &q, &pid, &f), 0, "greeting and sign-in, with an event between");
	is_int(qmp_until(q, "query-status", "status", words, 20000, &which, &f), 0, "it is asked again until");
	is_int(which, 1, "the state is one of those waited for");
	is_int(qmp_do(q, "block_resize", json_pack("{s:s}", "device", "d9"), 20000, NULL, &f), -EREMOTEIO,
		"a refusal is a refusal");
	ok(strstr(f.text, "no such device"), "with its reason: %s", f.text);
	is_int(qmp_do(q, "query-status", NULL, 200, NULL, &f), -ETIMEDOUT, "silence ends at the deadline");
	end(q, pid);
}

static void test_bad(void)
{
	static const char *const none[] = { "hello\n", NULL }, *const list[] = { "[1, 2]\n", NULL },
				 *const other[] = { FINE, NULL }, *const endless[] = { "{", NULL },
				 *const closed[] = { GREETING, NULL };
	int64_t begun;
	struct qmp *q = NULL;
	struct fail f;
	pid_t pid;

	is_int(sign_in(none, 0, &q, &pid, &f), -EPROTO, "what is no JSON is refused");
	end(NULL, pid);
	is_int(sign_in(list, 0, &q, &pid, &f), -EPROTO, "so is what is no object");
	end(NULL, pid);
	is_int(sign_in(other, 0, &q, &pid, &f), -EPROTO, "and what does not greet");
	end(NULL, pid);
	is_int(sign_in(endless, 1 << 20, &q, &pid, &f), -EFBIG, "a line without an end has a ceiling");
	end(NULL, pid);
	begun = clock_ms();
	is_int(sign_in_within(500, closed, 0, &q, &pid, &f), -ETIMEDOUT, "a monitor that greets and is silent");
	ok(clock_ms() - begun < 20000, "costs its deadline and no more");
	end(NULL, pid);
}

static void test_wire(void)
{
	char folder[] = "/tmp/nanopod-qmp-XXXXXX", deep[400];
	struct vmwire w;
	struct fail f;
	int64_t begun = clock_ms();
	pid_t pid;

	if (!mkdtemp(folder))
		return;
	is_int(vmwire_open(&w, folder, "qmp", 0, 200, &f), -ETIMEDOUT, "a socket that does not come");
	pid = fork();
	if (pid == 0)
		_exit(0);
	begun = clock_ms();
	is_int(vmwire_open(&w, folder, "qmp", pid, 20000, &f), -ESRCH, "a process that ended is not waited for");
	ok(clock_ms() - begun < 15000, "(at once)");
	snprintf(deep, sizeof deep, "%s/%0300d", folder, 0);
	is_int(vmwire_open(&w, deep, "qmp", 0, 200, &f), -ENAMETOOLONG, "a name that no folder has");
	rmdir(folder);
}

int main(void)
{
	test_good();
	test_bad();
	test_wire();
	return done();
}
