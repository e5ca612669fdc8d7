/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inventory/hostread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/inventory/hostcall.h"
#include "cli/inventory/hostconf.h"
#include "cli/inventory/hostjson.h"
#include "cli/inventory/hostlines.h"
#include "cli/inventory/hosttree.h"

enum { TEXT_MAX = 16 << 20 };

/* JSON or YAML, and no lines "group: hosts" of ClusterShell. */
static bool hostread_is_tree(const char *path, const char *text)
{
	const char *dot = strrchr(path, '.');
	size_t word;

	if (dot && (strcmp(dot, ".yml") == 0 || strcmp(dot, ".yaml") == 0 || strcmp(dot, ".json") == 0))
		return true;
	for (text += strspn(text, " \t\r\n"); *text == '#' || *text == ';'; text += strspn(text, " \t\r\n"))
		text += strcspn(text, "\n");
	word = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
	return *text == '{' || strncmp(text, "---", 3) == 0 ||
		(word && text[word] == ':' && strchr("\r\n", text[word + 1]));
}

int hostread_text(struct hostbook *b, const char *path, const char *text, size_t len, struct fail *f)
{
	if (strlen(text) != len)
		return fail_set(f, -EINVAL, "cannot read '%.200s': it is no text", path);
	if (hostjson_is(text))
		return hostjson_read(b, text, f);
	return hostread_is_tree(path, text) ? hosttree_read(b, path, text, len, f) : hostlines_read(b, text, f);
}

static int hostread_run(const char *path, struct buf *text, struct fail *f)
{
	const char *const words[] = { path, "--list", NULL };
	char *what;
	int rc;

	if (asprintf(&what, "%s --list", path) < 0)
		command_nomem();
	rc = hostcall_run(what, words, NULL, text, f);
	free(what);
	return rc;
}

/* st: of what was read, which another file may have replaced by now. */
static int hostread_open(struct buf *text, const char *path, int also, struct stat *st, struct fail *f)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | also), rc;

	rc = fd < 0 || fstat(fd, st) < 0 ? -errno : buf_read_fd(text, fd);
	if (fd >= 0)
		close(fd);
	return rc ? fail_set(f, rc, "cannot read '%.200s': %s", path, strerror(-rc)) : 0;
}

int hostread_file(struct hostbook *b, const char *path, struct fail *f)
{
	struct buf text;
	struct stat st;
	bool script;
	int rc;

	if (stat(path, &st) < 0)
		return fail_errno(f, -errno, errno, "cannot read '%.200s'", path);
	script = S_ISREG(st.st_mode) && access(path, X_OK) == 0 && st.st_mode & 0111;
	buf_init(&text, TEXT_MAX);
	rc = script ? hostread_run(path, &text, f) : hostread_open(&text, path, 0, &st, f);
	if (!rc && !script && strlen(buf_text(&text)) == text.len && hostconf_is(path, buf_text(&text)))
		rc = hostconf_read(b, path, buf_text(&text), &st, f);
	else
		rc = rc ? rc : hostread_text(b, script ? "list.json" : path, buf_text(&text), text.len, f);
	buf_release(&text);
	return rc;
}

int hostread_found(struct hostbook *b, const char *path, struct fail *f)
{
	struct buf text;
	struct stat st;
	int rc;

	buf_init(&text, TEXT_MAX);
	rc = hostread_open(&text, path, O_NONBLOCK | O_NOCTTY, &st, f);
	rc = rc ? rc : hostconf_read(b, path, buf_text(&text), &st, f);
	buf_release(&text);
	return rc;
}
