/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/drivers.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/machine/iommu.h"
#include "agentd/os/opening.h"

static const struct {
	unsigned bit;
	const char *word;
} holds_words[] = {
	{ HOLDS_PROCESSES, "processes" }, { HOLDS_FILES, "files" }, { HOLDS_NETWORK, "network" }, { HOLDS_CPU, "cpu" },
	{ HOLDS_MEMORY, "memory" }, { HOLDS_DISK, "disk" }, { HOLDS_KERNEL, "kernel" }, { HOLDS_SYSTEM, "system" },
};

const struct driver *drivers_find(drivers all, const char *name)
{
	for (; *all; all++)
		if (strcmp((*all)->name, name) == 0)
			return *all;
	return NULL;
}

void drivers_tell(const struct driver *d, const struct driver_terms *terms, struct inventory_setup *out)
{
	out->driver = d ? d->name : NULL;
	out->devices = d && drivers_give_devices(d);
	out->functions = d && drivers_give_functions(d);
	out->shares = d && drivers_give_shares(d);
	out->node_memory = terms->node_memory;
	out->no_rate = terms->no_rate;
	out->shared = terms->shared;
}

void drivers_terms(const struct driver *d, const struct driver_setup *s, struct driver_terms *out)
{
	*out = (struct driver_terms){ 0 };
	if (d && d->terms)
		d->terms(s, out);
}

bool drivers_give_devices(const struct driver *d)
{
	return d->devices != DEVICES_NONE;
}

bool drivers_give_functions(const struct driver *d)
{
	return d->devices == DEVICES_FUNCTIONS;
}

bool drivers_give_shares(const struct driver *d)
{
	return d->devices == DEVICES_NODES;
}

/* What auto requires of a driver: it isolates tenants from each other, from this account and from root's network. */
static bool drivers_may_choose(unsigned holds)
{
	unsigned least = HOLDS_PROCESSES | HOLDS_FILES | (geteuid() == 0 ? HOLDS_NETWORK : 0u);

	return (holds & least) == least;
}

/* How a probe reports that only the root image is missing. */
static bool drivers_lacks_image(int rc, unsigned holds)
{
	return rc == -ENOENT && holds;
}

int drivers_choose(drivers all, const char *name, const struct driver_setup *setup, const struct driver **out,
	struct fail *f)
{
	bool any = strcmp(name, "auto") == 0;
	const char *lacking = NULL;
	struct fail why = { 0 };
	unsigned holds;

	if (!any && !drivers_find(all, name))
		return fail_set(f, -ENOENT, "no driver '%s'; 'nanopod-agentd drivers' lists them", name);
	for (; *all; all++) {
		int rc;

		if (!any && strcmp((*all)->name, name) != 0)
			continue;
		holds = 0;
		why.text[0] = '\0';
		rc = (*all)->probe(setup, &holds, &why);
		if (any ? rc == 0 && !*why.text && drivers_may_choose(holds)
			: rc == 0 || drivers_lacks_image(rc, holds)) { /* a sentence: it works, but badly */
			*out = *all;
			return 0;
		}
		if (drivers_lacks_image(rc, holds) && !lacking)
			lacking = (*all)->name;
		if (!any)
			return fail_set(f, -ENOTSUP, "driver '%s' does not work here: %s", name, why.text);
	}
	if (lacking)
		return fail_set(f, -ENOTSUP,
			"driver '%s' lacks only its image: run 'nanopod-agentd image build', or choose another with "
			"--driver NAME",
			lacking);
	return fail_set(f, -ENOTSUP,
		"no driver that isolates tenants works here; 'nanopod-agentd drivers' shows what each of them lacks, "
		"and --driver NAME uses one anyway");
}

static json_t *drivers_words_of(unsigned holds)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof holds_words / sizeof *holds_words; i++)
		if (holds & holds_words[i].bit)
			json_array_append_new(list, json_string(holds_words[i].word));
	return list;
}

/* Whether guests can have this machine's GPUs; "": yes, or nobody asks, for it has none. */
static void drivers_no_functions(const struct driver *d, const struct driver_setup *s, struct fail *why)
{
	const char *root = s->sysfs_root ? s->sysfs_root : "";

	*why = (struct fail){ 0 };
	if (!drivers_give_functions(d))
		return;
	if (iommu_any(root, why) == -ENODEV)
		*why = (struct fail){ 0 };
	else if (!why->code && !*root && geteuid() != 0)
		fail_set(why, -EPERM, "only root can give them: run nanopod-agentd as root");
}

static void drivers_print_one(const struct driver *d, const struct driver_setup *s, int rc, unsigned holds,
	const char *why, const char *no_gpus, FILE *out)
{
	fprintf(out, "%-8s %s\n", d->name, d->about);
	if (rc && !drivers_lacks_image(rc, holds)) {
		fprintf(out, "         does not work here: %s\n", why);
		return;
	}
	fprintf(out, "         %s%s%s\n", rc ? "would work" : "works", *why ? ": " : "", why);
	fprintf(out, "         isolates:");
	for (size_t i = 0; i < sizeof holds_words / sizeof *holds_words; i++)
		if (holds & holds_words[i].bit)
			fprintf(out, " %s", holds_words[i].word);
	fputs(holds ? "\n" : " nothing\n", out);
	if (*no_gpus)
		fprintf(out, "         gives nodes no GPUs: %s\n", no_gpus);
	for (size_t i = 0; (holds & HOLDS_NETWORK) && i < s->open_count; i++) {
		char text[OPENING_TEXT];

		opening_text(&s->open[i], text);
		fprintf(out, "         nodes may reach: %s\n", text);
	}
}

static json_t *drivers_openings(unsigned holds, const struct driver_setup *s)
{
	json_t *list = json_array();

	for (size_t i = 0; (holds & HOLDS_NETWORK) && i < s->open_count; i++) {
		char text[OPENING_TEXT];

		opening_text(&s->open[i], text);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

int drivers_verb(drivers all, const char *name, const struct driver_setup *setup, bool json, FILE *out)
{
	bool any = strcmp(name, "auto") == 0;
	json_t *list;
	char *text;

	if (!any && !drivers_find(all, name)) {
		fprintf(stderr, "nanopod-agentd: no driver '%s'; 'nanopod-agentd drivers' lists them\n", name);
		return 1;
	}
	list = json_array();
	for (; *all; all++) {
		struct fail why = { 0 }, no_gpus;
		unsigned holds = 0;
		int rc;

		if (!any && strcmp((*all)->name, name) != 0)
			continue;
		rc = (*all)->probe(setup, &holds, &why);
		drivers_no_functions(*all, setup, &no_gpus);
		if (!json)
			drivers_print_one(*all, setup, rc, holds, why.text, no_gpus.text, out);
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:b, s:o, s:o, s:s?, s:s?, s:s?}", "name", (*all)->name, "about",
				(*all)->about, "works", rc == 0 || drivers_lacks_image(rc, holds), "holds",
				drivers_words_of(holds), "allow_net", drivers_openings(holds, setup), "why",
				*why.text ? why.text : NULL, "no_gpus", *no_gpus.text ? no_gpus.text : NULL, "image",
				drivers_lacks_image(rc, holds)          ? "missing"
					: !rc && (holds & HOLDS_SYSTEM) ? "ready"
									: NULL));
	}
	text = json ? json_dumps(list, JSON_INDENT(2)) : NULL;
	if (text)
		fprintf(out, "%s\n", text);
	free(text);
	json_decref(list);
	return fflush(out) != 0;
}
