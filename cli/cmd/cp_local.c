/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/cp_local.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/frame/print.h"

enum { SHOWN = 8, PATH_LONGEST = 65536 };

/* A host's name without user and port, as the library uses it for "{host}". */
static char *host_word(const char *spec)
{
	const char *at = strrchr(spec, '@'), *colon;
	size_t len;
	char *word;

	spec = at ? at + 1 : spec;
	len = strlen(spec);
	if (*spec == '[') {
		spec++;
		len = strcspn(spec, "]");
	} else if ((colon = strchr(spec, ':')) && !strchr(colon + 1, ':')) {
		len = (size_t)(colon - spec);
	}
	word = strndup(spec, len);
	if (!word)
		command_nomem();
	for (char *c = word; *c; c++)
		*c = *c == '/' ? '_' : *c;
	return word;
}

static void local_path(struct buf *b, const char *pattern, const char *spec)
{
	char *word = host_word(spec);
	const char *at;

	buf_clear(b);
	for (; (at = strstr(pattern, "{host}")) != NULL; pattern = at + 6)
		if (buf_add(b, pattern, (size_t)(at - pattern)) != 0 || buf_adds(b, word) != 0)
			command_nomem();
	if (buf_adds(b, pattern) != 0)
		command_nomem();
	free(word);
}

static int check_one(struct nanopod *np, const char *path, bool recursive)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return print_fail(np, errno == ENOENT ? STATUS_NOTFOUND : STATUS_FAILURE, NULL, "cannot read '%s': %s",
			path, strerror(errno));
	if (S_ISDIR(st.st_mode) && !recursive)
		return print_fail_field(np, STATUS_USAGE, "--recursive", "'-r' copies it with everything in it",
			"'%s' is a directory", path);
	if (access(path, R_OK) < 0)
		return print_fail(np, STATUS_DENIED, NULL, "cannot read '%s': %s", path, strerror(errno));
	return STATUS_OK;
}

/* Names all files that are missing at once, so that one more try is enough. */
static int check_missing(struct nanopod *np, const char *pattern, const struct pssh_list *hosts)
{
	struct buf b, names;
	size_t missing = 0;
	int status = STATUS_OK;

	buf_init(&b, PATH_LONGEST);
	buf_init(&names, (SHOWN + 1) * PATH_LONGEST);
	for (size_t i = 0; i < pssh_list_count(hosts); i++) {
		local_path(&b, pattern, pssh_list_get(hosts, i));
		if (access(buf_text(&b), F_OK) == 0 || errno != ENOENT || missing++ >= SHOWN)
			continue;
		if (buf_addf(&names, "%s'%s'", missing > 1 ? ", " : "", buf_text(&b)) != 0)
			command_nomem();
	}
	if (missing > SHOWN && buf_addf(&names, " and %zu more", missing - SHOWN) != 0)
		command_nomem();
	if (missing)
		status = print_fail(np, STATUS_NOTFOUND,
			"make them, or leave their hosts out by '-x'; nothing was sent",
			"%zu of %zu hosts have no file of their own: %s", missing, pssh_list_count(hosts),
			buf_text(&names));
	buf_release(&names);
	buf_release(&b);
	return status;
}

int cp_local_check(struct nanopod *np, const char *path, bool recursive, const struct pssh_list *hosts)
{
	struct buf b;
	int status;

	if (!strstr(path, "{host}"))
		return check_one(np, path, recursive);
	buf_init(&b, PATH_LONGEST);
	status = check_missing(np, path, hosts);
	for (size_t i = 0; !status && i < pssh_list_count(hosts); i++) {
		local_path(&b, path, pssh_list_get(hosts, i));
		status = check_one(np, buf_text(&b), recursive);
	}
	buf_release(&b);
	return status;
}

static int by_word(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int cp_local_apart(struct nanopod *np, const struct pssh_list *hosts, const char *target)
{
	size_t count = pssh_list_count(hosts);
	char **words = calloc(count + 1, sizeof *words);
	int status = STATUS_OK;

	if (!words)
		command_nomem();
	for (size_t i = 0; i < count; i++)
		words[i] = host_word(pssh_list_get(hosts, i));
	qsort(words, count, sizeof *words, by_word);
	for (size_t i = 1; i < count && !status; i++)
		if (strcmp(words[i - 1], words[i]) == 0)
			status = print_fail(np, STATUS_USAGE, "copy from them one after the other",
				"several hosts are named '%s', so '%s' would be one place for their files", words[i],
				target);
	for (size_t i = 0; i < count; i++)
		free(words[i]);
	free(words);
	return status;
}

/* The last part of a path without slashes at its end. */
static const char *last_part(const char *path, size_t *len)
{
	size_t end = strlen(path), at;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (at = end; at > 0 && path[at - 1] != '/'; at--)
		;
	*len = end - at;
	return path + at;
}

int cp_local_twice(struct nanopod *np, const char *a, const char *b)
{
	size_t n, m;
	const char *x = last_part(a, &n), *y = last_part(b, &m);

	if (n != m || memcmp(x, y, n) != 0 || x[0] == '.' || strpbrk(x, "*?["))
		return STATUS_OK;
	return print_fail(np, STATUS_USAGE, "copy them one after the other, under different names",
		"'%s' and '%s' would both become '%.*s' in the target", a, b, (int)n, x);
}
