/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/tokenfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
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

/* Whoever can read the file has the token. */
static int check_file(const char *path, int fd, struct fail *f)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(f, -EIO, errno, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return fail_set(f, -EINVAL, "cannot read '%s': not a regular file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return fail_set(f, -EPERM,
			"cannot trust '%s': it belongs to somebody else; run 'sudo chown \"$USER\" %s'", path, path);
	if (st.st_mode & 077)
		return fail_set(f, -EPERM, "cannot trust '%s': others may read or write it; run 'chmod 600 %s'", path,
			path);
	return 0;
}

static int tokenfile_read_file(const char *path, int fd, char **token, struct fail *f)
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
	rc = tokenfile_read_file(path, fd, token, f);
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
	rc = fd < 0 ? fail_errno(f, -errno, errno, "cannot read '%s'", path) : tokenfile_read_file(path, fd, token, f);
	if (!rc && asprintf(where, "'%s'", path) < 0)
		rc = fail_set(f, -ENOMEM, "out of memory");
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

int token_write(const char *path, const char *token, struct fail *f)
{
	char *line = NULL;
	int rc = file_folders(path), len = asprintf(&line, "%s\n", token);

	if (len < 0)
		return fail_set(f, -ENOMEM, "out of memory");
	rc = rc ? rc : file_replace(path, line, (size_t)len, 0600);
	explicit_bzero(line, (size_t)len);
	free(line);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}
