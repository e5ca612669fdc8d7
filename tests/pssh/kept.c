/* SPDX-License-Identifier: Apache-2.0 */
/* What a fleet that keeps its connections does like one that does not, and whose connections it uses. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "drive.h"

enum { MANY = 70 };

static struct drive d;

static struct pssh_host *begin(const char *name)
{
	if (!drive_start(&d) || pssh_set_keep(d.p, "kept", 600) != 0 || pssh_read_config(d.p, env("SSHD_CONFIG")) != 0)
		exit(99);
	return host(&d, name);
}

static void end(void)
{
	pssh_free(d.p);
	drive_forget(&d);
}

/* Leaves a connection to a keeper. */
static struct pssh_host *lent(const char *name)
{
	once(&d, begin(name), "true");
	end();
	return begin(name);
}

/* Closes all that is kept, so that each check begins alike. */
static void stop_all(void)
{
	struct pssh_kept *list = NULL;
	size_t count = 1, silent;

	pssh_set_keep(d.p, NULL, 0);
	end();
	begin("n1");
	for (int i = 0; i < 1000 && count; i++) {
		if (pssh_keep_stop(d.p, &list, &count, &silent) != 0)
			exit(99);
		free(list);
		drive_for(&d, 20);
	}
	is_int((long)count, 0, "(nothing is kept)");
	pssh_set_keep(d.p, NULL, 0);
	end();
}

static void check_folder(void)
{
	struct pssh_kept *list = NULL;
	size_t count, silent;
	int fd;

	mkdir("mine", 0700);
	fd = open("mine/id_ed25519", O_WRONLY | O_CREAT, 0600);
	close(fd);
	if (!drive_start(&d) || pssh_set_keep(d.p, "mine", 600) != 0)
		exit(99);
	is_int(pssh_keep_list(d.p, &list, &count, &silent), 0, "a folder with somebody's files is listed");
	free(list);
	is_int(access("mine/id_ed25519", F_OK), 0, "which stay");
	end();
}

static char *content_of(const char *path)
{
	static char text[8192];
	FILE *f = fopen(path, "r");

	if (!f)
		exit(99);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	return text;
}

static struct pssh_host *with_key(const char *path)
{
	const char *key = content_of(path);
	char spec[200];

	if (!drive_start(&d) || pssh_set_keep(d.p, "kept", 600) != 0 ||
		pssh_add_known_hosts(d.p, env("SSHD_KNOWN")) != 0 || pssh_add_key(d.p, key, strlen(key), NULL) != 0)
		exit(99);
	snprintf(spec, sizeof spec, "%s@%s", env("SSHD_USER"), env("FIRST"));
	return host(&d, spec);
}

static int logins(void)
{
	static char text[1 << 20];
	char path[512];
	FILE *f;
	int n = 0;

	snprintf(path, sizeof path, "%s/sshd.log", env("SSHD_DIR"));
	f = fopen(path, "r");
	if (!f)
		exit(99);
	text[fread(text, 1, sizeof text - 1, f)] = '\0';
	fclose(f);
	for (char *at = text; (at = strstr(at, "Accepted publickey")); at++)
		n++;
	return n;
}

/* A keeper that gets no processor for two seconds lends nothing, so there are some tries. */
enum { TRIES = 5 };

static void check_memory(void)
{
	int more = 1;

	ends(once(&d, with_key(env("SSHD_KEY")), "true"), "exit 0", "a key from memory");
	end();
	for (int i = 0; i < TRIES && more; i++) {
		int before = logins();

		ends(once(&d, with_key(env("SSHD_KEY")), "true"), "exit 0", "the same one");
		more = logins() - before;
		end();
	}
	is_int(more, 0, "uses the connection that was kept");
	ends(once(&d, with_key("strange"), "true"), "PSSH_EAUTH", "another one does not use what the first signed in");
	stop_all();
}

/* A command that runs until it is cancelled. */
static struct pssh_task *waiting(void)
{
	struct pssh_task *t = command(&d, "read line; exit 4");

	if (pssh_task_open_input(t) != 0)
		exit(99);
	return t;
}

static struct pssh_task *started(struct pssh_task *t, struct pssh_host *h)
{
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	drive_begun(&d, drive_seen(&d, t, h));
	return t;
}

static void check_refused(void)
{
	struct pssh_host *h = lent("n1");
	struct pssh_task *t = started(waiting(), h), *refused;
	int fd;

	if (pssh_channel(d.p, PSSH_CHANNEL_TCP, "127.0.0.1:1", &fd, &refused) != 0)
		exit(99);
	started(refused, h);
	drive_until(&d, &drive_seen(&d, refused, h)->ends, 1, DRIVE_PATIENCE_MS);
	is_int(drive_seen(&d, refused, h)->status, PSSH_ECONNECT, "a channel to where nobody listens is refused");
	is_int(drive_seen(&d, t, h)->ends, 0, "a command beside it goes on");
	pssh_task_cancel(t, "TERM", 2000);
	drive_until(&d, &drive_seen(&d, t, h)->ends, 1, DRIVE_PATIENCE_MS);
	close(fd);
	stop_all();
}

static void check_many(void)
{
	struct pssh_host *h = lent("n1");
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct pssh_task *t;
	int fds[MANY], greeted = 0;
	char text[64];

	if (pssh_tunnel(d.p, "127.0.0.1:0", env("FIRST"), &t) != 0) {
		diag("%s", pssh_error(d.p));
		exit(99);
	}
	started(t, h);
	to.sin_port = htons((uint16_t)pssh_tunnel_port(t));
	for (int i = 0; i < MANY; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		if (connect(fds[i], (struct sockaddr *)&to, sizeof to) != 0) {
			diag("connect %d: %s", i, strerror(errno));
			exit(99);
		}
		drive_for(&d, 1);
		fcntl(fds[i], F_SETFL, O_NONBLOCK);
	}
	for (int64_t until = now_ms() + 60000; greeted < MANY && now_ms() < until && !drive_seen(&d, t, h)->ends;) {
		drive_for(&d, 20);
		for (int i = 0; i < MANY; i++)
			greeted += read(fds[i], text, sizeof text) > 0;
	}
	is_int(greeted >= MANY, 1, "%d connections at once through a tunnel over one kept connection", MANY);
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	stop_all();
}

/* What is in use stays with the process that uses it. */
static void check_in_use(void)
{
	struct pssh_host *h = begin("n1");
	struct pssh_task *t;
	char text[64];
	int fd;

	if (pssh_channel(d.p, PSSH_CHANNEL_TCP, env("FIRST"), &fd, &t) != 0)
		exit(99);
	started(t, h);
	is_int(pssh_keep(d.p), 0, "connections are left to a keeper");
	for (int i = 0; i < 1000 && read(fd, text, sizeof text) <= 0; i++)
		drive_for(&d, 20);
	is_int(drive_seen(&d, t, h)->ends, 0, "but not one with an open channel");
	close(fd);
	drive_until(&d, &drive_seen(&d, t, h)->ends, 1, DRIVE_PATIENCE_MS);
	t = command(&d, "exit 3");
	if (pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0)
		exit(99);
	pssh_keep(d.p);
	drive_until(&d, &drive_seen(&d, t, h)->ends, 1, DRIVE_PATIENCE_MS);
	ends(drive_seen(&d, t, h), "exit 3", "nor one with a task that was started just before");
	stop_all();
}

static void check_processes(void)
{
	struct pssh_host *h = begin("n1");
	int status = -1;
	pid_t pid;

	once(&d, h, "true");
	pid = fork();
	if (pid == 0)
		_exit(pssh_keep(d.p) == PSSH_EINVAL ? 0 : 1);
	waitpid(pid, &status, 0);
	is_int(status, 0, "a forked child cannot leave its parent's connections to a keeper");
	ends(once(&d, h, "exit 5"), "exit 5", "which the parent still uses");
	signal(SIGCHLD, SIG_IGN);
	is_int(pssh_keep(d.p), 0, "a program that ignores SIGCHLD can keep its own");
	signal(SIGCHLD, SIG_DFL);
	ends(once(&d, h, "exit 6"), "exit 6", "and use them");
	stop_all();
}

static void check_back(void)
{
	struct pssh_host *h = lent("n1");
	struct pssh_task *t;

	ends(once(&d, h, "true"), "exit 0", "a command on a kept connection");
	if (pssh_tunnel_back(d.p, "localhost:0", "127.0.0.1:9", &t) != 0)
		exit(99);
	started(t, h);
	is_int(drive_seen(&d, t, h)->started, 1, "a tunnel back after it gets a connection of its own");
	stop_all();
}

/* Through a jump host whose kept connection another fleet uses. */
static void check_jump(void)
{
	struct pssh_host *h = begin("n3");
	struct drive first;
	struct pssh_task *t;

	pssh_host_set_jump(h, "n1");
	once(&d, h, "true");
	end();
	h = begin("n2");
	pssh_host_set_jump(h, "n1");
	t = started(waiting(), h);
	first = d;
	h = begin("n2");
	pssh_host_set_jump(h, "n1");
	ends(once(&d, h, "exit 7"), "exit 7", "two commands at once behind one kept jump host");
	end();
	d = first;
	pssh_task_cancel(t, "TERM", 2000);
	drive_done(&d, 1);
	stop_all();
}

static unsigned alone; /* copies that use one connection */

static void hear(void *arg, enum pssh_log_level level, const char *text)
{
	(void)arg;
	(void)level;
	alone += strstr(text, "the copy uses one connection") != NULL;
}

/* Over a kept connection whose jump host has none here, and might ask for a passphrase. */
static void copy_kept(void)
{
	struct pssh_host *h = begin("n3");
	struct pssh_task *t;
	char to[4096];

	pssh_host_set_jump(h, "n1");
	once(&d, h, "true");
	end();
	h = begin("n3");
	pssh_host_set_jump(h, "n1");
	pssh_set_log(d.p, PSSH_LOG_INFO, hear, NULL);
	snprintf(to, sizeof to, "%s/copied", env("TMP"));
	if (pssh_put(d.p, "zeros", to, 0, &t) != 0 || pssh_task_set_streams(t, 2) != 0 || pssh_task_add(t, h) != 0 ||
		pssh_task_start(t) != 0)
		exit(99);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, h), "exit 0", "a copy over a kept connection behind a jump host");
	stop_all();
}

static void check_copy(void)
{
	for (int i = 0; i < TRIES && !alone; i++)
		copy_kept();
	is_int(alone, 1, "makes no other connections, as the jump host's might ask something");
}

/* A fleet whose key is in the file "mykey". */
static void begin_mykey(void)
{
	FILE *f = fopen("myconfig", "w");

	if (!f ||
		fprintf(f, "Host *\n  IdentityFile %s/mykey\n  IdentitiesOnly yes\n  IdentityAgent none\nInclude %s\n",
			env("HERE"), env("SSHD_CONFIG")) < 0 ||
		fclose(f) != 0)
		exit(99);
	if (!drive_start(&d) || pssh_set_keep(d.p, "kept", 600) != 0 || pssh_read_config(d.p, "myconfig") != 0)
		exit(99);
}

/* A key is read once, so what a fleet signs in with may no longer be in the file of that name. */
static void check_replaced(void)
{
	int before, more = 1;

	rename("first", "mykey");
	begin_mykey();
	ends(once(&d, host(&d, "n1"), "true"), "exit 0", "a key signs in");
	rename("second", "mykey");
	ends(once(&d, host(&d, "n2"), "true"), "exit 0", "and again when its file is replaced");
	end();
	before = logins();
	begin_mykey();
	ends(once(&d, host(&d, "n2"), "true"), "exit 0", "the other key");
	is_int(logins() - before, 1, "uses no connection that the first key made");
	end();
	for (int i = 0; i < TRIES && more; i++) {
		before = logins();
		begin_mykey();
		ends(once(&d, host(&d, "n2"), "true"), "exit 0", "and then its own");
		more = logins() - before;
		if (more)
			end();
	}
	is_int(more, 0, "without signing in");
	stop_all();
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	mkdir("kept", 0700);
	check_folder();
	check_memory();
	check_refused();
	check_many();
	check_in_use();
	check_processes();
	check_back();
	check_jump();
	check_copy();
	check_replaced();
	return done();
}
