/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/inventory/hostbook.h"

#include <ctype.h>
#include <stdbool.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "pssh/pssh.h"

#define HOSTBOOK_EXPRESSION "_.-@:[],"

enum { EXPRESSION_MAX = 16 << 20 };

struct hostbook *hostbook_new(void)
{
	struct hostbook *b = calloc(1, sizeof *b);

	if (!b)
		command_nomem();
	table_init(&b->hosts);
	table_init(&b->groups);
	return b;
}

void hostbook_free(struct hostbook *b)
{
	const char *key;
	void *value;

	if (!b)
		return;
	for (size_t at = 0; table_next(&b->hosts, &at, &key, &value);) {
		struct hostbook_host *h = value;

		free(h->address);
		free(h->user);
		free(h->key_file);
		free(h);
	}
	for (size_t at = 0; table_next(&b->groups, &at, &key, &value);) {
		buf_release(value);
		free(value);
	}
	for (size_t i = 0; i < b->source_count; i++) {
		free(b->sources[i].name);
		free(b->sources[i].folder);
		free(b->sources[i].map);
		free(b->sources[i].all);
		free(b->sources[i].list);
		free(b->sources[i].mapall);
	}
	free(b->sources);
	free(b->standard);
	table_release(&b->hosts);
	table_release(&b->groups);
	free(b);
}

const struct hostbook_host *hostbook_find(const struct hostbook *b, const char *name)
{
	const char *at = strrchr(name, '@');

	return table_get(&b->hosts, at ? at + 1 : name);
}

const char *hostbook_group(const struct hostbook *b, const char *name)
{
	const struct buf *text = table_get(&b->groups, name);

	return text ? buf_text(text) : NULL;
}

/* ---- Adding ---------------------------------------------------------------------------- */

/* What a name or an expression may hold: no options, no files, no shell. */
static bool hostbook_is_plain(const char *text, const char *also)
{
	if (!isalnum((unsigned char)*text) && !(*text && strchr("_@:[", *text)))
		return false;
	while (isalnum((unsigned char)*text) || (*text && strchr(also, *text)))
		text++;
	return !*text;
}

/* Ansible writes "n[01:10]" for n[01-10]. malloc'd. */
static char *hostbook_range(const char *expression)
{
	char *copy = strdup(expression);
	int depth = 0;

	if (!copy)
		command_nomem();
	for (char *p = copy; *p; p++) {
		depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
		if (depth > 0 && *p == ':')
			*p = '-';
	}
	return copy;
}

static int hostbook_append(struct hostbook *b, const char *group, const char *expression, struct fail *f)
{
	struct buf *text = table_get(&b->groups, group);

	if (!hostbook_is_plain(group, "_.-:") || (*expression && !hostbook_is_plain(expression, HOSTBOOK_EXPRESSION)))
		return fail_set(f, -EINVAL, "'%.60s' in group '%.60s' is no name of a host", expression, group);
	if (!text) {
		text = malloc(sizeof *text);
		if (!text)
			command_nomem();
		buf_init(text, EXPRESSION_MAX);
		if (table_set(&b->groups, group, text))
			command_nomem();
	}
	if (*expression && buf_addf(text, "%s%s", text->len ? "," : "", expression))
		return fail_set(f, -EFBIG, "group '%.60s' is too large", group);
	return 0;
}

int hostbook_add(struct hostbook *b, const char *group, const char *expression, struct fail *f)
{
	char *plain = hostbook_range(expression);
	int rc = hostbook_append(b, group, plain, f);

	if (!rc && strcmp(group, "all") != 0 && *plain != '@')
		rc = hostbook_append(b, "all", plain, f);
	free(plain);
	return rc;
}

void hostbook_forget(struct hostbook *b, const char *group)
{
	struct buf *text = table_remove(&b->groups, group);

	if (text)
		buf_release(text);
	free(text);
}

bool hostbook_is_group(const char *name)
{
	return hostbook_is_plain(name, "_.-");
}

/* "@x" among the hosts of "source:group" is "@source:x", as ClusterShell has it. */
static int hostbook_in_source(struct buf *b, const char *group, const char *expression)
{
	const char *colon = strchr(group, ':');
	size_t word;
	int rc = 0;

	for (; !rc && *expression; expression += word + (expression[word] == ',')) {
		word = strcspn(expression, ",");
		if (b->len)
			rc = buf_addc(b, ',');
		if (!rc && colon && *expression == '@' && !memchr(expression, ':', word)) {
			rc = buf_addf(b, "@%.*s", (int)(colon + 1 - group), group);
			rc = rc ? rc : buf_add(b, expression + 1, word - 1);
		} else if (!rc) {
			rc = buf_add(b, expression, word);
		}
	}
	return rc;
}

int hostbook_put(struct hostbook *b, const char *group, const char *expression, struct fail *f)
{
	char *plain = hostbook_range(expression);
	struct buf all;
	int rc;

	buf_init(&all, EXPRESSION_MAX);
	rc = hostbook_in_source(&all, group, plain) ? fail_set(f, -EFBIG, "group '%.60s' is too large", group)
						    : hostbook_append(b, group, buf_text(&all), f);
	buf_release(&all);
	free(plain);
	return rc;
}

int hostbook_put_all(struct hostbook *b, const char *group, const char *source, struct fail *f)
{
	size_t len = strlen(source);
	struct buf members;
	const char *key;
	void *value;
	int rc = 0;

	/* Not while the table is walked, which a new group changes. */
	buf_init(&members, EXPRESSION_MAX);
	for (size_t at = 0; !rc && table_next(&b->groups, &at, &key, &value);)
		if (strncmp(key, source, len) == 0 && key[len] == ':')
			rc = buf_addf(&members, "%s@%s", members.len ? "," : "", key);
	rc = rc               ? fail_set(f, rc, "source '%.60s' is too large", source)
		: members.len ? hostbook_put(b, group, buf_text(&members), f)
			      : 0;
	buf_release(&members);
	return rc;
}

struct hostbook_source *hostbook_add_source(struct hostbook *b, const char *name)
{
	struct hostbook_source *s = reallocarray(b->sources, b->source_count + 1, sizeof *s);

	if (!s)
		command_nomem();
	b->sources = s;
	s += b->source_count++;
	*s = (struct hostbook_source){ .name = strdup(name) };
	if (!s->name)
		command_nomem();
	return s;
}

static void hostbook_text(char **into, const char *value)
{
	free(*into);
	*into = strdup(value);
	if (!*into)
		command_nomem();
}

static int hostbook_set_one(struct hostbook *b, const char *host, const char *variable, const char *value,
	struct fail *f)
{
	struct hostbook_host *h = table_get(&b->hosts, host);
	long port;

	if (!h) {
		h = calloc(1, sizeof *h);
		if (!h || table_set(&b->hosts, host, h))
			command_nomem();
	}
	if (strcmp(variable, "ansible_port") == 0 || strcmp(variable, "ansible_ssh_port") == 0) {
		if (str_to_long(value, 1, 65535, &port))
			return fail_set(f, -EINVAL, "'%.60s' is no port, of host '%.60s'", value, host);
		h->port = (unsigned)port;
	} else if (strcmp(variable, "ansible_host") == 0 || strcmp(variable, "ansible_ssh_host") == 0) {
		if (!hostbook_is_plain(value, "_.-:"))
			return fail_set(f, -EINVAL, "'%.60s' is no address, of host '%.60s'", value, host);
		hostbook_text(&h->address, value);
	} else if (strcmp(variable, "ansible_user") == 0 || strcmp(variable, "ansible_ssh_user") == 0) {
		if (!hostbook_is_plain(value, "_.-$"))
			return fail_set(f, -EINVAL, "'%.60s' is no user, of host '%.60s'", value, host);
		hostbook_text(&h->user, value);
	} else if (strcmp(variable, "ansible_ssh_private_key_file") == 0 ||
		strcmp(variable, "ansible_private_key_file") == 0) {
		free(h->key_file);
		h->key_file = str_expand_home(value);
		if (!h->key_file)
			command_nomem();
	}
	return 0;
}

int hostbook_set(struct hostbook *b, const char *hosts, const char *variable, const char *value, struct fail *f)
{
	char *plain = hostbook_range(hosts);
	struct pssh_list *names;
	int rc = 0;

	if (pssh_list_new(&names) != 0)
		command_nomem();
	/* Others can be no host's name. */
	if (*plain != '@' && hostbook_is_plain(plain, HOSTBOOK_EXPRESSION) && pssh_list_add(names, plain) != 0)
		rc = fail_set(f, -EINVAL, "%s", pssh_list_error(names));
	for (size_t i = 0; !rc && i < pssh_list_count(names); i++)
		rc = hostbook_set_one(b, pssh_list_get(names, i), variable, value, f);
	pssh_list_free(names);
	free(plain);
	return rc;
}
