/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for files of hosts without a local file: they check arguments and pass them on. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pssh/entry.h"
#include "pssh/pssh.h"

enum { LIMIT = 1 << 20 };

static int check_remote(struct pssh *p, const char *remote)
{
	if (!remote || !*remote)
		return entry_refuse(p, "the remote path is missing");
	if (remote[0] == '~' && remote[1] && remote[1] != '/')
		return fail_set(&p->why, PSSH_EUNSUPPORTED, "'%s': another user's home is unknown; give the full path",
			remote);
	return strlen(remote) > SFTP_PATH ? entry_refuse(p, "the remote path is too long") : 0;
}

static int new_look(struct pssh *p, enum look_what what, const char *remote, size_t limit, struct pssh_task **out)
{
	struct pssh_task *t;
	int rc = check_remote(p, remote);

	if (!rc)
		rc = entry_task_new(p, TASK_LOOK, &t);
	if (rc)
		return rc;
	t->look = what;
	t->limit = limit;
	rc = entry_set_text(p, &t->remote, remote);
	if (rc)
		task_free(t);
	else
		*out = t;
	return rc;
}

int pssh_stat(struct pssh *p, const char *remote, struct pssh_task **out)
{
	return new_look(p, LOOK_STAT, remote, 0, out);
}

int pssh_read_dir(struct pssh *p, const char *remote, struct pssh_task **out)
{
	return new_look(p, LOOK_DIR, remote, 0, out);
}

int pssh_get_data(struct pssh *p, const char *remote, size_t limit, struct pssh_task **out)
{
	return new_look(p, LOOK_DATA, remote, limit ? limit : LIMIT, out);
}

/* A file without a name that holds the data. */
static int make_file(struct pssh *p, const void *data, size_t len, unsigned mode, int *out)
{
	int fd = memfd_create("data", MFD_CLOEXEC);
	size_t at = 0;
	ssize_t n = 0;

	while (fd >= 0 && at < len && (n = write(fd, (const char *)data + at, len - at)) > 0)
		at += (size_t)n;
	if (fd < 0 || at < len || fchmod(fd, mode) != 0) {
		int err = errno;

		if (fd >= 0)
			close(fd);
		return fail_errno(&p->why, PSSH_ELOCAL, err, "cannot keep the data");
	}
	*out = fd;
	return 0;
}

int pssh_put_data(struct pssh *p, const void *data, size_t len, const char *remote, unsigned mode,
	struct pssh_task **out)
{
	char path[64];
	int fd = -1, rc = check_remote(p, remote);

	if (!rc && (mode > 0777 || remote[strlen(remote) - 1] == '/'))
		rc = entry_refuse(p, "data need the path of a file, and a mode of at most 0777");
	if (!rc)
		rc = make_file(p, data, len, mode | 0400, &fd);
	if (rc)
		return rc;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	rc = pssh_put(p, path, remote, 0, out);
	if (rc)
		close(fd);
	else
		(*out)->data_fd = fd;
	return rc;
}
