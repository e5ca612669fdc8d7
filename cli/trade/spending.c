/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/spending.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/str.h"
#include "base/kept.h"
#include "market/money.h"

enum { TEXT_MAX = 4096 };

void spending_init(struct spending *s)
{
	*s = (struct spending){ .fd = -1 };
}

void spending_close(struct spending *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s->key);
	spending_init(s);
}

/* Beside the folder of unfinished purchases. malloc'd. */
static char *spending_path(const char *key)
{
	return kept_path("extended/%016" PRIx64, hash_more(HASH_BEGIN, key, strlen(key)));
}

/* "nanopod-extended 1", then a line each: key, what it had cost before. */
static int spending_parse(struct spending *s, char *text)
{
	char *at = NULL;
	const char *heading = strtok_r(text, "\n", &at), *key = strtok_r(NULL, "\n", &at),
		   *before = strtok_r(NULL, "\n", &at);

	if (!before || strcmp(heading, "nanopod-extended 1") != 0 || !str_starts(key, "key ") ||
		strcmp(key + 4, s->key) != 0 || !str_starts(before, "before "))
		return -EINVAL;
	return money_parse_wire(before + 7, false, &s->before);
}

/* Opening it makes an empty file: then nothing was bought yet. */
static int spending_read(struct spending *s, struct fail *f)
{
	struct buf text;
	int rc;

	buf_init(&text, TEXT_MAX);
	rc = buf_read_fd(&text, s->fd);
	s->begun = !rc && text.len;
	if (s->begun)
		rc = text.data[text.len - 1] == '\n' ? spending_parse(s, text.data) : -EINVAL;
	buf_release(&text);
	if (rc)
		return fail_set(f, rc, "'%s' does not say when the budget began; remove it to count from $0.00",
			s->path);
	return 0;
}

int spending_open(struct spending *s, const char *key, bool hold, struct fail *f)
{
	int rc = 0;

	s->key = strdup(key);
	s->path = spending_path(key);
	if (!s->key || !s->path)
		return fail_set(f, -ENOMEM, "cannot find your state folder: HOME is not set");
	if (hold)
		rc = file_folders(s->path);
	if (!rc)
		s->fd = open(s->path, O_CLOEXEC | O_NOFOLLOW | (hold ? O_RDWR | O_CREAT : O_RDONLY), 0600);
	if (!rc && s->fd < 0 && errno == ENOENT && !hold)
		return 0;
	if (rc || s->fd < 0)
		return fail_errno(f, rc ? rc : -errno, rc ? -rc : errno, "cannot open '%s'", s->path);
	if (hold && flock(s->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? fail_set(f, -EBUSY, "another command extends it already")
					    : fail_errno(f, -errno, errno, "cannot lock '%s'", s->path);
	return spending_read(s, f);
}

int spending_begin(struct spending *s, int64_t before, struct fail *f)
{
	char money[MONEY_TEXT];
	struct buf text;
	int rc;

	if (s->begun)
		return 0;
	buf_init(&text, TEXT_MAX);
	rc = buf_addf(&text, "nanopod-extended 1\nkey %s\nbefore %s\n", s->key, money_wire(before, money));
	if (!rc && (ftruncate(s->fd, 0) < 0 || lseek(s->fd, 0, SEEK_SET) < 0))
		rc = -errno;
	rc = rc ? rc : file_write(s->fd, buf_text(&text), text.len);
	if (!rc && fsync(s->fd) < 0)
		rc = -errno;
	rc = rc ? rc : file_sync_folder(s->path);
	buf_release(&text);
	if (rc && ftruncate(s->fd, 0) < 0)
		rc = -errno;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s', so nothing is extended", s->path);
	s->begun = true;
	s->before = before;
	return 0;
}
