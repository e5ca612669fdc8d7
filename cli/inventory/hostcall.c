/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inventory/hostcall.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/frame/command.h"
#include "cli/inventory/hostconf.h"

enum { OUTPUT_MAX = 16 << 20 };

int hostcall_run(const char *what, const char *const *words, const char *folder, struct buf *out, struct fail *f)
{
	int ends[2], state = 0, rc;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(f, -errno, errno, "cannot run '%.200s'", what);
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC); /* standard input may be for the hosts */

		if ((!folder || chdir(folder) == 0) && null >= 0 && dup2(null, STDIN_FILENO) >= 0 &&
			dup2(ends[1], STDOUT_FILENO) >= 0)
			execv(words[0], (char *const *)words);
		_exit(127);
	}
	close(ends[1]);
	rc = pid < 0 ? -errno : buf_read_fd(out, ends[0]);
	if (pid > 0 && rc)
		kill(pid, SIGKILL);
	close(ends[0]);
	if (pid > 0)
		while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
			;
	if (rc == -EFBIG)
		return fail_set(f, rc, "'%.200s' prints more than %zu MiB", what, out->max >> 20);
	if (rc || state)
		return fail_set(f, rc ? rc : -EINVAL, "'%.200s' failed%s%s", what, rc ? ": " : "",
			rc ? strerror(-rc) : "");
	if (strlen(buf_text(out)) != out->len)
		return fail_set(f, -EINVAL, "'%.200s' prints a NUL", what);
	return 0;
}

/* ---- One command of a source ---------------------------------------------------------- */

static int hostcall_upcall(const struct hostbook_source *s, const char *command, const char *group, struct buf *out,
	struct fail *f)
{
	const char *const names[] = { "CFGDIR", s->folder, "SOURCE", s->name, "GROUP", group, NULL };
	char *filled = hostconf_fill(command,
		group ? names : (const char *const[]){ "CFGDIR", s->folder, "SOURCE", s->name, NULL });
	const char *const words[] = { "/bin/sh", "-c", filled, NULL };
	int rc = hostcall_run(filled, words, s->folder, out, f);

	free(filled);
	return rc;
}

/* "n1 n2", in lines or not: each a member of the group. */
static int hostcall_words(struct hostbook *b, const char *name, char *text, struct fail *f)
{
	char *rest = text, *word;
	int rc = 0;

	while (!rc && (word = strsep(&rest, " \t\r\n")))
		if (*word)
			rc = hostbook_put(b, name, word, f);
	return rc;
}

/* The lines "group: hosts" of mapall; group NULL: of all of them. */
static int hostcall_lines(struct hostbook *b, const struct hostbook_source *s, const char *name, const char *group,
	char *text, struct fail *f)
{
	char *rest = text, *line, *colon;
	int rc = 0;

	while (!rc && (line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t\r");
		if (!*line)
			continue;
		colon = strchr(line, ':');
		if (!colon)
			return fail_set(f, -EINVAL, "'mapall' of source '%.60s' prints '%.60s', not 'group: hosts'",
				s->name, line);
		*colon = '\0';
		for (char *end = colon; end > line && strchr(" \t", end[-1]);)
			*--end = '\0';
		if (!group || strcmp(line, group) == 0)
			rc = hostcall_words(b, name, colon + 1, f);
	}
	return rc;
}

static int hostcall_map(struct hostbook *b, const struct hostbook_source *s, const char *name, const char *group,
	struct fail *f)
{
	struct buf out;
	int rc;

	buf_init(&out, OUTPUT_MAX);
	rc = hostcall_upcall(s, s->map ? s->map : s->mapall, group, &out, f);
	if (rc || !buf_text(&out)[0]) /* it has no such group */
		;
	else if (s->map)
		rc = hostcall_words(b, name, out.data, f);
	else
		rc = hostcall_lines(b, s, name, group, out.data, f);
	buf_release(&out);
	return rc;
}

/* By 'all'; else every group of 'list', or every line of 'mapall'. */
static int hostcall_all(struct hostbook *b, const struct hostbook_source *s, const char *name, struct fail *f)
{
	const char *command = s->all ? s->all : s->mapall ? s->mapall : s->list;
	char *rest, *group;
	struct buf out;
	int rc;

	if (!command)
		return fail_set(f, -EINVAL, "source '%.60s' has neither 'all' nor 'list'", s->name);
	buf_init(&out, OUTPUT_MAX);
	rc = hostcall_upcall(s, command, NULL, &out, f);
	rest = rc || !buf_text(&out)[0] ? NULL : out.data;
	if (rest && s->all)
		rc = hostcall_words(b, name, rest, f);
	else if (rest && s->mapall)
		rc = hostcall_lines(b, s, name, NULL, rest, f);
	else
		while (!rc && (group = strsep(&rest, " \t\r\n")))
			if (*group && hostbook_is_group(group))
				rc = hostcall_map(b, s, name, group, f);
	buf_release(&out);
	return rc;
}

/* ---- A group ---------------------------------------------------------------------------- */

/* Groups of a file: already in the book, by the name with the source. */
static int hostcall_static(struct hostbook *b, const char *source, const char *name, const char *group, struct fail *f)
{
	char *full, *at;
	int rc = 0;

	if (asprintf(&full, "%s:%s", source, group) < 0 || asprintf(&at, "@%s", full) < 0)
		command_nomem();
	if (hostbook_group(b, full) && strcmp(full, name) != 0)
		rc = hostbook_put(b, name, at, f);
	else if (!hostbook_group(b, full) && strcmp(group, "all") == 0)
		rc = hostbook_put_all(b, name, source, f);
	free(full);
	free(at);
	return rc;
}

static int hostcall_group(struct hostbook *b, const char *name, struct fail *f)
{
	const char *colon = strchr(name, ':'), *group = colon ? colon + 1 : name;
	char *source = !colon && !b->standard ? NULL
		: colon                       ? strndup(name, (size_t)(colon - name))
					      : strdup(b->standard);
	int rc = 0;

	if (!source || !hostbook_is_group(group)) {
		free(source);
		return 0;
	}
	for (size_t i = 0; i < b->source_count; i++) {
		const struct hostbook_source *s = &b->sources[i];

		if (strcmp(s->name, source) != 0)
			continue;
		if (!s->map && !s->mapall)
			rc = hostcall_static(b, source, name, group, f);
		else if (strcmp(group, "all") == 0)
			rc = hostcall_all(b, s, name, f);
		else
			rc = hostcall_map(b, s, name, group, f);
		break;
	}
	free(source);
	return rc;
}

int hostcall_ask(struct hostbook *b, const char *name, const char **text, struct fail *f)
{
	int rc = hostbook_group(b, name) ? 0 : hostcall_group(b, name, f);

	if (rc)
		hostbook_forget(b, name); /* the next one would take a part for all of it */
	*text = rc ? NULL : hostbook_group(b, name);
	return rc;
}
