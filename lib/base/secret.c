/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int secret_read(struct buf *text, const char *path, size_t max, struct fail *f)
{
	struct stat st;
	int rc;

	buf_init(text, max);
	if (stat(path, &st) == 0 && (st.st_mode & 077))
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
