/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a node's folder: written atomically, with the node's own owners; and removed, however deep. */
#include "agentd/ns/ns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/wipe.h"
#include "base/file.h"

int ns_path(const struct node_spec *n, const char *name, char room[static NS_PATH], struct fail *f)
{
	if (snprintf(room, NS_PATH, "%s/%s", n->dir, name) >= NS_PATH)
		return fail_set(f, -ENAMETOOLONG, "the path of the folder '%s' is too long", n->dir);
	if (strpbrk(room, ":,\\\n\""))
		return fail_set(f, -EINVAL,
			"the folder '%s' cannot be mounted: its path has ':', ',', '\\' or '\"' in it", n->dir);
	return 0;
}

int ns_folder(const char *path, mode_t mode, uid_t owner, struct fail *f)
{
	int fd = mkdir(path, mode) == 0 || errno == EEXIST ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
							   : -1;
	int rc = fd >= 0 && fchmod(fd, mode) == 0 && fchown(fd, owner, owner) == 0 ? 0 : errno;

	if (fd >= 0)
		close(fd);
	return rc ? fail_errno(f, -rc, rc, "cannot make the folder '%s'", path) : 0;
}

static int node_files_put(int fd, const char *text, mode_t mode, uid_t owner)
{
	int rc = file_write(fd, text, strlen(text));

	if (rc)
		return rc;
	return fchown(fd, owner, owner) == 0 && fchmod(fd, mode) == 0 && fsync(fd) == 0 ? 0 : -errno;
}

int ns_write(const char *path, const char *text, mode_t mode, uid_t owner, struct fail *f)
{
	char fresh[NS_PATH + 8];
	int fd, rc;

	snprintf(fresh, sizeof fresh, "%s.new", path);
	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", path);
	rc = node_files_put(fd, text, mode, owner);
	close(fd);
	if (!rc && rename(fresh, path) != 0)
		rc = -errno;
	if (rc)
		unlink(fresh);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

/* ---- Removing ------------------------------------------------------------------------------- */

int ns_empty(const char *folder, const char *const *keep, struct fail *f)
{
	return wipe_folder(folder, keep, f);   /* however deep tenants nest their folders */
}
