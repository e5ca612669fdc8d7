/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the people of a cluster: nanopod provision adduser, deluser. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/provision/provision.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/provision/model/clusteredit.h"
#include "conf/conf.h"

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
	for (char *rest = text.data, *line; !status && (line = cluster_user_line(&rest));) {
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

static bool user_there(const struct provision *p, const char *name)
{
	const struct conf *users;
	struct conf_file *file;
	bool there;

	if (conf_parse(p->file, buf_text(&p->text), p->text.len, &file, NULL))
		return false;
	users = conf_get(&file->root, "users");
	there = users && users->type == CONF_MAP && conf_get(users, name);
	conf_free(file);
	return there;
}

static int user_lay(struct provision *p, const char *name)
{
	const char *keys_at[] = { "users", name, "keys", NULL }, *sudo_at[] = { "users", name, "sudo", NULL };
	struct user_keys keys = { .count = 0 };
	bool there = user_there(p, name);
	struct fail f = { 0 };
	int status = STATUS_OK, rc = 0;

	if (!option_count(p->o, "key") && !there)
		return print_fail_field(p->np, STATUS_USAGE, "--key", "'--key FILE.pub' names theirs",
			"without a public key '%s' cannot sign in", name);
	for (size_t i = 0; !status && i < option_count(p->o, "key"); i++)
		status = user_keys_take(p, option_at(p->o, "key", i), &keys);
	if (!status && keys.count)
		rc = clusteredit_set_list(p->file, &p->text, keys_at, keys.at, keys.count, &f);
	if (!status && !rc && (!there || option_given(p->o, "sudo")))
		rc = clusteredit_set(p->file, &p->text, sudo_at, option_given(p->o, "sudo") ? "yes" : "no", &f);
	user_keys_release(&keys);
	return rc ? print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text) : status;
}

static int user_drop(struct provision *p, const char *name)
{
	struct fail f = { 0 };
	int rc = clusteredit_drop(p->file, &p->text, "users", name, &f);

	if (rc > 0)
		return print_fail(p->np, STATUS_NOTFOUND, NULL, "'%s' has no user '%.60s'", p->c->name, name);
	return rc ? print_fail(p->np, STATUS_USAGE, NULL, "%s", f.text) : STATUS_OK;
}

static int user_change(struct nanopod *np, const struct options *o, char **words,
	int (*change)(struct provision *p, const char *name), const char *verb)
{
	struct provision p;
	int status = provision_init(&p, np, o);

	status = status ? status : provision_take_cluster(&p, words[0]);
	status = status ? status : plan_can_ask(np, o);
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
