/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/file.h"
#include "base/str.h"

char *kept_path(const char *fmt, ...)
{
	const char *xdg = getenv("XDG_STATE_HOME");
	char *folder = xdg && *xdg == '/' ? strdup(xdg) : str_expand_home("~/.local/state");
	char *inside = NULL, *path = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&inside, fmt, ap) < 0)
		inside = NULL;
	va_end(ap);
	if (!folder || !inside || asprintf(&path, "%s/nanopod/%s", folder, inside) < 0)
		path = NULL;
	free(folder);
	free(inside);
	return path;
}

int kept_lock(const char *path, const char *busy, int *lock, struct fail *f)
{
	char *beside;
	int rc = file_folders(path);

	if (rc)
		return fail_errno(f, rc, -rc, "cannot make the folder of '%s'", path);
	if (asprintf(&beside, "%s.lock", path) < 0)
		return fail_set(f, -ENOMEM, "out of memory");
	*lock = open(beside, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*lock < 0)
		rc = fail_errno(f, -errno, errno, "cannot open '%s'", beside);
	else if (flock(*lock, LOCK_EX | LOCK_NB) < 0)
		rc = fail_set(f, -EBUSY, "%s '%s'", busy, path);
	free(beside);
	return rc;
}
