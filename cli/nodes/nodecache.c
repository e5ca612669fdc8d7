/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/nodes/nodecache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "cli/frame/remember.h"
#include "cli/frame/settings.h"
#include "cli/trade/tokenfile.h"

#define FIRST_LINE "nanopod nodes 1"

/* A node without an end is believed for a day. */
enum { FILE_MAX = 16 << 20, UNKNOWN_END = 24 * 3600 };

/* ---- Writing --------------------------------------------------------------------------- */

static int nodecache_field(struct buf *b, const char *text)
{
	int rc = buf_addc(b, '\t');

	for (; !rc && text && *text; text++)
		rc = buf_addc(b, *text == '\t' || *text == '\n' ? ' ' : *text);
	return rc;
}

static int nodecache_line(struct buf *b, const struct node *n)
{
	const char *const texts[] = { n->id, n->name, n->reservation, n->pool, n->type, n->zone,
		n->status == MODEL_INSTANCE_RUNNING ? "running" : "pending", n->hostname, n->user };
	int rc = buf_adds(b, "node");

	for (size_t i = 0; !rc && i < sizeof texts / sizeof *texts; i++)
		rc = nodecache_field(b, texts[i]);
	rc = rc ? rc : buf_addf(b, "\t%u\t%" PRId64, n->port, n->end);
	for (size_t i = 0; !rc && i < n->key_count; i++)
		rc = nodecache_field(b, n->keys[i]);
	return rc ? rc : buf_addc(b, '\n');
}

/* Markets, profiles and who signs in apart. malloc'd. */
static char *nodecache_path(const struct nanopod *np, const char *url)
{
	const char *profile = settings_profile(np->settings);
	char *all, *path, *token = NULL, *where = NULL;
	struct fail f = { 0 };

	(void)token_find(np->settings, &token, &where, &f);
	if (asprintf(&all, "%s\t%s\t%s", url, profile ? profile : "", token ? token : "") < 0)
		all = NULL;
	path = all ? remember_path("reach", all) : NULL;
	token_free(all);
	token_free(token);
	free(where);
	return path;
}

static size_t nodecache_add(struct buf *b, const struct nodes *n, const char *but, int *rc)
{
	size_t count = 0;

	for (size_t i = 0; n && !*rc && i < n->count; i++) {
		if (!node_lives(&n->list[i]) || (but && node_in(&n->list[i], but)))
			continue;
		*rc = nodecache_line(b, &n->list[i]);
		count++;
	}
	return count;
}

void nodecache_write(const struct nanopod *np, const char *url, const struct nodes *n, const char *reservation)
{
	const char *profile = settings_profile(np->settings);
	char *path = nodecache_path(np, url);
	struct nodes *old = NULL;
	size_t count = 0;
	int64_t looked;
	struct buf b;
	int rc;

	buf_init(&b, FILE_MAX);
	if (reservation)
		(void)nodecache_read(np, url, &old, &looked, NULL);
	/* The others were not seen now. */
	rc = buf_addf(&b, FIRST_LINE "\nmarket\t%s\t%s\nlooked\t%" PRId64 "\n", url, profile ? profile : "",
		old ? looked : (int64_t)time(NULL));
	count = nodecache_add(&b, old, reservation, &rc);
	count += nodecache_add(&b, n, NULL, &rc);
	if (!rc && !buf_addf(&b, "end\t%zu\n", count) && path && !file_folders(path))
		(void)file_replace(path, b.data, b.len, 0600);
	nodes_free(old);
	buf_release(&b);
	free(path);
}

/* ---- Reading --------------------------------------------------------------------------- */

/* The next field of the line, copied; NULL where the line has no more. */
static char *nodecache_next(char **line)
{
	char *text = strsep(line, "\t"), *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		command_nomem();
	return copy;
}

static bool nodecache_number(char **line, long long most, long long *out)
{
	const char *text = strsep(line, "\t");
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return !*end && !errno && *out <= most;
}

static bool nodecache_keys(struct node *n, char *line)
{
	n->keys = calloc(NODE_KEYS_MAX, sizeof *n->keys);
	if (!n->keys)
		command_nomem();
	while (line) {
		if (n->key_count == NODE_KEYS_MAX)
			return false;
		n->keys[n->key_count++] = nodecache_next(&line);
		if (!node_key_is_plain(n->keys[n->key_count - 1]))
			return false;
	}
	return true;
}

/* "" as no text. */
static void nodecache_none(char **text)
{
	if (*text && !**text) {
		free(*text);
		*text = NULL;
	}
}

static bool nodecache_take(struct node *n, char *line)
{
	char **const texts[] = { &n->id, &n->name, &n->reservation, &n->pool, &n->type, &n->zone, &n->status_text,
		&n->hostname, &n->user };
	long long port, end;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!(*texts[i] = nodecache_next(&line)))
			return false;
	if (!*n->id || !*n->name || !nodecache_number(&line, 65535, &port) ||
		!nodecache_number(&line, INT64_MAX, &end) || !nodecache_keys(n, line))
		return false;
	n->status = strcmp(n->status_text, "running") == 0 ? MODEL_INSTANCE_RUNNING
		: strcmp(n->status_text, "pending") == 0   ? MODEL_INSTANCE_AWAITING
							   : MODEL_INSTANCE_UNKNOWN;
	n->port = (unsigned)port;
	n->end = end;
	nodecache_none(&n->type);
	nodecache_none(&n->zone);
	nodecache_none(&n->hostname);
	nodecache_none(&n->user);
	return n->status != MODEL_INSTANCE_UNKNOWN && node_name_is_plain(n->id) &&
		(!n->hostname || (port && node_host_is_plain(n->hostname))) &&
		(!n->user || node_user_is_plain(n->user));
}

/* The lines of nodes and the last one, which says how many they are. */
static int nodecache_lines(char *rest, struct nodes *n)
{
	struct node *one;
	char *line, *word;
	long long count;

	while ((line = strsep(&rest, "\n"))) {
		word = strsep(&line, "\t");
		if (strcmp(word, "end") == 0)
			return nodecache_number(&line, INT64_MAX, &count) && !line && (size_t)count == n->count &&
					rest && !*rest
				? 0
				: -EINVAL;
		if (strcmp(word, "node") != 0 || !line || !(one = nodes_add(n)) || !nodecache_take(one, line))
			return -EINVAL;
	}
	return -EINVAL;
}

/* The lines in front of them: of which market, and when. */
static int nodecache_head(char **rest, const char *url, const char *profile, int64_t *looked)
{
	char *first = strsep(rest, "\n"), *market = strsep(rest, "\n"), *when = strsep(rest, "\n");
	const char *word = market ? strsep(&market, "\t") : "", *of = market ? strsep(&market, "\t") : "";
	long long at;

	if (strcmp(first, FIRST_LINE) != 0 || strcmp(word, "market") != 0 || !market || !when)
		return -EINVAL;
	word = strsep(&when, "\t");
	if (strcmp(word, "looked") != 0 || !when || !nodecache_number(&when, INT64_MAX, &at) || when)
		return -EINVAL;
	*looked = at;
	return strcmp(of, url) == 0 && strcmp(market, profile) == 0 ? 0 : -ENOENT;
}

int nodecache_parse(const char *text, size_t len, const char *url, const char *profile, struct nodes **out,
	int64_t *looked, struct fail *f)
{
	struct nodes *n = calloc(1, sizeof *n);
	char *copy = strndup(text, len), *rest = copy;
	int64_t at = 0;
	int rc;

	if (!n || !copy)
		command_nomem();
	rc = strlen(copy) == len ? nodecache_head(&rest, url, profile, &at) : -EINVAL;
	rc = rc ? rc : rest ? nodecache_lines(rest, n) : -EINVAL;
	free(copy);
	if (rc) {
		nodes_free(n);
		return fail_set(f, rc, "its text is not what nanopod writes");
	}
	*out = n;
	*looked = at;
	return 0;
}

/* Only what this user alone wrote: addresses and host keys come from it. */
static int nodecache_load(const char *path, struct buf *b, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), rc = fd < 0 ? -errno : 0;
	struct stat st;

	if (fd < 0)
		return rc == -ENOENT || rc == -ENOTDIR ? -ENOENT : fail_set(f, rc, "%s", strerror(-rc));
	if (fstat(fd, &st) < 0)
		rc = fail_set(f, -errno, "%s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		rc = fail_set(f, -EINVAL, "it is no regular file");
	else if (st.st_uid != geteuid())
		rc = fail_set(f, -EPERM, "it belongs to another user");
	else if (st.st_mode & 022)
		rc = fail_set(f, -EPERM, "others may write it");
	else if (st.st_size > FILE_MAX)
		rc = fail_set(f, -EFBIG, "it is larger than %d MiB", FILE_MAX >> 20);
	else if ((rc = buf_read_fd(b, fd)))
		rc = fail_set(f, rc, "%s", strerror(-rc));
	close(fd);
	return rc;
}

static void nodecache_drop_ended(struct nodes *n, int64_t looked)
{
	int64_t now = time(NULL);
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct node *one = &n->list[i];

		if ((one->end ? one->end : looked + UNKNOWN_END) > now)
			n->list[kept++] = *one;
		else
			node_release(one);
	}
	n->count = kept;
}

int nodecache_read(const struct nanopod *np, const char *url, struct nodes **out, int64_t *looked, struct fail *f)
{
	const char *profile = settings_profile(np->settings);
	char *path = nodecache_path(np, url);
	struct fail why = { 0 };
	struct nodes *n = NULL;
	struct buf b;
	int rc;

	buf_init(&b, FILE_MAX + 1);
	if (!path)
		command_nomem();
	rc = nodecache_load(path, &b, &why);
	rc = rc ? rc : nodecache_parse(buf_text(&b), b.len, url, profile ? profile : "", &n, looked, &why);
	buf_release(&b);
	if (rc && rc != -ENOENT)
		fail_set(f, rc, "cannot use the nodes kept in '%s': %s; the next answer of the market replaces it",
			path, why.text);
	free(path);
	if (rc)
		return rc;
	nodecache_drop_ended(n, *looked);
	if (!n->count) {
		nodes_free(n);
		return -ENOENT;
	}
	*out = n;
	return 0;
}
