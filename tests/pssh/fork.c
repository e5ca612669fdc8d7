/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child has a copy of the fleet: it may free it, and nothing else; the parent notices nothing. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "drive.h"

static struct drive d;
static struct pssh_host *direct, *jumping, *proxied;

/* What a child tells by its exit status: 0, or the number of the first call that was not as promised. */
static int child_tries(struct pssh_task *t)
{
	const struct pssh_event *ev;
	struct pssh_task *other;
	struct pssh_host *h;

	if (pssh_next(d.p, &ev) != PSSH_EINVAL || !strstr(pssh_error(d.p), "pssh_new"))
		return 1;
	if (pssh_wait(d.p, &ev, 1000) != PSSH_EINVAL)
		return 2;
	if (pssh_host(d.p, "n3", &h) != PSSH_EINVAL || pssh_exec(d.p, "true", &other) != PSSH_EINVAL)
		return 3;
	if (pssh_task_add(t, proxied) != PSSH_EINVAL || pssh_task_start(t) != PSSH_EINVAL)
		return 4;
	if (pssh_task_write(t, NULL, "child", 5) != PSSH_EINVAL || pssh_task_end_input(t, NULL) != PSSH_EINVAL)
		return 5;
	if (pssh_task_cancel(t, "KILL", 0) != PSSH_EINVAL || pssh_task_stop(t) != PSSH_EINVAL)
		return 6;
	if (pssh_set_agent(d.p, "/nowhere") != PSSH_EINVAL || pssh_answer(d.p, 1, "x") != PSSH_EINVAL)
		return 7;
	pssh_host_close(direct);
	pssh_task_free(t);
	return 0;
}

static int in_child(struct pssh_task *t)
{
	struct pssh *own;
	int status = -1, rc;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		rc = t ? child_tries(t) : 0;
		pssh_free(d.p);
		if (!rc && pssh_new(&own) == 0)
			pssh_free(own);
		_exit(rc);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_commands(void)
{
	struct pssh_task *t = command(&d, "cat; exit 6");
	struct pssh_host *all[] = { direct, jumping, proxied };
	const unsigned downs = d.down;

	pssh_task_open_input(t);
	for (int i = 0; i < 3; i++)
		pssh_task_add(t, all[i]);
	pssh_task_start(t);
	for (int i = 0; i < 3; i++)
		drive_until(&d, &drive_seen(&d, t, all[i])->started, 1, DRIVE_PATIENCE_MS);
	is_int(in_child(NULL), 0, "a child frees its copy of the fleet, and makes one of its own");
	is_int(in_child(t), 0, "in a child every call that needs a connection fails, with a sentence");
	pssh_task_write(t, NULL, "hello\n", 6);
	pssh_task_end_input(t, NULL);
	drive_done(&d, 1);
	for (int i = 0; i < 3; i++) {
		ends(drive_seen(&d, t, all[i]), "exit 6", "the parent's command on '%s' ends as if nothing had been",
			pssh_host_name(all[i]));
		is_str(drive_seen(&d, t, all[i])->out, "hello\n", "with its output");
	}
	ends(once(&d, proxied, "exit 5"), "exit 5", "the connections go on");
	is_int(d.down, downs, "none of them broke");
}

static void check_tunnel(void)
{
	struct pssh_task *t;
	struct stat st;

	if (pssh_tunnel(d.p, "./fork.sock", "127.0.0.1:9", &t) != 0)
		exit(99);
	pssh_task_add(t, direct);
	pssh_task_start(t);
	drive_until(&d, &drive_seen(&d, t, direct)->started, 1, DRIVE_PATIENCE_MS);
	is_int(in_child(NULL), 0, "a child frees a fleet with a tunnel");
	ok(stat("fork.sock", &st) == 0, "the tunnel's socket is still there");
	drive_free(&d, t);
	ok(stat("fork.sock", &st) != 0, "until the parent frees it");
}

static void check_copy(void)
{
	enum { SIZE = 64 << 20 };
	struct pssh_task *t;
	char cwd[4096], path[4200], got[4200];
	struct stat st = { 0 };

	if (!getcwd(cwd, sizeof cwd))
		exit(99);
	snprintf(path, sizeof path, "%s/big", cwd);
	snprintf(got, sizeof got, "%s/big.got", cwd);
	if (truncate(path, 0) != 0 && errno == ENOENT)
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (truncate(path, SIZE) != 0 || pssh_get(d.p, path, got, 0, &t) != 0)
		exit(99);
	pssh_task_add(t, direct);
	pssh_task_start(t);
	for (int64_t end = now_ms() + DRIVE_PATIENCE_MS; now_ms() < end && !st.st_size; drive_for(&d, 1)) {
		DIR *dir = opendir(".");
		struct dirent *de;

		while (dir && (de = readdir(dir)))
			if (strstr(de->d_name, ".pssh-part"))
				stat(de->d_name, &st);
		if (dir)
			closedir(dir);
	}
	ok(st.st_size > 0 && st.st_size < SIZE && !drive_seen(&d, t, direct)->ends, "a copy is under way");
	is_int(in_child(NULL), 0, "a child frees a fleet that copies");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, direct), "exit 0", "the copy ends well");
	ok(stat(got, &st) == 0 && st.st_size == SIZE, "and whole");
}

int main(void)
{
	char proxy[600];

	plan_none;
	if (!drive_start(&d) || pssh_read_config(d.p, env("SSHD_CONFIG")) != 0)
		exit(99);
	direct = host(&d, "n1");
	jumping = host(&d, "n2");
	pssh_host_set_jump(jumping, "n1");
	proxied = host(&d, "n3");
	snprintf(proxy, sizeof proxy, "%.590s", env("SSHD_PROXY"));
	pssh_host_set_proxy(proxied, proxy);
	check_commands();
	check_tunnel();
	check_copy();
	drive_end(&d, "fork");
	return done();
}
