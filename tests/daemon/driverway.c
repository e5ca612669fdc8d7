/* SPDX-License-Identifier: Apache-2.0 */
#include "driverway.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agentd/os/spawn.h"
#include "base/clock.h"
#include "base/file.h"

#include "../lib/tap.h"

static void must(bool good, const char *what)
{
	if (!good) {
		diag("the test itself cannot go on: %s", what);
		exit(99);
	}
}

unsigned way_random(unsigned below)
{
	unsigned r = 0;

	must(getrandom(&r, sizeof r, 0) == sizeof r, "random");
	return r % below;
}

static void read_text(const char *path, char *room, size_t size)
{
	struct buf b;

	buf_init(&b, WAY_TEXT);
	must(buf_read_file(&b, path) == 0 && b.len < size, path);
	memcpy(room, buf_text(&b), b.len + 1);
	buf_release(&b);
}

void way_init(struct way *w, const struct driver *d)
{
	const char *tmp = getenv("TMP"), *images = getenv("NANOPOD_TEST_IMAGES"), *at = getenv("NANOPOD_TEST_LISTEN");
	char path[300];

	*w = (struct way){ .d = d };
	must(tmp && strlen(tmp) < sizeof w->tmp, "TMP is not set");
	snprintf(w->tmp, sizeof w->tmp, "%s", tmp);
	snprintf(w->data, sizeof w->data, "%s/agent", tmp);
	snprintf(w->images, sizeof w->images, "%s%s", images ? images : w->data, images ? "" : "/images");
	snprintf(w->prefix, sizeof w->prefix, "t%06x", way_random(1U << 24));
	snprintf(w->listen, sizeof w->listen, "127.%u.%u.%u", 2 + way_random(250), 1 + way_random(250),
		1 + way_random(250));
	if (at)
		snprintf(w->listen, sizeof w->listen, "%s", at);
	w->setup = (struct driver_setup){ .data = w->data,
		.images = w->images,
		.prefix = w->prefix,
		.listen = w->listen,
		.first_port = 20000 + way_random(10000) };
	snprintf(path, sizeof path, "%s/nodes/", w->data);
	must(file_folders(path) == 0, "folders");
	snprintf(path, sizeof path, "%s/secret", w->data);
	must(file_replace(path, "of the agent\n", 13, 0600) == 0, "secret");
	for (int i = 0; i < 2; i++) {
		snprintf(w->key[i], sizeof w->key[i], "%s/person%d", tmp, i);
		must(spawn_words(60000, NULL, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "person", "-f",
			     w->key[i], (char *)NULL) == 0,
			"ssh-keygen");
		snprintf(path, sizeof path, "%s.pub", w->key[i]);
		read_text(path, w->public[i], sizeof w->public[i]);
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	buf_init(&w->before, WAY_TEXT);
	way_picture(w, &w->before);
}

void way_release(struct way *w)
{
	buf_release(&w->before);
}

void one_keys(struct one *o, const struct way *w, int person)
{
	snprintf(o->keys, sizeof o->keys, "%s", w->public[person]);
	o->n.keys = o->keys;
}

void one_init(struct one *o, struct way *w, unsigned slot, const char *tenant, int person)
{
	char path[400];

	*o = (struct one){ 0 };
	snprintf(o->id, sizeof o->id, "inst_%s%u", w->prefix, slot);
	snprintf(o->name, sizeof o->name, "node-%u", slot);
	snprintf(o->dir, sizeof o->dir, "%s/nodes/%s", w->data, o->id);
	snprintf(o->known, sizeof o->known, "%s/known.%u", w->tmp, slot);
	o->n = (struct node_spec){ .setup = &w->setup,
		.id = o->id,
		.name = o->name,
		.dir = o->dir,
		.tenant = tenant,
		.slot = slot,
		.port = w->setup.first_port + slot };
	one_keys(o, w, person);
	must(mkdir(o->dir, 0700) == 0 || errno == EEXIST, o->dir);
	snprintf(path, sizeof path, "%s/node.json", o->dir);
	must(file_replace(path, "{}\n", 3, 0600) == 0, path);
	snprintf(path, sizeof path, "%s/lock", o->dir);
	must(file_replace(path, "", 0, 0600) == 0, path);
}

int one_up(struct way *w, struct one *o)
{
	struct fail f = { 0 };
	int rc = w->d->create(&o->n, &f);

	if (!rc)
		rc = w->d->start(&o->n, &f);
	if (rc)
		diag("%s: %s", o->id, f.text);
	return rc ? -1 : 0;
}

enum node_is one_is(struct way *w, struct one *o)
{
	enum node_is is = NODE_ABSENT;
	struct fail f = { 0 };

	if (w->d->inspect(&o->n, &is, &f))
		diag("inspect: %s", f.text);
	return is;
}

/* ---- SSH ------------------------------------------------------------------------------------------------ */

static unsigned port_of(const struct one *o)
{
	char path[400];
	struct buf b;
	unsigned port = o->n.port;

	snprintf(path, sizeof path, "%s/port", o->dir);
	buf_init(&b, 100);
	if (buf_read_file(&b, path) == 0)
		port = (unsigned)strtoul(buf_text(&b), NULL, 10);
	buf_release(&b);
	return port;
}

static int ssh(const struct way *w, const struct one *o, int person, const char *hostkey, const char *command,
	struct buf *out)
{
	char line[800], port[16], user[80], path[400], to[160], known[420];
	const char *const argv[] = { "ssh", "-F", "/dev/null", "-n", "-i", w->key[person], "-o", "IdentitiesOnly=yes",
		"-o", "IdentityAgent=none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o",
		"GlobalKnownHostsFile=/dev/null", "-o", known, "-o", "ConnectTimeout=30", "-o", "LogLevel=ERROR", "-p",
		port, to, command, NULL };
	struct fail f = { 0 };
	int rc;

	snprintf(port, sizeof port, "%u", port_of(o));
	snprintf(path, sizeof path, "%s/user", o->dir);
	if (access(path, F_OK) != 0)
		return -ENOENT;
	read_text(path, user, sizeof user);
	user[strcspn(user, "\n")] = '\0';
	snprintf(to, sizeof to, "%s@%s", user, w->setup.listen);
	snprintf(line, sizeof line, "[%s]:%s %.600s\n", w->setup.listen, port, hostkey);
	snprintf(known, sizeof known, "UserKnownHostsFile=%s", o->known);
	must(file_replace(o->known, line, strlen(line), 0600) == 0, o->known);
	rc = spawn_run(&(struct spawn){ .argv = argv }, WAY_SSH_MS, out, &f);
	way_reap();
	return rc;
}

int one_ssh(const struct way *w, const struct one *o, int person, const char *command, struct buf *out)
{
	char path[400], key[600];

	if (out)
		buf_clear(out);
	snprintf(path, sizeof path, "%s/hostkey.pub", o->dir);
	if (access(path, F_OK) != 0)
		return -ENOENT;
	read_text(path, key, sizeof key);
	return ssh(w, o, person, key, command, out);
}

int one_ssh_wrong(const struct way *w, const struct one *o, const char *command)
{
	return ssh(w, o, 0, w->public[1], command, NULL);
}

static void nap(void)
{
	const struct timespec ts = { .tv_nsec = 30000000 };

	nanosleep(&ts, NULL);
	way_reap();
}

int one_wait(const struct way *w, const struct one *o, int person, int64_t ms)
{
	for (int64_t until = clock_ms() + ms; clock_ms() < until; nap())
		if (one_ssh(w, o, person, "true", NULL) == 0)
			return 0;
	return -ETIMEDOUT;
}

int way_wait_text(const char *path, const char *text, int64_t ms)
{
	for (int64_t until = clock_ms() + ms; clock_ms() < until; nap()) {
		struct buf b;
		bool found;

		buf_init(&b, WAY_TEXT);
		found = buf_read_file(&b, path) == 0 && strstr(buf_text(&b), text);
		buf_release(&b);
		if (found)
			return 0;
	}
	return -ETIMEDOUT;
}

pid_t way_wait_sleeper(const char *text, int64_t ms)
{
	int64_t until = clock_ms() + ms;
	pid_t pid;

	while (!(pid = way_sleeper(text)) && clock_ms() < until)
		nap();
	return pid;
}

int way_wait_is(struct way *w, struct one *o, enum node_is is, int64_t ms)
{
	for (int64_t until = clock_ms() + ms; clock_ms() < until; nap())
		if (one_is(w, o) == is)
			return 0;
	return -ETIMEDOUT;
}

int way_clean(const struct way *w, int64_t ms)
{
	int64_t until = clock_ms() + ms;
	struct buf now;
	bool same;

	buf_init(&now, WAY_TEXT);
	do {
		nap();
		buf_clear(&now);
		way_picture(w, &now);
		same = strcmp(buf_text(&now), buf_text(&w->before)) == 0;
	} while (!same && clock_ms() < until);
	if (!same)
		diag("left: %.900s", buf_text(&now));
	buf_release(&now);
	return same ? 0 : -1;
}

static void note(void *arg, const char *id)
{
	struct buf *b = arg;

	buf_addf(b, " %s ", id);
}

bool way_lists(struct way *w, const char *id)
{
	struct fail f = { 0 };
	char word[80];
	struct buf b;
	bool has;

	buf_init(&b, WAY_TEXT);
	if (w->d->list(&w->setup, note, &b, &f))
		diag("list: %s", f.text);
	snprintf(word, sizeof word, " %s ", id);
	has = strstr(buf_text(&b), word) != NULL;
	buf_release(&b);
	return has;
}

/* Orphans that this process inherited because their parent ended. */
void way_reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

int way_listen(unsigned *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 64) != 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&at, &len) != 0)
		return -1;
	*port = ntohs(at.sin_port);
	return fd;
}

int64_t way_times_ms(const char *times)
{
	const char *line = strchr(times, '\n');
	unsigned um, sm;
	double us, ss;

	if (!line || sscanf(line + 1, "%um%lfs %um%lfs", &um, &us, &sm, &ss) != 4)
		return -1;
	return (int64_t)((um + sm) * 60000 + (us + ss) * 1000);
}
