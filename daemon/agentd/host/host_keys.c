/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/host/host_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/process/node_processes.h"
#include "agentd/os/spawn.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"

enum { KEYS_MAX = 4 << 20, ASK_MS = 10000, MARK_ROOM = 128, LINE_ROOM = 256 };

/* ---- How sshd is set up ------------------------------------------------------------------------------ */

/* The value of the n-th line of that name, in room. */
static bool host_keys_setting(const char *all, const char *name, int nth, char *room, size_t size)
{
	size_t len = strlen(name);

	for (const char *p = all; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (strncmp(p, name, len) == 0 && p[len] == ' ' && nth-- == 0) {
			snprintf(room, size, "%.*s", (int)strcspn(p + len + 1, "\n"), p + len + 1);
			return true;
		}
	return false;
}

/* Expands %h, %u and %U for this user; a path that does not begin with '/' is below the home. */
static int host_keys_expand(const char *word, const struct passwd *pw, char room[PATH_MAX], struct fail *f)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, PATH_MAX - 1);
	if (*word != '/' && strncmp(word, "%h", 2) != 0)
		rc = buf_addf(&b, "%s/", pw->pw_dir);
	for (; !rc && *word; word++)
		if (*word != '%')
			rc = buf_addc(&b, *word);
		else if (*++word == 'h')
			rc = buf_adds(&b, pw->pw_dir);
		else if (*word == 'u')
			rc = buf_adds(&b, pw->pw_name);
		else if (*word == 'U')
			rc = buf_addf(&b, "%u", (unsigned)pw->pw_uid);
		else if (*word == '%')
			rc = buf_addc(&b, '%');
		else
			rc = -EINVAL;
	if (!rc)
		snprintf(room, PATH_MAX, "%s", buf_text(&b));
	buf_release(&b);
	return rc ? fail_set(f, -ENOTSUP, "cannot understand sshd's AuthorizedKeysFile: set it to one file") : 0;
}

static int find_hostkey(const char *all, char room[PATH_MAX], struct fail *f)
{
	char line[PATH_MAX - 8];
	struct buf b;
	bool found = false;

	for (int i = 0; !found && host_keys_setting(all, "hostkey", i, line, sizeof line); i++) {
		snprintf(room, PATH_MAX, "%s.pub", line);
		buf_init(&b, KEYS_MAX);
		found = buf_read_file(&b, room) == 0 && str_starts(buf_text(&b), "ssh-ed25519 ");
		buf_release(&b);
	}
	return found ? 0 : fail_set(f, -ENOTSUP, "sshd of this machine has no ed25519 key: 'ssh-keygen -A' makes one");
}

int host_sshd(struct host_sshd *out, struct fail *f)
{
	const char *conf = getenv("NANOPOD_SSHD_CONFIG");
	const struct passwd *pw = getpwuid(geteuid());
	char match[320], files[PATH_MAX], port[32];
	const char *argv[] = { "sshd", "-T", "-C", match, conf ? "-f" : NULL, conf, NULL };
	struct host_sshd h = { .port = 22 };
	struct buf all;
	long number;
	int rc;

	if (!pw)
		return fail_set(f, -ENOTSUP, "user %u has no name on this machine", (unsigned)geteuid());
	snprintf(match, sizeof match, "user=%s,host=localhost,addr=127.0.0.1", pw->pw_name);
	buf_init(&all, KEYS_MAX);
	rc = spawn_run(&(struct spawn){ .argv = argv }, ASK_MS, &all, f);
	if (rc)
		rc = rc == -ENOENT ? fail_set(f, -ENOTSUP, "'sshd' is not installed: apt-get install openssh-server")
				   : -ENOTSUP;
	if (!rc)
		rc = find_hostkey(buf_text(&all), h.hostkey, f);
	if (!rc && !host_keys_setting(buf_text(&all), "authorizedkeysfile", 0, files, sizeof files))
		rc = fail_set(f, -ENOTSUP, "'sshd -T' shows no AuthorizedKeysFile");
	if (!rc) {
		files[strcspn(files, " ")] = '\0';
		rc = strcmp(files, "none") == 0 ? fail_set(f, -ENOTSUP, "sshd of this machine reads no authorized_keys")
						: host_keys_expand(files, pw, h.keys, f);
	}
	if (!rc && host_keys_setting(buf_text(&all), "port", 0, port, sizeof port) &&
		str_to_long(port, 1, 65535, &number) == 0)
		h.port = (unsigned)number;
	buf_release(&all);
	if (!rc)
		*out = h;
	return rc;
}

/* ---- The block ----------------------------------------------------------------------------------------- */

/* The first line of the block carries this if the owner's last line had no newline, so that removal restores it. */
static const char joined[] = "; the line before had no end";

static void host_keys_lines_of(const char *mark, char begin[LINE_ROOM], char end[LINE_ROOM])
{
	snprintf(begin, LINE_ROOM, "# nanopod lease %s: begins", mark);
	snprintf(end, LINE_ROOM, "# nanopod lease %s: ends", mark);
}

/* Adds complete lines, each key with its restrictions: nothing that others supplied may escape them. */
static int host_keys_add_block(struct buf *b, const struct node_spec *n, const char *mark, const char *command)
{
	bool open_end = b->len && b->data[b->len - 1] != '\n';
	char begin[LINE_ROOM], end[LINE_ROOM];
	int rc;

	host_keys_lines_of(mark, begin, end);
	rc = buf_addf(b, "%s%s (by nanopod-agentd; do not edit%s)\n", open_end ? "\n" : "", begin,
		open_end ? joined : "");
	for (const char *p = n->keys; !rc && *p;) {
		int len = (int)strcspn(p, "\n");

		if (len)
			rc = buf_addf(b, "command=\"%s --lease %s\" %.*s\n", command, mark, len, p);
		p += len + (p[len] == '\n');
	}
	return rc ? rc : buf_addf(b, "%s\n", end);
}

/* Copies all but the block. If its end line was edited away, the block ends before the first foreign line. */
static int host_keys_without_block(const char *text, const char *mark, const char *command, struct buf *out)
{
	char begin[LINE_ROOM], end[LINE_ROOM], ours[PATH_MAX + LINE_ROOM];
	bool inside = false, open_end = false;
	int rc = 0;

	host_keys_lines_of(mark, begin, end);
	snprintf(ours, sizeof ours, "command=\"%s --lease %s\" ", command, mark);
	for (const char *p = text, *next; !rc && *p; p = next) {
		next = strchr(p, '\n') ? strchr(p, '\n') + 1 : p + strlen(p);
		if (str_starts(p, begin)) {
			inside = true;
			open_end = memmem(p, (size_t)(next - p), joined, sizeof joined - 1) != NULL;
		} else if (inside && str_starts(p, end)) {
			inside = false;
		} else if (!inside || !str_starts(p, ours)) {
			inside = open_end = false;   /* text was added after the block: keep the newline before it */
			rc = buf_add(out, p, (size_t)(next - p));
		}
	}
	if (!rc && open_end && out->len)
		buf_cut(out, out->len - 1);
	return rc;
}

static int host_keys_read_keys(const struct host_sshd *h, struct buf *b, mode_t *mode, struct fail *f)
{
	struct stat st;
	int rc = buf_read_file(b, h->keys);

	*mode = stat(h->keys, &st) == 0 ? st.st_mode & 07777 : 0600;
	return rc && rc != -ENOENT ? fail_errno(f, rc, -rc, "cannot read '%s'", h->keys) : 0;
}

/* Leases of one machine change this one file at the same time. */
static int lock_keys(const struct driver_setup *s, int *fd, struct fail *f)
{
	char path[PATH_MAX];
	int got;

	snprintf(path, sizeof path, "%s/host.lock", s->data);
	got = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (got < 0 || flock(got, LOCK_EX) != 0) {
		int error = errno;

		if (got >= 0)
			close(got);
		return fail_errno(f, -error, error, "cannot lock '%s'", path);
	}
	*fd = got;
	return 0;
}

int host_keys(const struct host_sshd *h, const struct node_spec *n, const char *command, bool allow, struct fail *f)
{
	char mark[MARK_ROOM];
	struct buf old, fresh;
	int fd = -1, rc;
	mode_t mode;

	process_mark(n, mark, sizeof mark);
	if (!allow && access(h->keys, F_OK) != 0)
		return 0;
	rc = lock_keys(n->setup, &fd, f);
	if (rc)
		return rc;
	file_folders(h->keys);
	buf_init(&old, KEYS_MAX);
	buf_init(&fresh, KEYS_MAX);
	rc = host_keys_read_keys(h, &old, &mode, f);
	if (!rc)
		rc = host_keys_without_block(buf_text(&old), mark, command, &fresh);
	if (!rc && allow)
		rc = host_keys_add_block(&fresh, n, mark, command);
	if (!rc && (old.len != fresh.len || memcmp(buf_text(&old), buf_text(&fresh), old.len) != 0))
		rc = file_replace(h->keys, buf_text(&fresh), fresh.len, mode);
	if (rc && rc != -ENOENT)
		rc = fail_errno(f, rc, -rc, "cannot change '%s'", h->keys);
	buf_release(&old);
	buf_release(&fresh);
	close(fd);
	return rc;
}

/* ---- Looking --------------------------------------------------------------------------------------------- */

struct one {
	const char *id;
	bool found;
};

static void host_keys_compare(void *arg, const char *id)
{
	struct one *one = arg;

	one->found = one->found || strcmp(one->id, id) == 0;
}

bool host_keys_has(const struct host_sshd *h, const struct node_spec *n)
{
	struct one one = { .id = n->id };

	host_keys_each(h, n->setup, host_keys_compare, &one, NULL);
	return one.found;
}

int host_keys_each(const struct host_sshd *h, const struct driver_setup *s, void (*found)(void *arg, const char *id),
	void *arg, struct fail *f)
{
	char begin[64], id[MARK_ROOM];
	struct buf b;
	mode_t mode;
	int rc;

	snprintf(begin, sizeof begin, "# nanopod lease %s-", s->prefix);
	buf_init(&b, KEYS_MAX);
	rc = host_keys_read_keys(h, &b, &mode, f);
	for (const char *p = buf_text(&b); p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (str_starts(p, begin)) {
			const char *from = p + strlen(begin);
			size_t len = strcspn(from, ":\n");

			if (!str_starts(from + len, ": begins"))
				continue;
			snprintf(id, sizeof id, "%.*s", (int)len, from);
			found(arg, id);
		}
	buf_release(&b);
	return rc;
}
