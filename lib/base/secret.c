/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Others can read it. What root lends a service for reading (by systemd's LoadCredential, or a group) is closed: only
 * root chose who is in that group.
 */
static bool secret_open(const struct stat *st)
{
	return st->st_mode & (st->st_uid == 0 && geteuid() != 0 ? 037 : 077);
}

int secret_read(struct buf *text, const char *path, size_t max, struct fail *f)
{
	struct stat st;
	int rc;

	buf_init(text, max);
	if (stat(path, &st) == 0 && secret_open(&st))
		return fail_set(f, -EPERM, "other users can read '%s'; close it with 'chmod 600 %s'", path, path);
	rc = buf_read_file(text, path);
	return rc ? fail_errno(f, rc, -rc, "cannot read the secret '%s'", path) : 0;
}

void secret_wipe(struct buf *text)
{
	if (text->data)
		explicit_bzero(text->data, text->cap);
	buf_release(text);
}
