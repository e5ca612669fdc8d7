/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process driver: an sshd of this same user on its own port. Where namespaces are open, the node has its own view
 * of the machine (process/space.h); where they are not, nothing confines it, and the driver says so. The network is
 * always the machine's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agentd/os/cgroup.h"
#include "agentd/driver.h"
#include "agentd/os/node_hostkey.h"
#include "agentd/os/port.h"
#include "agentd/process/sshd_conf.h"
#include "agentd/process/node_processes.h"
#include "agentd/os/wipe.h"
#include "agentd/os/spawn.h"
#include "base/clock.h"
#include "base/file.h"

enum { TRY_MS = 10000, UP_MS = 20000, TICK_MS = 10, INSIST_MS = 10000 };

static int process_path_in(const struct node_spec *n, const char *name, char room[PATH_MAX], struct fail *f)
{
	int len = snprintf(room, PATH_MAX, "%s/%s", n->dir, name);

	return len > 0 && len < PATH_MAX ? 0 : fail_set(f, -ENAMETOOLONG, "the path '%s' is too long", n->dir);
}

static void process_pause_ms(int ms)
{
	const struct timespec ts = { .tv_nsec = ms * 1000000L };

	nanosleep(&ts, NULL);
}

/* ---- What works here ------------------------------------------------------------------------------ */

/* NANOPOD_PROCESS=plain works without namespaces even where they are open: for tests, and for trying it out. */
static bool process_has_spaces(const struct driver_setup *s, const char *program)
{
	const char *asked = getenv("NANOPOD_PROCESS");

	if (asked && strcmp(asked, "plain") == 0)
		return false;
	return spawn_words(TRY_MS, NULL, program, "--try", s->data, (char *)NULL) == 0;
}

/* sshd runs commands by the user's shell, and knows users by name. */
static int process_check_user(struct fail *f)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *shell = pw && *pw->pw_shell ? pw->pw_shell : "/bin/sh";

	if (!pw)
		return fail_set(f, -ENOTSUP, "user %u has no name on this machine: sshd needs one ('adduser')",
			(unsigned)geteuid());
	if (access(shell, X_OK) != 0 || strstr(shell, "nologin") || strstr(shell, "/false"))
		return fail_set(f, -ENOTSUP, "user '%s' cannot sign in with the shell '%s': 'chsh -s /bin/sh %s'",
			pw->pw_name, shell, pw->pw_name);
	return 0;
}

static int process_probe(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	char program[PATH_MAX], path[PATH_MAX];
	unsigned limits = 0;

	if (process_check_user(f))
		return -ENOTSUP;
	if (!spawn_find("sshd", path, sizeof path))
		return fail_set(f, -ENOTSUP, "'sshd' is not installed: apt-get install openssh-server");
	if (!spawn_find("ssh-keygen", path, sizeof path))
		return fail_set(f, -ENOTSUP, "'ssh-keygen' is not installed: apt-get install openssh-client");
	if (process_program(program, sizeof program, f))
		return -ENOTSUP;
	*holds = 0;
	if (process_has_spaces(s, program)) {
		if (cgroup_probe(&limits, NULL))
			limits = 0;
		*holds = HOLDS_PROCESSES | HOLDS_FILES | (limits & (HOLDS_CPU | HOLDS_MEMORY));
	}
	return 0;
}

/* ---- Make ------------------------------------------------------------------------------------------ */

static int process_make_folders(const struct node_spec *n, struct fail *f)
{
	static const struct {
		const char *name;
		mode_t mode;
	} all[] = { { "ssh", 0700 }, { "home", 0700 }, { "tmp", 01777 }, { "root", 0700 } };
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int rc = process_path_in(n, all[i].name, path, f);

		if (rc)
			return rc;
		if (mkdir(path, 0700) == 0 ? chmod(path, all[i].mode) != 0 : errno != EEXIST)
			return fail_errno(f, -errno, errno, "cannot make '%s'", path);
	}
	return 0;
}

static int process_put(const struct node_spec *n, const char *name, const char *text, mode_t mode, struct fail *f)
{
	char path[PATH_MAX];
	int rc = process_path_in(n, name, path, f);

	if (rc)
		return rc;
	rc = file_replace(path, text, strlen(text), mode);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

static int process_rekey(const struct node_spec *n, struct fail *f)
{
	return process_put(n, "ssh/authorized_keys", n->keys, 0600, f);
}

static int process_create(const struct node_spec *n, struct fail *f)
{
	struct passwd *pw = getpwuid(geteuid());
	char line[256];
	int rc;

	if (!pw)
		return fail_set(f, -ENOTSUP, "user %u has no name on this machine", (unsigned)geteuid());
	snprintf(line, sizeof line, "%s\n", pw->pw_name);
	rc = process_make_folders(n, f);
	if (!rc)
		rc = hostkey_make(n->dir, f);
	if (!rc)
		rc = process_rekey(n, f);
	if (!rc && n->script)
		rc = process_put(n, "ssh/script", n->script, 0700, f);
	return rc ? rc : process_put(n, "user", line, 0644, f);
}

/* ---- Run ------------------------------------------------------------------------------------------- */

/*
 * The node's first process inherits the lock on dir/alive from its fork on, before anybody could find it by name. So a
 * start that was killed half-way left either no node or one that this sees. 1: somebody holds the lock. 0: we hold it,
 * in *fd.
 */
static int process_alive(const struct node_spec *n, bool make, int *fd, struct fail *f)
{
	char path[PATH_MAX];
	int rc = process_path_in(n, "alive", path, f), got;

	if (rc)
		return rc;
	got = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (make ? O_CREAT : 0), 0600);
	if (got < 0 && errno == ENOENT && !make)
		return -ENOENT;
	if (got < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	if (flock(got, LOCK_EX | LOCK_NB) != 0) {
		rc = errno == EWOULDBLOCK ? 1 : fail_errno(f, -errno, errno, "cannot lock '%s'", path);
		close(got);
		return rc;
	}
	*fd = got;
	return 0;
}

static bool process_runs(const struct node_spec *n)
{
	int fd = -1, rc = process_alive(n, false, &fd, NULL);

	if (rc == 0)
		close(fd);
	return rc == 1;
}

static int process_join_group(void *arg)
{
	cgroup_enter(arg, CGROUP_NODE);
	return 0;
}

static int process_launch(const struct node_spec *n, const char *program, bool plain, int lock, struct fail *f)
{
	char sshd[PATH_MAX], mark[128], console[PATH_MAX];
	const char *argv[] = { program, "--node", n->dir, "--name", n->name, "--mark", mark, "--sshd", sshd,
		"--hide", n->setup->data, n->setup->images ? "--hide" : NULL, n->setup->images, NULL, NULL };
	unsigned limits;
	bool grouped = cgroup_probe(&limits, NULL) == 0;
	int rc = process_path_in(n, "console", console, f);
	pid_t pid;

	if (rc)
		return rc;
	if (!spawn_find("sshd", sshd, sizeof sshd))
		return fail_set(f, -ENOENT, "'sshd' is not installed");
	process_mark(n, mark, sizeof mark);
	if (plain)
		argv[n->setup->images ? 13 : 11] = "--plain";
	if (grouped && (rc = cgroup_make(n, 0, f)))
		return rc;
	rc = spawn_leave(&(struct spawn){ .argv = argv,
				 .prepare = grouped ? process_join_group : NULL,
				 .arg = (void *)(uintptr_t)n },
		console, lock, &pid, f);
	if (!rc)
		waitpid(pid, NULL, 0);
	return rc;
}

/* The first process writes "up" into dir/alive once it has started sshd. -EIO: it ended before. */
static int process_wait_up(const struct node_spec *n, struct fail *f)
{
	int64_t until = clock_ms() + UP_MS;
	char path[PATH_MAX], last[256];
	struct stat st;
	int rc = process_path_in(n, "alive", path, f);

	while (!rc && clock_ms() < until) {
		bool lives = process_runs(n);

		if (stat(path, &st) == 0 && st.st_size > 0)
			return 0;
		if (!lives) {
			process_last_line(n, last, sizeof last);
			return fail_set(f, -EIO, "the node did not start: %s", last);
		}
		process_pause_ms(TICK_MS);
	}
	return rc ? rc : fail_set(f, -ETIMEDOUT, "the node did not start within %d s", UP_MS / 1000);
}

static bool process_group_left(const struct node_spec *n)
{
	pid_t one;
	unsigned limits;

	return cgroup_probe(&limits, NULL) == 0 && cgroup_pids(n, CGROUP_ALL, &one, 1) > 0;
}

/* Asks it to end, then kills it, then kills whatever has its mark or is in its group. */
static int process_end_all(const struct node_spec *n, int64_t grace_ms, struct fail *f)
{
	int64_t now = clock_ms(), ask_until = now + grace_ms, quit_until = ask_until + INSIST_MS / 4,
		until = ask_until + INSIST_MS;
	int64_t next = 0;
	bool left = true;

	while ((process_runs(n) || (left = process_marked(n, 0) > 0) || process_group_left(n)) &&
		(now = clock_ms()) < until) {
		bool first = process_first(n, 0) > 0;

		if (now >= next) {
			if (now < ask_until)
				first ? process_first(n, SIGTERM) : process_marked(n, SIGTERM);
			else if (now < quit_until && first)
				process_first(n, SIGQUIT);
			else
				process_first(n, SIGKILL);
			if (now >= ask_until && !first) {
				process_marked(n, SIGKILL);
				if (process_group_left(n))
					cgroup_kill(n, CGROUP_ALL, 1000, NULL);
			}
			next = now + 200;
		}
		process_pause_ms(TICK_MS);
	}
	left = process_runs(n) || process_marked(n, 0) > 0 || process_group_left(n);
	return left ? fail_set(f, -ETIMEDOUT, "processes of '%s' were killed but have not ended", n->id) : 0;
}

/*
 * A stop writes dir/ending before it asks anybody to end. If the stop was cut off, the next start first finishes it,
 * because what still answers is about to end. It does the same for processes left by a node that ended by itself.
 */
static int process_end_begun(const struct node_spec *n, struct fail *f)
{
	char path[PATH_MAX];
	int rc = process_path_in(n, "ending", path, f);

	if (rc || (process_runs(n) && access(path, F_OK) != 0))
		return rc;
	rc = process_end_all(n, 0, f);
	if (!rc && unlink(path) != 0 && errno != ENOENT)
		rc = fail_errno(f, -errno, errno, "cannot remove '%s'", path);
	return rc;
}

/* Called with the lock, which it releases. */
static int process_begin(const struct node_spec *n, int lock, struct fail *f)
{
	char program[PATH_MAX];
	int rc = process_program(program, sizeof program, f);
	bool plain = !rc && !process_has_spaces(n->setup, program);

	if (!rc)
		rc = process_conf(n, plain, program, f);
	if (!rc)
		rc = port_free(n->setup->listen, n->port, f);
	if (!rc && ftruncate(lock, 0) != 0)
		rc = fail_errno(f, -errno, errno, "cannot write '%s/alive'", n->dir);
	if (!rc)
		rc = process_launch(n, program, plain, lock, f);
	close(lock);
	return rc ? rc : process_wait_up(n, f);
}

static int process_start(const struct node_spec *n, struct fail *f)
{
	int fd = -1, rc = process_end_begun(n, f);

	if (!rc)
		rc = process_alive(n, true, &fd, f);
	if (rc == 1) {
		rc = process_wait_up(n, f);
		if (rc != -EIO)
			return rc;
		/* A start that was killed took the node with it. */
		rc = process_end_begun(n, f);
		if (!rc)
			rc = process_alive(n, true, &fd, f);
		if (rc == 1)
			return fail_set(f, -EBUSY, "another process is starting '%s'", n->id);
	}
	return rc ? rc : process_begin(n, fd, f);
}

/* ---- End ------------------------------------------------------------------------------------------- */

static int process_stop(const struct node_spec *n, int64_t grace_ms, struct fail *f)
{
	process_put(n, "ending", "", 0600, NULL);   /* a full disk must not keep it running */
	return process_end_all(n, grace_ms, f);
}

static int process_destroy(const struct node_spec *n, struct fail *f)
{
	static const char *const keep[] = { "node.json", "lock", NULL };
	unsigned limits;
	int rc = process_stop(n, 0, f);

	if (!rc && cgroup_probe(&limits, NULL) == 0)
		rc = cgroup_remove(n, f);
	return rc ? rc : wipe_folder(n->dir, keep, f);
}

/* ---- Tell ------------------------------------------------------------------------------------------ */

static int process_inspect(const struct node_spec *n, enum node_is *out, struct fail *f)
{
	static const char *const made[] = { "alive", "user", "ssh", "home", "tmp", "root", "hostkey", "hostkey.new" };
	char path[PATH_MAX];

	if (process_runs(n)) {
		*out = NODE_RUNNING;
		return 0;
	}
	*out = NODE_ABSENT;
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		int rc = process_path_in(n, made[i], path, f);

		if (rc)
			return rc;
		if (access(path, F_OK) == 0)
			*out = NODE_STOPPED;
	}
	return 0;
}

static int process_list_nodes(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg,
	struct fail *f)
{
	unsigned limits;

	process_list(s, found, arg);
	return cgroup_probe(&limits, NULL) == 0 ? cgroup_list(s, found, arg, f) : 0;
}

static int process_tidy(const struct driver_setup *s, struct fail *f)
{
	(void)s;
	(void)f;
	return 0;
}

static void process_terms(const struct driver_setup *s, struct driver_terms *out)
{
	(void)s;
	out->no_rate = true;
}

const struct driver driver_process = {
	.name = "process",
	.about = "sshd as this user, with its own view of the machine where namespaces are open; shares the network",
	.probe = process_probe,
	.terms = process_terms,
	.create = process_create,
	.start = process_start,
	.rekey = process_rekey,
	.rebind = cgroup_rebind,
	.stop = process_stop,
	.destroy = process_destroy,
	.inspect = process_inspect,
	.list = process_list_nodes,
	.tidy = process_tidy,
};
