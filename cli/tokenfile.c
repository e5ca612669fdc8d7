/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/tokenfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

char *token_path(const struct settings *s)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *profile = settings_profile(s);
	const char *set = settings_text(s, SETTING_ID_TOKEN_FILE);
	char *folder, *path = NULL;

	if (set)
		return strdup(set);
	folder = xdg && *xdg == '/' ? strdup(xdg) : str_expand_home("~/.config");
	if (folder && asprintf(&path, "%s/nanopod/token%s%s", folder, profile ? "-" : "", profile ? profile : "") < 0)
		path = NULL;
	free(folder);
	return path;
}

void token_free(char *token)
{
	if (token)
		explicit_bzero(token, strlen(token));
	free(token);
}

int token_read_fd(int fd, const char *name, char **token, struct fail *f)
{
	char *text = calloc(1, TOKEN_BYTES + 2);
	size_t len = 0;
	ssize_t n = 1;

	while (text && n > 0 && len < TOKEN_BYTES + 1) {
		n = read(fd, text + len, TOKEN_BYTES + 1 - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	while (text && len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	if (text && n >= 0 && len > 0 && len <= TOKEN_BYTES && strlen(text) == len) {
		*token = text;
		return 0;
	}
	token_free(text);
	if (!text)
		return fail_set(f, -ENOMEM, "out of memory");
	if (n < 0)
		return fail_errno(f, -EIO, errno, "cannot read the token from %s", name);
	return fail_set(f, -EINVAL, "%s %s", name, len ? "is not a token: it is too long, or not text" : "is empty");
}

/* A token that others can read is one that others have. */
static int check_file(const char *path, int fd, struct fail *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(f, -EIO, errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return fail_set(f, -EINVAL, "cannot read '%s': not a regular file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return fail_set(f, -EPERM, "cannot trust '%s': it belongs to somebody else; 'sudo chown \"$USER\" %s' mends it", path, path);
	if (st.st_mode & 077)
		return fail_set(f, -EPERM, "cannot trust '%s': others may read or write it; 'chmod 600 %s' mends it", path, path);
	return 0;
}

static int read_file(const char *path, int fd, char **token, struct fail *f)
{
	char name[PATH_MAX + 3];
	int rc = check_file(path, fd, f);

	snprintf(name, sizeof name, "'%s'", path);
	return rc ? rc : token_read_fd(fd, name, token, f);
}

int token_read_file(const char *path, char **token, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), rc;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot read '%s'", path);
	rc = read_file(path, fd, token, f);
	close(fd);
	return rc;
}

int token_find(const struct settings *s, char **token, char **where, struct fail *f)
{
	const char *env = getenv("NANOPOD_TOKEN");
	char *path;
	int fd, rc;

	if (env && *env) {
		*token = strdup(env);
		*where = strdup("NANOPOD_TOKEN");
		return *token && *where ? 0 : fail_set(f, -ENOMEM, "out of memory");
	}
	path = token_path(s);
	if (!path)
		return fail_set(f, -ENOENT, "cannot find your settings: HOME is not set");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR) && !settings_text(s, SETTING_ID_TOKEN_FILE)) {
		free(path);
		return 1;
	}
	rc = fd < 0 ? fail_errno(f, -errno, errno, "cannot read '%s'", path) : read_file(path, fd, token, f);
	if (!rc && asprintf(where, "'%s'", path) < 0)
		rc = fail_set(f, -ENOMEM, "out of memory");
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

/* The folders above path, each for this user alone. */
static int make_folders(const char *path)
{
	char folder[PATH_MAX];

	if (strlen(path) >= sizeof folder)
		return -ENAMETOOLONG;
	memcpy(folder, path, strlen(path) + 1);
	for (char *p = strchr(folder + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(folder, 0700) < 0 && errno != EEXIST)
			return -errno;
		*p = '/';
	}
	return 0;
}

static int write_text(int fd, const char *text)
{
	for (size_t len = strlen(text); len > 0;) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int token_write(const char *path, const char *token, struct fail *f)
{
	char temporary[PATH_MAX];
	int rc = make_folders(path), fd = -1;

	if (!rc && snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
		rc = -ENAMETOOLONG;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", path);
	fd = mkostemp(temporary, O_CLOEXEC); /* made with 0600 */
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", path);
	rc = write_text(fd, token);
	rc = rc ? rc : write_text(fd, "\n");
	if (!rc && fsync(fd) < 0)
		rc = -errno;
	if (close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc && rename(temporary, path) < 0)
		rc = -errno;
	if (!rc)
		return 0;
	unlink(temporary);
	return fail_errno(f, rc, -rc, "cannot write '%s'", path);
}
