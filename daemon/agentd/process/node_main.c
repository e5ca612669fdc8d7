/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod-node: the first process of a node of the process driver. It builds the node's view of the machine, runs sshd
 * in it, reaps, and ends all other processes when it ends. Without namespaces (--plain) it is their subreaper, so
 * orphans of the node become its children. Descriptor 3 is the locked file dir/alive: a node runs as long as that
 * lock is held.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agentd/process/space.h"
#include "agentd/os/proctree.h"

enum { ALIVE_FD = 3, GRACE_S = 10 };

struct node {
	struct space space;
	const char *sshd, *mark;   /* mark: value of NANOPOD_NODE in all its processes */
	const char *user, *shell;
	const char *conf;          /* folder with sshd_config and script, as sshd sees it */
	bool plain, script;
	pid_t server;
};

__attribute__((format(printf, 2, 3))) static void node_main_say(const struct node *n, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	dprintf(2, "node %s: %s\n", n->space.name, text);
}

/* ---- Its processes ------------------------------------------------------------------------------ */

static void node_main_set_environment(const struct node *n)
{
	clearenv();
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", n->space.home, 1);
	setenv("USER", n->user, 1);
	setenv("LOGNAME", n->user, 1);
	setenv("SHELL", n->shell, 1);
	setenv("NANOPOD_NODE", n->mark, 1);
}

/* Starts a child of the node with the default signal handling that programs expect. */
static pid_t node_main_begin(const struct node *n, const char *const argv[], bool session)
{
	pid_t pid = fork();
	sigset_t none;

	if (pid != 0)
		return pid;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (session)
		setsid();
	else
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (chdir(session ? n->space.home : "/") != 0)
		_exit(127);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	if (errno == ENOEXEC)
		execv("/bin/sh", (char *const[]){ (char *)(uintptr_t)"/bin/sh", (char *)(uintptr_t)argv[0], NULL });
	dprintf(2, "cannot start '%s': %s\n", argv[0], strerror(errno));
	_exit(127);
}

static unsigned node_main_signal_all(const struct node *n, int sig)
{
	if (n->plain)
		return process_signal_below(sig);
	return kill(-1, sig) == 0;
}

/* Reaps whoever ended, and reports how sshd and the start script ended. */
static void node_main_reap(struct node *n, pid_t script)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == n->server) {
			n->server = 0;
			node_main_say(n, "sshd ended");
		}
		if (pid == script && WIFEXITED(status))
			node_main_say(n, "the start script exited with status %d", WEXITSTATUS(status));
		else if (pid == script)
			node_main_say(n, "the start script was killed by signal %d", WTERMSIG(status));
	}
}

static void node_main_end_all(struct node *n, bool ask, const sigset_t *asked)
{
	const struct timespec tick = { .tv_nsec = 20000000 };
	time_t until = time(NULL) + GRACE_S;
	bool stubborn = !ask;

	if (ask) {
		node_main_say(n, "stops");
		node_main_signal_all(n, SIGTERM);
		node_main_signal_all(n, SIGHUP);
		node_main_signal_all(n, SIGCONT);
	}
	for (;;) {
		int sig;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD && (!n->plain || !process_signal_below(0)))
			break;
		sig = sigtimedwait(asked, NULL, &tick);
		stubborn = stubborn || sig == SIGQUIT || time(NULL) >= until;
		if (stubborn)
			node_main_signal_all(n, SIGKILL);
	}
	node_main_say(n, "is down");
}

static int node_main_serve(struct node *n)
{
	char conf[4200], script[4200];
	const char *const sshd[] = { n->sshd, "-D", "-e", "-f", conf, NULL }, *const run[] = { script, NULL };
	pid_t first = 0;
	sigset_t set;

	snprintf(conf, sizeof conf, "%s/sshd_config", n->conf);
	snprintf(script, sizeof script, "%s/script", n->conf);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	node_main_set_environment(n);
	n->server = node_main_begin(n, sshd, false);
	if (n->server < 0 || write(ALIVE_FD, "up\n", 3) != 3)
		return 1;
	node_main_say(n, "is up as '%s'%s", n->user,
		n->plain ? ", without namespaces: it sees the whole machine" : "");
	if (n->script)
		first = node_main_begin(n, run, true);
	while (n->server > 0) {
		int sig = sigwaitinfo(&set, NULL);

		if (sig == SIGCHLD)
			node_main_reap(n, first);
		else if (sig > 0) {
			node_main_end_all(n, sig != SIGQUIT, &set);
			return 0;
		}
	}
	node_main_end_all(n, false, &set);
	return 1;
}

/* ---- Its beginning --------------------------------------------------------------------------------- */

/* The start script runs once in a node's life, even if it is cut off. */
static bool node_main_first_boot(const char *dir)
{
	char path[4200];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "%s/ssh/script", dir);
	if (stat(path, &st) != 0)
		return false;
	snprintf(path, sizeof path, "%s/ran", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void node_main_block_signals(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Runs in pid 1 of the node or, plain, in the parent of all its processes. */
static int node_main_live(struct node *n)
{
	struct fail f = { 0 };

	n->script = node_main_first_boot(n->space.dir);
	if (n->plain)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	else if (space_build(&n->space, &f)) {
		node_main_say(n, "cannot start: %s", f.text);
		return 1;
	}
	return node_main_serve(n);
}

/* The first process is orphaned by a parent that ends at once, so no agent has to wait for it. */
static int node_main_start(struct node *n)
{
	struct fail f = { 0 };
	pid_t pid;

	if (fcntl(ALIVE_FD, F_SETFD, FD_CLOEXEC) != 0)
		return 1;
	node_main_block_signals();
	umask(022);
	if (!n->plain && space_enter(&f)) {
		node_main_say(n, "cannot start: %s", f.text);
		return 1;
	}
	pid = fork();
	if (pid == 0)
		_exit(node_main_live(n));
	return pid < 0;
}

/* Does all but start sshd. Prints failures on standard error. */
static int node_main_try(struct node *n)
{
	struct fail f = { 0 };
	int status;
	pid_t pid;

	if (space_enter(&f)) {
		dprintf(2, "%s\n", f.text);
		return 1;
	}
	pid = fork();
	if (pid == 0) {
		int rc = space_build(&n->space, &f);

		if (rc)
			dprintf(2, "%s\n", f.text);
		_exit(rc != 0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/*
 * sshd runs this for a plain node (ForceCommand) and for a lease of the whole machine (in authorized_keys). It runs
 * the command that the client asked for: in the node's home, or with the mark of the lease.
 */
static int node_main_session(const char *home, const char *shell)
{
	const char *asked = getenv("SSH_ORIGINAL_COMMAND"),
		   *base = strrchr(shell, '/') ? strrchr(shell, '/') + 1 : shell;
	char name[256];

	if (home && chdir(home) != 0)
		dprintf(2, "cannot enter '%s': %s\n", home, strerror(errno));
	snprintf(name, sizeof name, "-%s", base);
	/* A lease cannot tell sshd's internal file server from a command, so it runs the program that does the same. */
	if (asked && strcmp(asked, "internal-sftp") == 0)
		asked = access("/usr/lib/openssh/sftp-server", X_OK) == 0 ? "/usr/lib/openssh/sftp-server"
									  : "/usr/libexec/openssh/sftp-server";
	if (asked && *asked)
		execl(shell, base, "-c", asked, (char *)NULL);
	else
		execl(shell, name, (char *)NULL);
	dprintf(2, "cannot start '%s': %s\n", shell, strerror(errno));
	return 127;
}

enum node_mode { MODE_NONE, MODE_NODE, MODE_TRY, MODE_SESSION, MODE_LEASE };

struct node_call {
	enum node_mode mode;
	const char *at;          /* the node's folder; for a trial the place of the root, for a session the home */
	const char *lease_mark;
};

/* 0, or the exit status for a wrong call. */
static int node_main_options(int argc, char **argv, struct node *n, struct node_call *call)
{
	static const struct option options[] = { { "node", 1, NULL, 'd' }, { "name", 1, NULL, 'n' },
		{ "mark", 1, NULL, 'm' }, { "sshd", 1, NULL, 's' }, { "hide", 1, NULL, 'h' }, { "plain", 0, NULL, 'p' },
		{ "try", 1, NULL, 't' }, { "session", 1, NULL, 'x' }, { "lease", 1, NULL, 'l' }, { 0 } };
	size_t hides = 0;

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;)
		switch (c) {
		case 'n': n->space.name = optarg; break;
		case 'm': n->mark = optarg; break;
		case 's': n->sshd = optarg; break;
		case 'p': n->plain = true; break;
		case 'h':
			if (hides < SPACE_HIDES - 1)
				n->space.hide[hides++] = optarg;
			break;
		case 'd': call->mode = MODE_NODE, call->at = optarg; break;
		case 't': call->mode = MODE_TRY, call->at = optarg; break;
		case 'x': call->mode = MODE_SESSION, call->at = optarg; break;
		case 'l': call->mode = MODE_LEASE, call->lease_mark = optarg; break;
		default: return 2;
		}
	if (call->mode == MODE_NONE || (call->mode == MODE_NODE && (!n->space.name || !n->mark || !n->sshd))) {
		dprintf(2, "nanopod-node is run by nanopod-agentd; do not run it by hand\n");
		return 2;
	}
	return 0;
}

/* The folders of a node: as seen from the machine for a plain one, else as seen from inside its own root. */
static int node_main_node(struct node *n, const char *dir)
{
	char root[4200], conf[4200], home[4200];

	snprintf(root, sizeof root, "%s/root", dir);
	snprintf(conf, sizeof conf, "%s/ssh", dir);
	snprintf(home, sizeof home, "%s/home", dir);
	n->space.dir = dir;
	n->space.root = root;
	n->conf = n->plain ? conf : SPACE_SSH;
	if (n->plain)
		n->space.home = home;
	return node_main_start(n);
}

int main(int argc, char **argv)
{
	struct passwd *pw = getpwuid(geteuid());
	struct node n = { .user = pw ? pw->pw_name : "root",
		.shell = pw && *pw->pw_shell ? pw->pw_shell : "/bin/sh",
		.space.home = pw && pw->pw_dir[0] == '/' && pw->pw_dir[1] ? pw->pw_dir : "/home" };
	struct node_call call = { .mode = MODE_NONE };
	int status = node_main_options(argc, argv, &n, &call);

	if (status)
		return status;
	switch (call.mode) {
	case MODE_SESSION: return node_main_session(call.at, n.shell);
	case MODE_LEASE:
		setenv("NANOPOD_NODE", call.lease_mark, 1);
		return node_main_session(NULL, n.shell);
	case MODE_TRY:
		n.space.name = "try";
		n.space.root = call.at;
		/* _exit: the trial's process namespace has ended, so not even an exit handler could start a process. */
		_exit(node_main_try(&n));
	default: _exit(node_main_node(&n, call.at));
	}
}
