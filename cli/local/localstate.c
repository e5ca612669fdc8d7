/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/local/localstate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/frame/settings.h"

enum { STATE_MAX = 1 << 20, ENTRIES_MAX = 4096, DEPTH_MAX = 64 };

/* ---- Paths ------------------------------------------------------------------------------- */

static char *localstate_below(const char *name)
{
	char *path = settings_local_path(name);

	if (!path)
		command_nomem();
	return path;
}

static void name_all(struct localstate *s)
{
	const struct {
		char **path;
		const char *name;
	} all[] = {
		{ &s->dir, "" },
		{ &s->socket, "market/socket" },
		{ &s->market, "market" },
		{ &s->agent, "agent" },
		{ &s->images, "../images" },
		{ &s->market_log, "market.log" },
		{ &s->agent_log, "agent.log" },
		{ &s->market_pid, "market.pid" },
		{ &s->agent_pid, "agent.pid" },
		{ &s->token, "token" },
		{ &s->config, "config.yaml" },
		{ &s->key, "id_ed25519" },
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i].path = localstate_below(all[i].name);
	/* "x/local/../images" would name the same, but reads worse. */
	free(s->images);
	if (asprintf(&s->images, "%.*s/images", (int)(strrchr(s->dir, '/') - s->dir), s->dir) < 0)
		command_nomem();
}

static int localstate_make_folders(const struct localstate *s, struct fail *f)
{
	const char *folders[] = { s->dir, s->market, s->agent, s->images };
	int rc = file_folders(s->dir);

	for (size_t i = 0; !rc && i < sizeof folders / sizeof *folders; i++)
		if (mkdir(folders[i], 0700) < 0 && errno != EEXIST)
			rc = -errno;
	return rc ? fail_errno(f, rc, -rc, "cannot make '%s'", s->dir) : 0;
}

/* ---- What is kept ------------------------------------------------------------------------ */

static void localstate_put(struct localstate *s, const char *name, size_t len, const char *value)
{
	unsigned i = 0;

	while (i < s->count && (strlen(s->names[i]) != len || strncmp(s->names[i], name, len) != 0))
		i++;
	if (i == s->count) {
		if (i == ENTRIES_MAX)
			return;
		s->names = reallocarray(s->names, i + 1, sizeof *s->names);
		s->values = reallocarray(s->values, i + 1, sizeof *s->values);
		if (!s->names || !s->values || !(s->names[i] = strndup(name, len)))
			command_nomem();
		s->values[i] = NULL;
		s->count++;
	}
	free(s->values[i]);
	s->values[i] = value ? strdup(value) : NULL;
	if (value && !s->values[i])
		command_nomem();
}

static int localstate_read_state(struct localstate *s, struct fail *f)
{
	char *path = localstate_below("state"), *rest, *line, *equals;
	struct buf text;
	int rc;

	buf_init(&text, STATE_MAX);
	rc = buf_read_file(&text, path);
	for (rest = rc ? NULL : text.data; rest && (line = strsep(&rest, "\n"));) {
		equals = strchr(line, '=');
		if (equals)
			localstate_put(s, line, (size_t)(equals - line), equals + 1);
	}
	buf_release(&text);
	rc = rc && rc != -ENOENT ? fail_errno(f, rc, -rc, "cannot read '%s'", path) : 0;
	free(path);
	return rc;
}

static int localstate_write_state(const struct localstate *s, struct fail *f)
{
	char *path = localstate_below("state");
	struct buf text;
	int rc = 0;

	buf_init(&text, STATE_MAX);
	for (unsigned i = 0; !rc && i < s->count; i++)
		if (s->values[i])
			rc = buf_addf(&text, "%s=%s\n", s->names[i], s->values[i]);
	rc = rc ? rc : file_replace(path, buf_text(&text), text.len, 0600);
	buf_release(&text);
	rc = rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
	free(path);
	return rc;
}

const char *localstate_get(const struct localstate *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (strcmp(s->names[i], name) == 0)
			return s->values[i];
	return NULL;
}

long localstate_number(const struct localstate *s, const char *name)
{
	const char *text = localstate_get(s, name);
	long n;

	return text && str_to_long(text, 0, LONG_MAX, &n) == 0 ? n : 0;
}

int localstate_set(struct localstate *s, const char *name, const char *value, struct fail *f)
{
	const char *was = localstate_get(s, name);

	if (was == value || (was && value && strcmp(was, value) == 0))
		return 0;
	localstate_put(s, name, strlen(name), value);
	return localstate_write_state(s, f);
}

int localstate_set_number(struct localstate *s, const char *name, long value, struct fail *f)
{
	char text[32];

	snprintf(text, sizeof text, "%ld", value);
	return localstate_set(s, name, text, f);
}

/* ---- Open and close ---------------------------------------------------------------------- */

static int localstate_check(const struct localstate *s, struct fail *f)
{
	struct stat st;

	if (stat(s->dir, &st) < 0)
		return fail_errno(f, -errno, errno, "cannot read '%s'", s->dir);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return fail_set(f, -EPERM, "cannot trust '%s': it belongs to another user, or others may write there",
			s->dir);
	if (strlen(s->socket) >= sizeof ((struct sockaddr_un *)0)->sun_path)
		return fail_set(f, -ENAMETOOLONG,
			"cannot use '%s': the path is too long for a socket; XDG_DATA_HOME chooses another place",
			s->dir);
	return 0;
}

/* Waits for another `nanopod local`. */
static int localstate_take_lock(struct localstate *s, struct fail *f)
{
	char *path = localstate_below("lock");
	int rc = 0;

	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock >= 0 && s->waits && flock(s->lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		s->waits(s->waits_arg);
	while (s->lock >= 0 && (rc = flock(s->lock, LOCK_EX)) < 0 && errno == EINTR)
		;
	if (s->lock < 0 || rc < 0)
		rc = fail_errno(f, -errno, errno, "cannot lock '%s'", path);
	free(path);
	return rc;
}

int localstate_open(struct localstate *s, bool make, struct fail *f)
{
	char *home = settings_local_path("");
	int rc = 0;

	*s = (struct localstate){ .lock = -1, .waits = s->waits, .waits_arg = s->waits_arg };
	if (!home)
		return fail_set(f, -ENOENT, "no home directory; set HOME or XDG_DATA_HOME");
	free(home);
	name_all(s);
	if (!make && access(s->dir, F_OK) < 0)
		return 1;
	rc = make ? localstate_make_folders(s, f) : 0;
	rc = rc ? rc : localstate_check(s, f);
	rc = rc ? rc : localstate_take_lock(s, f);
	return rc ? rc : localstate_read_state(s, f);
}

void localstate_close(struct localstate *s)
{
	char **paths[] = { &s->dir, &s->socket, &s->market, &s->agent, &s->images, &s->market_log, &s->agent_log,
		&s->market_pid, &s->agent_pid, &s->token, &s->config, &s->key };

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		free(*paths[i]);
	for (unsigned i = 0; i < s->count; i++) {
		free(s->names[i]);
		free(s->values[i]);
	}
	free(s->names);
	free(s->values);
	if (s->lock >= 0)
		close(s->lock);
	*s = (struct localstate){ .lock = -1 };
}

/* ---- Wiping ------------------------------------------------------------------------------ */

/* Removes what is in the folder, without following links or leaving its file system. */
static int localstate_wipe_folder(int fd, dev_t device, int depth)
{
	DIR *d = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	struct dirent *e;
	int rc = 0;

	if (!d) {
		close(fd);
		return -ELOOP;
	}
	while ((e = readdir(d))) {
		struct stat st;
		int below_fd;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) == 0 || errno == ENOENT)
			continue;
		if (fchmodat(dirfd(d), e->d_name, 0700, 0) < 0 && errno == ENOENT)
			continue;
		below_fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below_fd < 0 || fstat(below_fd, &st) < 0 || st.st_dev != device) {
			rc = below_fd < 0 ? -errno : -EBUSY;
			if (below_fd >= 0)
				close(below_fd);
			continue;
		}
		rc = localstate_wipe_folder(below_fd, device, depth + 1) ? -EBUSY : rc;
		if (unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) < 0)
			rc = -errno;
	}
	closedir(d);
	return rc;
}

int localstate_wipe(struct localstate *s, struct fail *f)
{
	int fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(f, -errno, errno, "cannot read '%s'", s->dir);
	rc = localstate_wipe_folder(fd, st.st_dev, 0);
	if (!rc && rmdir(s->dir) < 0)
		rc = -errno;
	return rc ? fail_errno(f, rc, -rc, "cannot remove everything in '%s'", s->dir) : 0;
}
