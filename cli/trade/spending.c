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
#include "market/money.h"

enum { TEXT_MAX = 4096 };

void spending_init(struct spending *s)
{
	*s = (struct spending){ .lock = -1 };
}

void spending_close(struct spending *s)
{
	if (s->lock >= 0)
		close(s->lock);
	free(s->path);
	free(s->key);
	spending_init(s);
}

/* Beside the folder of unfinished purchases. malloc'd. */
static char *spending_path(const char *key)
{
	const char *xdg = getenv("XDG_STATE_HOME");
	uint64_t name = hash_more(HASH_BEGIN, key, strlen(key));
	char *folder = NULL, *path = NULL;

	if (!xdg || *xdg != '/')
		folder = str_expand_home("~/.local/state");
	else
		folder = strdup(xdg);
	if (!folder || asprintf(&path, "%s/nanopod/extended/%016" PRIx64, folder, name) < 0)
		path = NULL;
	free(folder);
	return path;
}

/* The lock is a file of its own, as each sum replaces the file that it is in. */
static int spending_lock(struct spending *s, struct fail *f)
{
	char *path;
	int rc = file_folders(s->path);

	if (!rc && asprintf(&path, "%s.lock", s->path) < 0)
		rc = -ENOMEM;
	if (rc)
		return fail_errno(f, rc, -rc, "cannot make '%s'", s->path);
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	rc = s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
	if (rc && rc != -EWOULDBLOCK)
		fail_errno(f, rc, -rc, "cannot lock '%s'", path);
	free(path);
	return rc == -EWOULDBLOCK ? fail_set(f, -EBUSY, "another command extends it already") : rc;
}

/* "nanopod-spending 1", then a line each: key, spent, order. */
static int spending_parse(struct spending *s, char *text)
{
	char *at = NULL;
	const char *heading = strtok_r(text, "\n", &at), *key = strtok_r(NULL, "\n", &at),
		   *spent = strtok_r(NULL, "\n", &at), *order = strtok_r(NULL, "\n", &at);

	if (!order || strcmp(heading, "nanopod-spending 1") != 0 || !str_starts(key, "key ") ||
		strcmp(key + 4, s->key) != 0 || !str_starts(spent, "spent ") || !str_starts(order, "order ") ||
		strlen(order + 6) >= sizeof s->order)
		return -EINVAL;
	snprintf(s->order, sizeof s->order, "%s", order + 6);
	return money_parse_wire(spent + 6, false, &s->micros);
}

static int spending_read(struct spending *s, struct fail *f)
{
	int fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc;
	struct buf text;

	if (fd < 0 && errno == ENOENT)
		return 0;
	buf_init(&text, TEXT_MAX);
	rc = fd < 0 ? -errno : buf_read_fd(&text, fd);
	if (!rc && (!text.len || spending_parse(s, text.data)))
		rc = -EINVAL;
	buf_release(&text);
	if (fd >= 0)
		close(fd);
	if (rc)
		return fail_set(f, rc, "'%s' does not say what was spent; remove it to count from $0.00", s->path);
	return 0;
}

int spending_open(struct spending *s, const char *key, bool hold, struct fail *f)
{
	int rc;

	s->key = strdup(key);
	s->path = spending_path(key);
	if (!s->key || !s->path)
		return fail_set(f, -ENOMEM, "cannot find your state folder: HOME is not set");
	rc = hold ? spending_lock(s, f) : 0;
	return rc ? rc : spending_read(s, f);
}

static int spending_write(struct spending *s, int64_t micros, const char *order, struct fail *f)
{
	char money[MONEY_TEXT];
	struct buf text;
	int rc;

	buf_init(&text, TEXT_MAX);
	rc = buf_addf(&text, "nanopod-spending 1\nkey %s\nspent %s\norder %s\n", s->key, money_wire(micros, money),
		order);
	rc = rc ? rc : file_replace(s->path, text.data, text.len, 0600);
	buf_release(&text);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot write '%s'", s->path);
	s->micros = micros;
	snprintf(s->order, sizeof s->order, "%s", order);
	return 0;
}

int spending_add(struct spending *s, const char *order, int64_t micros, struct fail *f)
{
	char copy[sizeof s->order];
	int64_t sum;

	if (strcmp(order, s->order) == 0)
		return 0;
	snprintf(copy, sizeof copy, "%s", order);
	if (money_add(s->micros, micros, &sum))
		return fail_set(f, -ERANGE, "the sum is too large");
	return spending_write(s, sum, copy, f);
}

int spending_reset(struct spending *s, struct fail *f)
{
	char last[sizeof s->order];

	snprintf(last, sizeof last, "%s", *s->order ? s->order : "-");
	return spending_write(s, 0, last, f);
}

void spending_forget(struct spending *s)
{
	char *lock;

	unlink(s->path);
	if (s->lock >= 0 && asprintf(&lock, "%s.lock", s->path) >= 0) {
		unlink(lock);
		free(lock);
	}
}
