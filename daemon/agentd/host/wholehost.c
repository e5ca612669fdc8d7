/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host driver, for bare metal: the machine itself is the node, handed over by key. While a lease runs, its keys
 * stand as a block in the authorized_keys of the user that runs the agent. At its end the agent removes the block and
 * ends the sessions and processes that the keys started. It wipes nothing else: files, and what a root user hid well,
 * remain until the owner reinstalls the machine. So this driver isolates nothing, and it is used only when named.
 */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/driver.h"
#include "agentd/host/host_end.h"
#include "agentd/host/host_keys.h"
#include "agentd/process/sshd_conf.h"
#include "agentd/process/node_processes.h"
#include "agentd/os/wipe.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"

enum { TEXT_MAX = 64 * 1024, TICK_MS = 20, INSIST_MS = 5000, ASK_AGAIN_MS = 500 };

static int wholehost_put(const struct node_spec *n, const char *name, const char *text, struct fail *f)
{
	char path[PATH_MAX];
	int rc;

	snprintf(path, sizeof path, "%s/%s", n->dir, name);
	rc = file_replace(path, text, strlen(text), 0644);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

static int wholehost_probe(const struct driver_setup *s, unsigned *holds, struct fail *f)
{
	char program[PATH_MAX];
	struct host_sshd h;
	int rc = host_sshd(&h, f);

	(void)s;
	if (!rc && process_program(program, sizeof program, f))
		rc = -ENOTSUP;
	if (!rc)
		*holds = 0;
	return rc;
}

/* The keys may run only our program, which marks what they start. authorized_keys cannot quote every path. */
static int wholehost_command(char room[PATH_MAX], struct fail *f)
{
	int rc = process_program(room, PATH_MAX, f);

	if (!rc && strpbrk(room, "\"\\\n "))
		rc = fail_set(f, -EINVAL, "the path '%s' cannot be written into authorized_keys", room);
	return rc;
}

static int wholehost_create(const struct node_spec *n, struct fail *f)
{
	const struct passwd *pw = getpwuid(geteuid());
	struct host_sshd h;
	char line[320];
	struct buf key;
	int rc = host_sshd(&h, f);

	if (rc)
		return rc;
	buf_init(&key, TEXT_MAX);
	rc = buf_read_file(&key, h.hostkey);
	if (rc)
		rc = fail_errno(f, rc, -rc, "cannot read '%s'", h.hostkey);
	if (!rc)
		rc = wholehost_put(n, "hostkey.pub", buf_text(&key), f);
	buf_release(&key);
	snprintf(line, sizeof line, "%u\n", h.port);
	if (!rc)
		rc = wholehost_put(n, "port", line, f);
	snprintf(line, sizeof line, "%s\n", pw ? pw->pw_name : "root");
	return rc ? rc : wholehost_put(n, "user", line, f);
}

/* ---- Begin and end ---------------------------------------------------------------------------------------- */

static int wholehost_read_since(const struct node_spec *n, unsigned long long *since)
{
	char path[PATH_MAX];
	struct buf b;
	int rc;

	snprintf(path, sizeof path, "%s/since", n->dir);
	buf_init(&b, TEXT_MAX);
	rc = buf_read_file(&b, path);
	if (!rc && sscanf(buf_text(&b), "%llu", since) != 1)
		rc = -EINVAL;
	buf_release(&b);
	return rc;
}

/* After a reboot the time since boot starts anew: a start later than now belongs to the life before. */
static int wholehost_set_since(const struct node_spec *n, struct fail *f)
{
	unsigned long long now, since;
	char line[64];
	int rc = host_now(&now, f);

	if (rc || (wholehost_read_since(n, &since) == 0 && since <= now))
		return rc;
	snprintf(line, sizeof line, "%llu\n", now);
	return wholehost_put(n, "since", line, f);
}

static int wholehost_start(const struct node_spec *n, struct fail *f)
{
	char program[PATH_MAX];
	struct host_sshd h;
	int rc = host_sshd(&h, f);

	if (!rc)
		rc = wholehost_command(program, f);
	if (!rc)
		rc = wholehost_set_since(n, f);
	return rc ? rc : host_keys(&h, n, program, true, f);
}

static int wholehost_rekey(const struct node_spec *n, struct fail *f)
{
	char program[PATH_MAX];
	struct host_sshd h;
	int rc = host_sshd(&h, f);

	if (rc || !host_keys_has(&h, n))
		return rc;
	rc = wholehost_command(program, f);
	return rc ? rc : host_keys(&h, n, program, true, f);
}

static unsigned wholehost_end_all(const struct node_spec *n, unsigned port, int sig)
{
	unsigned long long since, now = 0;
	unsigned left = process_marked(n, sig);

	if (wholehost_read_since(n, &since) == 0 && host_now(&now, NULL) == 0)
		left += host_end_sessions(port, since <= now ? since : 0, sig);
	return left;
}

static int wholehost_end_sessions(const struct node_spec *n, unsigned port, int64_t grace_ms, struct fail *f)
{
	const struct timespec tick = { .tv_nsec = TICK_MS * 1000000L };
	int64_t begun = clock_ms(), now = begun, next = begun;

	while (wholehost_end_all(n, port, 0)) {
		if ((now = clock_ms()) >= begun + grace_ms + INSIST_MS)
			return fail_set(f, -ETIMEDOUT, "sessions of '%s' were killed but have not ended", n->id);
		if (now >= next) {
			wholehost_end_all(n, port, now < begun + grace_ms ? SIGHUP : SIGKILL);
			next = now + ASK_AGAIN_MS;
		}
		nanosleep(&tick, NULL);
	}
	return 0;
}

/* Remove the keys first, so that nobody enters while the others leave. */
static int wholehost_stop(const struct node_spec *n, int64_t grace_ms, struct fail *f)
{
	char program[PATH_MAX], path[PATH_MAX];
	struct host_sshd h;
	int rc = host_sshd(&h, f);

	if (!rc)
		rc = wholehost_command(program, f);
	if (!rc)
		rc = host_keys(&h, n, program, false, f);
	if (!rc)
		rc = wholehost_end_sessions(n, h.port, grace_ms, f);
	snprintf(path, sizeof path, "%s/since", n->dir);
	if (!rc)
		unlink(path);
	return rc;
}

static int wholehost_destroy(const struct node_spec *n, struct fail *f)
{
	static const char *const keep[] = { "node.json", "lock", NULL };
	int rc = wholehost_stop(n, 0, f);

	return rc ? rc : wipe_folder(n->dir, keep, f);
}

/* ---- Tell --------------------------------------------------------------------------------------------------- */

static int wholehost_inspect(const struct node_spec *n, enum node_is *out, struct fail *f)
{
	static const char *const made[] = { "hostkey.pub", "port", "user", "since" };
	struct host_sshd h;
	char path[PATH_MAX];
	int rc = host_sshd(&h, f);

	if (rc)
		return rc;
	*out = host_keys_has(&h, n) ? NODE_RUNNING : NODE_ABSENT;
	for (size_t i = 0; *out == NODE_ABSENT && i < sizeof made / sizeof *made; i++) {
		snprintf(path, sizeof path, "%s/%s", n->dir, made[i]);
		if (access(path, F_OK) == 0)
			*out = NODE_STOPPED;
	}
	return 0;
}

static int wholehost_list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg,
	struct fail *f)
{
	struct host_sshd h;
	int rc = host_sshd(&h, f);

	if (rc)
		return rc;
	process_list(s, found, arg);
	return host_keys_each(&h, s, found, arg, f);
}

static int wholehost_tidy(const struct driver_setup *s, struct fail *f)
{
	(void)s;
	(void)f;
	return 0;
}

const struct driver driver_host = {
	.devices = DEVICES_MACHINE,
	.name = "host",
	.about = "the whole machine, handed over by key; isolates nothing, takes back only keys and sessions",
	.probe = wholehost_probe,
	.create = wholehost_create,
	.start = wholehost_start,
	.rekey = wholehost_rekey,
	.stop = wholehost_stop,
	.destroy = wholehost_destroy,
	.inspect = wholehost_inspect,
	.list = wholehost_list,
	.tidy = wholehost_tidy,
};
