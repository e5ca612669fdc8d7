/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a cluster file: read or refused with a sentence; what is read keeps what it promises to scripts. */
#include "cli/provision/model/cluster.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Names of shell variables once '-' is '_', and no two that are one. */
static void check_settings(const struct use *u)
{
	for (size_t i = 0; i < u->settings.count; i++) {
		const char *key = u->settings.at[i].key;

		if (!*key || key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
			abort();
		for (const char *p = u->settings.at[i].value; *p; p++)
			if ((unsigned char)*p < ' ' && *p != '\n' && *p != '\t')
				abort();
		for (size_t k = 0; k < i; k++) {
			const char *a = key, *b = u->settings.at[k].key;

			while (*a && (*a == *b || (strchr("-_", *a) && *b && strchr("-_", *b))))
				a++, b++;
			if (!*a && !*b)
				abort();
		}
	}
}

static void check(const struct cluster *c)
{
	if (!stack_word(c->name) || c->count == 0 || c->count > CLUSTER_NODES ||
		strcmp(c->uses[0].stack->name, "base") != 0)
		abort();
	for (size_t i = 0; i < c->count; i++)
		if (*c->members[i] == '-' || strpbrk(c->members[i], " \t\n;&|$`\\\"'<>()*?/#!~"))
			abort();
	for (size_t i = 0; i < c->use_count; i++)
		check_settings(&c->uses[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *top = getenv("abs_top_srcdir");
	char folder[PATH_MAX];
	struct cluster *c = NULL;
	struct fail f = { 0 };

	snprintf(folder, sizeof folder, "%s/tests/fixtures/stacks", top ? top : ".");
	if (cluster_parse("fuzz", (const char *)data, size, folder, NULL, NULL, &c, &f) < 0 ? !*f.text : !c)
		abort();
	if (c)
		check(c);
	cluster_free(c);
	return 0;
}
