/* SPDX-License-Identifier: Apache-2.0 */
/* Inventories of lines: Ansible's INI, /etc/hosts, `sinfo -N`, and names and ranges alone. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/inventory/hostlines.h"

enum { WORDS_MAX = 1024, NAME_BYTES = 512 };

enum hostlines_kind { HOSTLINES_HOSTS, HOSTLINES_CHILDREN, HOSTLINES_VARS };

struct hostlines {
	struct hostbook *b;
	char group[NAME_BYTES];
	enum hostlines_kind kind;
	bool slurm;
};

/* Cuts the line into words in place; quotes hold blanks together. How many; more than WORDS_MAX: it has too many. */
static size_t hostlines_words(char *line, char *words[WORDS_MAX])
{
	size_t count = 0;

	for (;;) {
		char *out, quote = '\0';

		line += strspn(line, " \t\r");
		if (!*line || *line == '#' || *line == ';')
			return count;
		if (count == WORDS_MAX)
			return WORDS_MAX + 1;
		words[count++] = out = line;
		for (; *line && (quote || !strchr(" \t\r", *line)); line++)
			if (quote ? *line == quote : *line == '"' || *line == '\'')
				quote = quote ? '\0' : *line;
			else
				*out++ = *line;
		line += *line != '\0';
		*out = '\0';
	}
}

/* Each host of the expression gets the variables of its line. */
static int hostlines_variables(struct hostlines *l, const char *expression, char **words, size_t count, struct fail *f)
{
	int rc = 0;

	for (size_t k = 0; !rc && k < count; k++) {
		char *equals = strchr(words[k], '=');

		if (!equals)
			continue;
		*equals = '\0';
		rc = hostbook_set(l->b, expression, words[k], equals + 1, f);
	}
	return rc;
}

/* "[web]", "[web:children]", "[web:vars]" */
static int hostlines_section(struct hostlines *l, char *word, struct fail *f)
{
	char *end = strchr(word, ']'), *colon;

	if (!end || end[1] || end - word >= NAME_BYTES)
		return fail_set(f, -EINVAL, "'%.60s' is no heading of a group", word);
	*end = '\0';
	colon = strchr(word, ':');
	l->kind = !colon ? HOSTLINES_HOSTS : strcmp(colon, ":children") == 0 ? HOSTLINES_CHILDREN : HOSTLINES_VARS;
	if (colon)
		*colon = '\0';
	memcpy(l->group, word + 1, strlen(word));
	return hostbook_add(l->b, l->group, "", f);
}

static bool hostlines_is_address(const char *word)
{
	struct in6_addr room;

	return inet_pton(AF_INET, word, &room) == 1 || inet_pton(AF_INET6, word, &room) == 1;
}

static int hostlines_take(struct hostlines *l, char **words, size_t count, struct fail *f)
{
	char text[NAME_BYTES + 1], *group = l->group;
	int rc = 0;

	if (!l->slurm && count > 1 && hostlines_is_address(words[0]) && !strchr(words[1], '=')) {
		for (size_t i = 1; !rc && i < count; i++)
			rc = hostbook_set(l->b, words[i], "ansible_host", words[0], f);
		return rc ? rc : hostbook_add(l->b, l->group, words[1], f);
	}
	if (l->kind == HOSTLINES_VARS)
		return 0; /* of groups: not read */
	if (l->kind == HOSTLINES_CHILDREN && strlen(words[0]) < NAME_BYTES) {
		snprintf(text, sizeof text, "@%s", words[0]);
		return hostbook_add(l->b, l->group, text, f);
	}
	if (l->slurm && count > 2) {
		group = words[2];
		group[strcspn(group, "*")] = '\0';
		count = 1;
	}
	if (count > 1 && words[0][strlen(words[0]) - 1] == ':') { /* ClusterShell: "io: n[1-3],@mds" */
		words[0][strlen(words[0]) - 1] = '\0';
		for (size_t i = 1; !rc && i < count; i++)
			rc = hostbook_add(l->b, words[0], words[i], f);
		return rc;
	}
	rc = hostbook_add(l->b, group, words[0], f);
	return rc || count < 2 ? rc : hostlines_variables(l, words[0], words + 1, count - 1, f);
}

int hostlines_read(struct hostbook *b, const char *text, struct fail *f)
{
	struct hostlines l = { .b = b, .group = "ungrouped" };
	char *copy = strdup(text), *rest = copy, *line, *words[WORDS_MAX];
	unsigned number = 0;
	int rc = 0;

	if (!copy)
		command_nomem();
	while (!rc && (line = strsep(&rest, "\n"))) {
		struct fail why = { 0 };
		size_t count = hostlines_words(line, words);

		number++;
		if (!count)
			continue;
		if (count > WORDS_MAX)
			rc = fail_set(&why, -EFBIG, "it has more than %d words", WORDS_MAX);
		else if (!*words[0])
			rc = fail_set(&why, -EINVAL, "a name is empty");
		else if (strcmp(words[0], "NODELIST") == 0)
			l.slurm = true;
		else if (*words[0] == '[')
			rc = hostlines_section(&l, words[0], &why);
		else
			rc = hostlines_take(&l, words, count, &why);
		if (rc)
			fail_set(f, rc, "line %u: %s", number, why.text);
	}
	free(copy);
	return rc;
}
