/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keepers and commands that die. Between the two stands a relay that kills one of them instead of passing on frame K
 * of what they say, for each K; and while connections are handed over, one of them dies instead of call K.
 */
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "drive.h"

enum { START = 9, MOST = 64 };

static struct drive d;
static char name[64], marker[1100];

/* ---- Deaths during the handing over: the library's calls of these come here ---- */

static struct deaths {
	enum { NOBODY, THE_COMMAND, THE_KEEPER } who;
	int at, calls; /* in which call; how many there were */
	pid_t command;
} * deaths;

static void die_here(void)
{
	if (deaths && deaths->who && (deaths->who == THE_COMMAND) == (getpid() == deaths->command) &&
		++deaths->calls == deaths->at)
		kill(getpid(), SIGKILL);
}

#define HERE __attribute__((visibility("default")))
HERE pid_t setsid(void);
HERE int chdir(const char *path);
HERE int bind(int fd, const struct sockaddr *a, socklen_t len);
HERE int listen(int fd, int n);
HERE ssize_t write(int fd, const void *data, size_t len);
HERE int pipe2(int fds[2], int flags);
HERE pid_t waitpid(pid_t pid, int *status, int options);
HERE ssize_t read(int fd, void *data, size_t len);

pid_t setsid(void)
{
	die_here();
	return (pid_t)syscall(SYS_setsid);
}

int chdir(const char *path)
{
	die_here();
	return (int)syscall(SYS_chdir, path);
}

int bind(int fd, const struct sockaddr *a, socklen_t len)
{
	die_here();
	return (int)syscall(SYS_bind, fd, a, len);
}

int listen(int fd, int n)
{
	die_here();
	return (int)syscall(SYS_listen, fd, n);
}

ssize_t write(int fd, const void *data, size_t len)
{
	die_here();
	return syscall(SYS_write, fd, data, len);
}

int pipe2(int fds[2], int flags)
{
	die_here();
	return (int)syscall(SYS_pipe2, fds, flags);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	die_here();
	return (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}

ssize_t read(int fd, void *data, size_t len)
{
	die_here();
	return syscall(SYS_read, fd, data, len);
}

/* ---- Fleets and what they keep ---- */

static struct pssh_host *begin(const char *folder)
{
	if (!drive_start(&d) || pssh_set_keep(d.p, folder, 600) != 0 ||
		pssh_read_config(d.p, env("SSHD_CONFIG")) != 0) {
		printf("Bail out! %s\n", d.p ? pssh_error(d.p) : "no fleet");
		exit(99);
	}
	return host(&d, "n1");
}

static void end(bool keeps)
{
	if (!keeps)
		pssh_set_keep(d.p, NULL, 0);
	pssh_free(d.p);
	drive_forget(&d);
}

/* Also those that have no name yet. */
static int sockets(void)
{
	DIR *dir = opendir("kept");
	struct dirent *de;
	int n = -2; /* "." and ".." */

	while (dir && (de = readdir(dir))) {
		n++;
		if (*de->d_name != '.')
			snprintf(name, sizeof name, "%.63s", de->d_name);
	}
	if (dir)
		closedir(dir);
	return n;
}

static size_t kept(struct pssh_kept *first)
{
	struct pssh_kept *list = NULL;
	size_t n = 0, silent = 0;

	begin("kept");
	if (pssh_keep_list(d.p, &list, &n, &silent) != 0)
		exit(99);
	if (n)
		*first = list[0];
	free(list);
	end(false);
	return n;
}

static void stop(void)
{
	struct pssh_kept *list = NULL;
	size_t n = 0, silent;

	begin("kept");
	pssh_keep_stop(d.p, &list, &n, &silent);
	free(list);
	end(false);
}

/* Stops all, and waits until their sockets are gone. */
static void stop_all(void)
{
	int64_t until = now_ms() + DRIVE_PATIENCE_MS;

	for (stop(); sockets() != 0 && now_ms() < until; stop())
		poll(NULL, 0, 10);
}

/*
 * A kept connection, made where there is none. Returns its keeper. One that gets no processor for a while does not
 * answer who lists, nor the command, which then connects anew and leaves a second one.
 */
static pid_t make_kept(void)
{
	struct pssh_kept k = { 0 };
	bool ran = true;
	size_t n = 0;

	for (int tries = 0; ran && n != 1 && tries < 5; tries++) {
		if (n > 1)
			stop_all();
		ran = strcmp(end_of(once(&d, begin("kept"), "true")), "exit 0") == 0;
		end(true);
		for (int i = 0; i < 30 && (n = kept(&k)) == 0; i++)
			;
	}
	ok(ran, "(a command that keeps its connection)");
	is_int((long)n, 1, "(it is kept)");
	is_int(sockets(), 1, "(by one socket)");
	return (pid_t)k.pid;
}

static long lines(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = 0;
	int c;

	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

/* All keepers are children of ours once their parents have died. True: none is left. */
static bool all_gone(void)
{
	int64_t until = now_ms() + DRIVE_PATIENCE_MS;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 && now_ms() < until)
		if (pid == 0)
			poll(NULL, 0, 10);
	return pid < 0;
}

static void nothing_left(void)
{
	struct pssh_kept k;

	stop();
	ok(all_gone(), "no process is left");
	is_int((long)kept(&k), 0, "nothing is listed");
	is_int(sockets(), 0, "nor is there a socket");
}

/* ---- The relay ---- */

struct relay {
	pid_t pid, victim;
	int kill_at, tell, seen;
	bool keeper; /* the victim */
};

static int dial(const char *folder)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s/%.63s", folder, name);
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Passes on what is complete. False: somebody has died. */
static bool relay_pass(struct relay *r, const int fd[2], int from, char *data, size_t *have)
{
	const unsigned char *p = (unsigned char *)data;
	char byte;

	while (*have >= 5) {
		size_t len = ((size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]) + 4;

		if (*have < len)
			break;
		byte = p[4] == START ? 's' : '.'; /* whoever sent it cannot know whether it arrived */
		if (write(r->tell, &byte, 1) != 1)
			return false;
		if (++r->seen == r->kill_at) {
			if (write(r->tell, "k", 1) == 1)
				kill(r->victim, SIGKILL);
			while (read(fd[r->keeper], data, 1 << 18) > 0)
				;
			return false;
		}
		if (send(fd[!from], data, len, MSG_NOSIGNAL) != (ssize_t)len)
			return false;
		memmove(data, data + len, *have - len);
		*have -= len;
	}
	return true;
}

/* fd: the command's and the keeper's. */
static void relay_pump(struct relay *r, const int fd[2])
{
	static char data[2][1 << 18];
	size_t have[2] = { 0 };

	for (;;) {
		struct pollfd p[2] = { { fd[0], POLLIN, 0 }, { fd[1], POLLIN, 0 } };

		poll(p, 2, -1);
		for (int i = 0; i < 2; i++) {
			ssize_t n = p[i].revents ? read(fd[i], data[i] + have[i], sizeof data[i] - have[i]) : 1;

			if (n <= 0)
				return;
			have[i] += p[i].revents ? (size_t)n : 0;
			if (!relay_pass(r, fd, i, data[i], &have[i]))
				return;
		}
	}
}

static void relay_start(struct relay *r)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), pipe[2];

	snprintf(a.sun_path, sizeof a.sun_path, "relay/%.63s", name);
	unlink(a.sun_path);
	if (bind(listener, (const struct sockaddr *)&a, sizeof a) != 0 || listen(listener, 8) != 0 ||
		pipe2(pipe, 0) != 0)
		exit(99);
	r->tell = pipe[1];
	r->pid = fork();
	for (; r->pid == 0;) {
		int fd[2] = { accept(listener, NULL, NULL), dial("kept") };

		if (fd[1] >= 0)
			relay_pump(r, fd);
		close(fd[0]);
		close(fd[1]);
	}
	close(listener);
	close(pipe[1]);
	r->tell = pipe[0];
}

/* Whether it killed, and whether it had met the command. */
static bool relay_end(struct relay *r, bool *started)
{
	char told[MOST * 4];
	ssize_t n;

	kill(r->pid, SIGKILL);
	waitpid(r->pid, NULL, 0);
	n = read(r->tell, told, sizeof told);
	close(r->tell);
	*started = n > 0 && memchr(told, 's', (size_t)n);
	return n > 0 && memchr(told, 'k', (size_t)n);
}

/* ---- A death at each frame ---- */

/* A command with input and output through the relay. */
static struct seen *say_hello(void)
{
	struct pssh_host *h = begin("relay");
	struct pssh_task *t;
	char text[1300];

	snprintf(text, sizeof text, "cat; echo ran >>%s", marker);
	t = command(&d, text);
	if (pssh_task_open_input(t) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0 ||
		pssh_task_write(t, h, "hello\n", 6) != 0 || pssh_task_end_input(t, h) != 0)
		exit(99);
	drive_done(&d, 1);
	return drive_seen(&d, t, h);
}

static bool keeper_dies(int k)
{
	struct relay r = { .kill_at = k, .keeper = true };
	bool killed, started, well;
	struct seen *s;
	long ran;
	int fds;

	r.victim = make_kept();
	relay_start(&r);
	unlink(marker);
	fds = count_fds();
	s = say_hello();
	well = strcmp(end_of(s), "exit 0") == 0;
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "keeper dies at frame %d: nothing runs on", k);
	killed = relay_end(&r, &started);
	ran = lines(marker);
	is_int(s->ends, 1, "it has one end: %s %s", end_of(s), s->text);
	if (!started || !killed)
		ok(well, "the command had not begun, or had ended: all is well");
	if (well)
		ok(ran == 1 && strcmp(s->out, "hello\n") == 0, "it ran once, and its output is there");
	else
		ok(ran <= 1 && *s->text, "it did not run twice, and there is a reason");
	end(false);
	is_int(count_fds(), fds - 1, "no descriptor is left"); /* the relay's pipe is closed */
	if (killed)
		waitpid(r.victim, NULL, 0);
	return killed;
}

static bool command_dies(int k)
{
	struct relay r = { .kill_at = k };
	struct pssh_kept one = { 0 };
	bool killed, started;
	int64_t until = now_ms() + DRIVE_PATIENCE_MS;
	int go[2];
	size_t n;

	make_kept();
	if (pipe2(go, 0) != 0)
		exit(99);
	r.victim = fork();
	if (r.victim == 0) {
		char byte;

		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(99);
		say_hello();
		end(false);
		_exit(0);
	}
	close(go[0]);
	unlink(marker);
	relay_start(&r);
	if (write(go[1], "g", 1) != 1)
		exit(99);
	close(go[1]);
	waitpid(r.victim, NULL, 0);
	killed = relay_end(&r, &started);
	while ((n = kept(&one)) == 1 && one.lent && now_ms() < until)
		poll(NULL, 0, 10);
	ok(n == 0 || !one.lent, "command dies at frame %d: its connection is free or closed", k);
	is_int(wait_marked(marker, 0, DRIVE_PATIENCE_MS), 0, "nothing runs on");
	/* One that lives may have connected anew, where the keeper got no processor for a while. */
	ok(lines(marker) <= (started || !killed), "and nothing ran twice");
	return killed;
}

/* ---- A death at each call while connections are handed over ---- */

static bool handing_over(int who, int k)
{
	const char *dead = who == THE_KEEPER ? "the new keeper" : "the command";
	struct pssh_host *h;
	struct seen *s;
	bool reached;

	deaths->who = NOBODY;
	deaths->calls = 0;
	deaths->at = k;
	if (who == THE_COMMAND) {
		pid_t pid = fork();

		if (pid == 0) {
			once(&d, begin("kept"), "true");
			deaths->command = getpid();
			deaths->who = who;
			pssh_keep(d.p);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		h = begin("kept");
	} else {
		h = begin("kept");
		once(&d, h, "true");
		deaths->command = getpid();
		deaths->who = who;
		if (pssh_keep(d.p) != 0)
			ok(*pssh_error(d.p), "%s", pssh_error(d.p));
	}
	deaths->who = NOBODY;
	reached = deaths->calls >= k;
	s = once(&d, h, "echo on");
	ends(s, "exit 0", "%s dies in call %d of handing over: the next command runs", dead, k);
	is_str(s->out ? s->out : "", "on\n", "as it should");
	end(true);
	nothing_left();
	return reached;
}

int main(void)
{
	int k;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	deaths = mmap(NULL, sizeof *deaths, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (deaths == MAP_FAILED || !getcwd(marker, sizeof marker - 8))
		return 99;
	snprintf(marker + strlen(marker), 8, "/ran");
	mkdir("relay", 0700);
	/* Twice without a death, as a command connects anew where a keeper gets no processor for a while. */
	for (k = 1; k < MOST && (keeper_dies(k) || keeper_dies(k)); k++)
		;
	ok(k > 8 && k < MOST, "%d frames were there to die at", k - 1);
	for (k = 1; k < MOST && (command_dies(k) || command_dies(k)); k++)
		;
	ok(k > 8 && k < MOST, "%d frames for the command, too", k - 1);
	nothing_left();
	for (int who = THE_COMMAND; who <= THE_KEEPER; who++) {
		for (k = 1; k < MOST && handing_over(who, k); k++)
			;
		ok(k > 2 && k < MOST, "%d calls were there to die in", k - 1);
	}
	return done();
}
