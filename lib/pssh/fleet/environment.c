/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that the configuration gives to every command of a host: SendEnv and SetEnv. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "pssh/fleet/fleet.h"

static bool environment_wanted(char *const *patterns, const char *name)
{
	for (; *patterns; patterns++)
		if (str_glob(*patterns, name))
			return true;
	return false;
}

/* Adds the name and the value of "NAME=value" if a pattern fits; patterns NULL: always. */
static int environment_add(struct pssh_host *h, size_t *n, const char *both, char *const *patterns)
{
	size_t len = strcspn(both, "=");
	char *name = both[len] ? strndup(both, len) : NULL;
	int rc = 0;

	if (!name)
		return both[len] ? PSSH_ENOMEM : 0;
	if (*name && (!patterns || environment_wanted(patterns, name)))
		rc = strings_add(&h->env, n, name) || strings_add(&h->env, n, both + len + 1) ? PSSH_ENOMEM : 0;
	free(name);
	return rc;
}

int host_environment(struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->config;
	size_t n = 0;
	int rc = 0;

	for (char **e = environ; c->send_env && *c->send_env && e && *e && !rc; e++)
		rc = environment_add(h, &n, *e, c->send_env);
	for (char **e = c->set_env; e && *e && !rc; e++)
		rc = environment_add(h, &n, *e, NULL);
	if (rc)
		strings_free(&h->env, &n);
	return rc;
}
