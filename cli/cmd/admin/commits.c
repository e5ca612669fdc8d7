/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/admin/commits.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "market/wire.h"

enum { LINE_MOST = 4 << 20, MAIL_MOST = 320, HASH_MOST = 64 };

extern char **environ;

int commits_belong(struct commits *c, const char *mail, struct committer *to)
{
	char *low = strdup(mail);
	struct committer *had;

	if (!low)
		command_nomem();
	for (char *p = low; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	had = table_get(&c->mails, low);
	if (!had && table_set(&c->mails, low, to) != 0)
		command_nomem();
	free(low);
	return !had || had == to;
}

void commits_release(struct commits *c)
{
	table_release(&c->mails);
	table_release(&c->seen);
}

static void commits_add(struct commits *c, const char *hash, const char *mail, int64_t at)
{
	char low[MAIL_MOST];
	struct committer *to;
	size_t i;

	if (strlen(mail) >= sizeof low || strlen(hash) > HASH_MOST || table_get(&c->seen, hash))
		return;
	for (i = 0; mail[i]; i++)
		low[i] = (char)tolower((unsigned char)mail[i]);
	low[i] = '\0';
	c->read++;
	if (table_set(&c->seen, hash, c) != 0)
		command_nomem();
	to = table_get(&c->mails, low);
	if (!to) {
		c->strange++;
		return;
	}
	if (to->count == to->cap) {
		to->cap = to->cap ? 2 * to->cap : 256;
		to->times = reallocarray(to->times, to->cap, sizeof *to->times);
		if (!to->times)
			command_nomem();
	}
	to->times[to->count++] = at;
}

/* ---- Perceval --------------------------------------------------------------------------- */

/* "Ada Lovelace <ada@example.org>": the address, in place; NULL: there is none. */
static char *commits_mail(char *author)
{
	char *open = strrchr(author, '<'), *end = open ? strchr(open, '>') : NULL;

	if (!end)
		return NULL;
	*end = '\0';
	return open + 1;
}

/* As git writes it, whatever the locale. */
static int commits_date(const char *text, int64_t *at)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%a %b %d %H:%M:%S %Y %z", &tm);
	long ahead = tm.tm_gmtoff;

	if (!end || *end)
		return -1;
	*at = (int64_t)timegm(&tm) - ahead;
	return 0;
}

static int commits_item(struct commits *c, const char *line, size_t len, struct fail *f)
{
	struct model_commit item;
	struct doc *d = NULL;
	char *author, *mail;
	int64_t at = 0;
	int rc = doc_parse(line, len, &d, f);

	rc = rc ? rc : wire_commit(d, &item, f);
	if (!rc && (strcmp(item.category, "commit") != 0 || item.parents > 1)) {
		doc_free(d);
		return 0;
	}
	if (!rc && (!item.hash || !item.author || !item.date || commits_date(item.date, &at)))
		rc = fail_set(f, -EINVAL, "a commit needs 'commit', 'Author' and 'CommitDate'");
	if (!rc) {
		author = strdup(item.author);
		if (!author)
			command_nomem();
		mail = commits_mail(author);
		if (mail)
			commits_add(c, item.hash, mail, at);
		free(author);
	}
	doc_free(d);
	return rc;
}

/* ---- git -------------------------------------------------------------------------------- */

/* "HASH TAB ADDRESS TAB SECONDS", as asked for below. */
static int commits_git_line(struct commits *c, char *line, struct fail *f)
{
	char *rest = line, *hash = strsep(&rest, "\t"), *mail = strsep(&rest, "\t");
	long at;

	if (!mail || !rest || str_to_long(rest, 0, INT64_MAX, &at) != 0)
		return fail_set(f, -EINVAL, "git printed a line that is no commit");
	commits_add(c, hash, mail, at);
	return 0;
}

static FILE *commits_git(const char *folder, pid_t *pid, struct fail *f)
{
	const char *args[] = { "git", "-C", folder, "log", "--all", "--no-merges", "--format=%H%x09%ae%x09%ct", NULL };
	posix_spawn_file_actions_t fa;
	int ends[2], rc;
	FILE *in;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		fail_errno(f, -errno, errno, "cannot start git");
		return NULL;
	}
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, ends[1], STDOUT_FILENO);
	rc = posix_spawnp(pid, "git", &fa, NULL, (char *const *)(uintptr_t)args, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(ends[1]);
	in = rc == 0 ? fdopen(ends[0], "r") : NULL;
	if (!in) {
		close(ends[0]);
		fail_errno(f, -(rc ? rc : errno), rc ? rc : errno, "cannot start git");
	}
	return in;
}

/* ---- Both ------------------------------------------------------------------------------- */

static int commits_lines(struct commits *c, FILE *in, bool git, struct fail *f)
{
	struct fail why = { 0 };
	char *line = NULL;
	size_t room = 0, n = 0;
	ssize_t len;
	int rc = 0;

	while (!rc && (len = getline(&line, &room, in)) >= 0) {
		n++;
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (!len)
			continue;
		if (len > LINE_MOST)
			rc = fail_set(&why, -E2BIG, "it is longer than %d MiB", LINE_MOST >> 20);
		rc = rc ? rc : git ? commits_git_line(c, line, &why) : commits_item(c, line, (size_t)len, &why);
	}
	free(line);
	return rc ? fail_set(f, -1, "line %zu: %s", n, why.text) : 0;
}

int commits_read(struct commits *c, const char *source, struct fail *f)
{
	bool standard = strcmp(source, "-") == 0, git;
	struct stat st = { 0 };
	pid_t pid = 0;
	int rc, status = 0;
	FILE *in;

	if (!standard && stat(source, &st) != 0)
		return fail_errno(f, -1, errno, "cannot read '%s'", source);
	git = S_ISDIR(st.st_mode);
	in = standard ? stdin : git ? commits_git(source, &pid, f) : fopen(source, "re");
	if (!in)
		return git ? -1 : fail_errno(f, -1, errno, "cannot read '%s'", source);
	rc = commits_lines(c, in, git, f);
	if (!standard)
		fclose(in);
	if (git && (waitpid(pid, &status, 0) != pid || status != 0) && !rc)
		rc = fail_set(f, -1, "git could not read it; is it a clone?");
	return rc;
}
