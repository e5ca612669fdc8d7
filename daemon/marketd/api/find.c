/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds a thing by what people write: an id, a resource path, a name. What belongs to another account
 * is not found, as if it did not exist.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "marketd/api/render.h"

/* The account that a resource path names, by its name or its id. */
static const struct account *find_owner(const struct engine *e, const char *text, size_t len)
{
	char room[NAME_BYTES + 1];
	uint64_t id;

	if (len >= sizeof room)
		return NULL;
	memcpy(room, text, len);
	room[len] = '\0';
	return ident_parse(IDENT_ACCOUNT, room, &id) ? engine_account(e, id) : engine_account_named(e, room);
}

/*
 * The name at the end of "sfc:KIND:<account>:default:<name>"; text itself if it is no path; NULL
 * if the path is not this account's (0: any; then *account becomes that of the path).
 */
static const char *find_name_in(const struct engine *e, const char *kind, const char *text, uint64_t *account)
{
	char start[32];
	const char *owner, *workspace, *name;
	const struct account *a;

	if (!str_starts(text, "sfc:"))
		return text;
	snprintf(start, sizeof start, "sfc:%s:", kind);
	if (!str_starts(text, start))
		return NULL;
	owner = text + strlen(start);
	workspace = strchr(owner, ':');
	name = workspace ? strchr(workspace + 1, ':') : NULL;
	if (!name || (size_t)(name - workspace - 1) != strlen("default") || !str_starts(workspace + 1, "default"))
		return NULL;
	a = find_owner(e, owner, (size_t)(workspace - owner));
	if (!a || (*account && a->id != *account))
		return NULL;
	*account = a->id;
	return name + 1;
}

bool pool_seen(const struct pool *p)
{
	return !p->deleted && !(strcmp(p->name, SCRIPT_POOL) == 0 && p->tags && strstr(p->tags, "\"script\":"));
}

const struct pool *find_pool(const struct engine *e, uint64_t account, const char *text)
{
	const struct pool *p = NULL;
	const char *name;
	uint64_t id;

	if (ident_parse(IDENT_POOL, text, &id))
		p = engine_pool(e, id);
	else if ((name = find_name_in(e, "pool", text, &account)) && account)
		p = engine_pool_named(e, account, name);
	return p && pool_seen(p) && (!account || p->account == account) ? p : NULL;
}

const struct instance *find_instance(const struct engine *e, uint64_t account, const char *text)
{
	const struct instance *i = NULL;
	const char *name;
	uint64_t id;

	if (ident_parse(IDENT_INSTANCE, text, &id)) {
		i = engine_instance(e, id);
	} else if ((name = find_name_in(e, "instance", text, &account)) && account) {
		i = engine_instance_named(e, account, name);
		if (!i) /* no live one: the last one that ended */
			for (i = engine_instance_before(e, account, UINT64_MAX); i && strcmp(i->name, name) != 0;)
				i = engine_instance_before(e, account, i->id);
	}
	return i && (!account || i->account == account) ? i : NULL;
}

const struct procurement *find_procurement(const struct engine *e, uint64_t account, const char *text)
{
	const struct procurement *p = NULL;
	const char *name;
	uint64_t id;

	if (ident_parse(IDENT_PROCUREMENT, text, &id))
		p = engine_procurement(e, id);
	else if ((name = find_name_in(e, "procurement", text, &account)) && account)
		for (p = engine_procurement_after(e, account, 0); p && strcmp(p->name, name) != 0;)
			p = engine_procurement_after(e, account, p->id);
	return p && (!account || p->account == account) ? p : NULL;
}

const struct sku *find_sku(const struct engine *e, const char *text)
{
	uint64_t id;

	return ident_parse(IDENT_SKU, text, &id) ? engine_sku(e, id) : engine_sku_named(e, text);
}

bool find_image(const char *text, uint64_t *image)
{
	uint64_t id;

	if (ident_parse(IDENT_IMAGE, text, &id) ? id != IMAGE_ID
						: strcmp(text, IMAGE_PATH) != 0 && strcmp(text, IMAGE_NAME) != 0)
		return false;
	*image = IMAGE_ID;
	return true;
}

bool find_workspace(const struct engine *e, uint64_t account, const char *text)
{
	static const char start[] = "sfc:workspace:";
	const struct account *a;
	const char *owner, *workspace;
	uint64_t id;

	if (ident_parse(IDENT_WORKSPACE, text, &id))
		return account ? id == account : engine_account(e, id) != NULL;
	if (!engine_account(e, account))
		return false;
	if (!str_starts(text, start))
		return strcmp(text, "default") == 0;
	owner = text + strlen(start);
	workspace = strchr(owner, ':');
	a = workspace && strcmp(workspace, ":default") == 0 ? find_owner(e, owner, (size_t)(workspace - owner)) : NULL;
	return a && a->id == account;
}
