/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/entry.h"

#include <stdlib.h>
#include <string.h>

int entry_refuse(struct pssh *p, const char *what)
{
	return fail_set(&p->why, PSSH_EINVAL, "%s", what);
}

int entry_here(struct pssh *p)
{
	if (!fleet_forked(p))
		return 0;
	return entry_refuse(p, "this fleet belongs to the parent process; a forked child makes its own by pssh_new()");
}

int entry_no_memory(struct pssh *p)
{
	return fail_set(&p->why, PSSH_ENOMEM, "out of memory");
}

int entry_set_text(struct pssh *p, char **where, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return entry_no_memory(p);
	free(*where);
	*where = copy;
	return 0;
}

int entry_add_variable(struct pssh *p, char ***env, size_t *count, const char *name, const char *value)
{
	if (!*name || strchr(name, '='))
		return fail_set(&p->why, PSSH_EINVAL, "'%s' is not the name of a variable", name);
	if (strings_add(env, count, name) != 0)
		return entry_no_memory(p);
	if (strings_add(env, count, value) != 0) {
		free((*env)[--*count]); /* remove the name whose value did not fit */
		(*env)[*count] = NULL;
		return entry_no_memory(p);
	}
	return 0;
}
