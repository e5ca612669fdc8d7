/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the people of a cluster: nanopod provision adduser, deluser. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"
#include "conf/conf.h"
#include "conf/confedit.h"

enum { USER_KEYS = 64, USER_KEY_FILE = 64 * 1024 };

/* The lines of the files of --key, malloc'd. */
struct user_keys {
	const char *at[USER_KEYS];
	size_t count;
};

static void user_keys_release(struct user_keys *k)
{
	while (k->count)
		free((char *)(void *)k->at[--k->count]);
}

static int user_keys_take(struct provision *p, const char *file, struct user_keys *k)
{
	struct buf text;
	int status = STATUS_OK, rc;
	size_t before = k->count;

	buf_init(&text, USER_KEY_FILE);
	rc = buf_read_file(&text, file);
	if (rc)
		status = print_fail_field(p->np, rc == -ENOENT ? STATUS_NOTFOUND : STATUS_USAGE, "--key", NULL,
			"cannot read '%s': %s", file, strerror(-rc));
	for (char *rest = text.data, *line; !status && rest && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		if (!*line || *line == '#')
			continue;
		if (!cluster_user_key(line))
			status = print_fail_field(p->np, STATUS_USAGE, "--key", "name the file that ends with .pub",
				"'%s' has a line that is no public key", file);
		else if (k->count == USER_KEYS)
			status = print_fail_field(p->np, STATUS_USAGE, "--key", NULL, "more than %d keys", USER_KEYS);
		else if (!(k->at[k->count++] = strdup(line)))
			command_nomem();
	}
	if (!status && k->count == before)
		status = print_fail_field(p->np, STATUS_USAGE, "--key", NULL, "'%s' has no public key", file);
	/* It may have been a private one. */
	if (text.data)
		explicit_bzero(text.data, text.len);
	buf_release(&text);
	return status;
}

static int user_set(struct provision *p, const char *name, const char *word, const char *const *values, size_t count,
	bool list)
{
	const char *keys[] = { "users", name, word, NULL };
	struct fail f = { 0 };
	struct buf made;
	int rc;

	buf_init(&made, p->text.max);
	rc = confedit_set(p->file, &p->text, keys, values, count, list, &made, &f);
	if (rc < 0) {
		buf_release(&made);
		return print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text);
	}
	if (rc == 0) {
		buf_release(&p->text);
		p->text = made;
	}
	return STATUS_OK;
}

/* Whether the file has this user; *some: whether it has any. */
static bool user_there(const struct provision *p, const char *name, bool *some)
{
	const struct conf *users;
	struct conf_file *file;
	bool there;

	*some = false;
	if (conf_parse(p->file, buf_text(&p->text), p->text.len, &file, NULL))
		return false;
	users = conf_get(&file->root, "users");
	there = users && users->type == CONF_MAP && conf_get(users, name);
	*some = users && users->type == CONF_MAP && users->count > 0;
	conf_free(file);
	return there;
}

static int user_lay(struct provision *p, const char *name)
{
	struct user_keys keys = { .count = 0 };
	const char *sudo = option_given(p->o, "sudo") ? "yes" : "no";
	bool some, there = user_there(p, name, &some);
	int status = STATUS_OK;

	if (!option_count(p->o, "key") && !there)
		return print_fail_field(p->np, STATUS_USAGE, "--key", "'--key FILE.pub' names theirs",
			"without a public key '%s' cannot sign in", name);
	for (size_t i = 0; !status && i < option_count(p->o, "key"); i++)
		status = user_keys_take(p, option_at(p->o, "key", i), &keys);
	if (!status && keys.count)
		status = user_set(p, name, "keys", keys.at, keys.count, true);
	if (!status && (!there || option_given(p->o, "sudo")))
		status = user_set(p, name, "sudo", &sudo, 1, false);
	user_keys_release(&keys);
	return status;
}

static int user_drop(struct provision *p, const char *name)
{
	bool some;

	if (!user_there(p, name, &some))
		return print_fail(p->np, STATUS_NOTFOUND, some ? "the plan of its file names all" : NULL,
			"'%s' has no user '%.60s'", p->c->name, name);
	return user_set(p, name, NULL, NULL, 0, false);
}

static int user_change(struct nanopod *np, const struct options *o, char **words,
	int (*change)(struct provision *p, const char *name), const char *verb)
{
	struct provision p;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take_cluster(&p, words[0]);
	status = status ? status : provision_can_ask(np, o);
	for (char **name = words + 1; *name && !status; name++)
		status = change(&p, *name);
	status = status ? status : provision_read(&p);
	status = status ? status : provision_open(&p, NULL);
	status = status ? status : provision_apply(&p, verb, false);
	provision_release(&p);
	return status;
}

int provision_adduser(struct nanopod *np, const struct options *o, char **words)
{
	return user_change(np, o, words, user_lay, "adduser");
}

int provision_deluser(struct nanopod *np, const struct options *o, char **words)
{
	return user_change(np, o, words, user_drop, "deluser");
}
