/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/proxy/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/kept.h"

enum { SPOOL_WAITING = 16 << 20 };

static int spool_read(struct spool *s, int (*take)(void *, const json_t *), void *arg, struct fail *f)
{
	int fd = dup(s->fd);
	FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int rc = 0;

	if (!in)
		return fail_errno(f, -errno, errno, "cannot read '%s'", s->path);
	while (rc == 0 && (n = getline(&line, &room, in)) > 0 && line[n - 1] == '\n') {
		json_t *event = json_loadb(line, (size_t)n, 0, NULL);

		s->good += n;
		rc = event ? take(arg, event) : 0; /* a line that a person broke hides no other */
		json_decref(event);
	}
	free(line);
	if (fclose(in) != 0 && rc == 0)
		rc = -EIO;
	return rc ? fail_errno(f, rc, -rc, "cannot read '%s'", s->path) : 0;
}

int spool_open(struct spool *s, const char *path, int (*take)(void *arg, const json_t *event), void *arg,
	struct fail *f)
{
	int rc;

	*s = (struct spool){ .fd = -1, .lock = -1, .path = path };
	buf_init(&s->lines, SPOOL_WAITING);
	rc = kept_lock(path, "another gateway writes", &s->lock, f);
	if (rc)
		return rc;
	s->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (s->fd < 0)
		return fail_errno(f, -errno, errno, "cannot open '%s'", path);
	rc = spool_read(s, take, arg, f);
	if (rc)
		return rc;
	if (ftruncate(s->fd, s->good) != 0 || fsync(s->fd) != 0 || file_sync_folder(path) != 0)
		return fail_errno(f, -EIO, errno, "cannot write '%s'", path);
	return 0;
}

void spool_close(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->lock >= 0)
		close(s->lock);
	buf_release(&s->lines);
}

int spool_add(struct spool *s, const json_t *event)
{
	char *line = json_dumps(event, JSON_COMPACT);
	size_t len = s->lines.len;
	int rc = line ? buf_adds(&s->lines, line) : -ENOMEM;

	rc = rc ? rc : buf_addc(&s->lines, '\n');
	if (rc)
		buf_cut(&s->lines, len);
	free(line);
	return rc;
}

int spool_sync(struct spool *s, struct fail *f)
{
	int rc = 0;

	if (!s->lines.len)
		return 0;
	if (s->sick && ftruncate(s->fd, s->good) != 0) /* what the last try left of a line */
		rc = -errno;
	rc = rc ? rc : file_write(s->fd, s->lines.data, s->lines.len);
	if (rc == 0 && fdatasync(s->fd) != 0)
		rc = -errno;
	s->sick = rc != 0;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", s->path);
	s->good += (off_t)s->lines.len;
	buf_clear(&s->lines);
	return 0;
}
