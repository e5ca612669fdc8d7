/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/sku_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/str.h"
#include "cli/frame/cell.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/frame/value.h"
#include "market/share.h"

enum { SKUS_MAX = 4096 };

static char *skus_copy(const char *text)
{
	char *s = text ? strdup(text) : NULL;

	if (text && !s)
		command_nomem();
	return s;
}

static int skus_add_one(void *arg, struct doc *d, long at, struct fail *f)
{
	struct skus *s = arg;
	struct model_sku sku;
	int rc = wire_sku(d, at, &sku, f);

	if (rc)
		return rc;
	if (s->count == SKUS_MAX)
		return 1;
	if ((s->count & (s->count - 1)) == 0) {
		struct sku *grown = realloc(s->list, (s->count ? s->count * 2 : 1) * sizeof *grown);

		if (!grown)
			command_nomem();
		s->list = grown;
	}
	s->list[s->count++] = (struct sku){ skus_copy(sku.id), skus_copy(sku.alias), skus_copy(sku.accelerator),
		skus_copy(sku.form_factor), skus_copy(sku.region), skus_copy(sku.zone), skus_copy(sku.rdma),
		skus_copy(sku.share), sku.gpus > 0 && sku.gpus <= 1024 && !sku.share ? (unsigned)sku.gpus : 0,
		sku.gpus == 0 || sku.share, sku.vcpus, sku.memory, sku.storage, sku.gpu_memory, sku.overcommit };
	return 0;
}

static void skus_remember(const struct market_link *m, const struct skus *s)
{
	const char **names = calloc(s->count + 1, sizeof *names), **help = calloc(s->count + 1, sizeof *help);

	if (!names || !help)
		command_nomem();
	for (size_t i = 0; i < s->count; i++) {
		names[i] = s->list[i].alias ? s->list[i].alias : s->list[i].id;
		help[i] = s->list[i].accelerator;
	}
	remember_all(REMEMBER_TYPES, m->url, names, help, s->count);
	free(names);
	free(help);
}

int skus_load(struct market_link *m, struct skus *out)
{
	int rc;

	*out = (struct skus){ 0 };
	rc = market_each(m, "/v2/instance_skus?limit=200", skus_add_one, out);
	if (rc) {
		skus_release(out);
		return market_fail(m, "cannot list the types of node");
	}
	/* A nanopod market always says how many GPUs a type has. */
	for (size_t i = 0; i < out->count && m->ours == 1; i++)
		out->list[i].bare = !out->list[i].gpus;
	skus_remember(m, out);
	return 0;
}

void skus_release(struct skus *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct sku *k = &s->list[i];

		free(k->id);
		free(k->alias);
		free(k->accelerator);
		free(k->form_factor);
		free(k->region);
		free(k->zone);
		free(k->rdma);
		free(k->share);
	}
	free(s->list);
	*s = (struct skus){ 0 };
}

const struct sku *skus_by_id(const struct skus *s, const char *id)
{
	for (size_t i = 0; id && i < s->count; i++)
		if (strcmp(s->list[i].id, id) == 0)
			return &s->list[i];
	return NULL;
}

static void contract_add(char room[SKU_CONTRACT], const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends ", TEXT", or TEXT to an empty text. */
static void contract_add(char room[SKU_CONTRACT], const char *fmt, ...)
{
	size_t used = strlen(room);
	va_list ap;

	if (used)
		used += (size_t)snprintf(room + used, SKU_CONTRACT - used, ", ");
	if (used >= SKU_CONTRACT)
		return;
	va_start(ap, fmt);
	vsnprintf(room + used, SKU_CONTRACT - used, fmt, ap);
	va_end(ap);
}

const char *sku_share_text(const char *share)
{
	return share_is_slice(share) ? "a slice: hardware of its own"
				     : "a share of its speed: for people who trust each other";
}

const char *sku_contract(const struct sku *sku, char room[SKU_CONTRACT])
{
	const char *model = sku->accelerator && *sku->accelerator ? sku->accelerator : NULL;
	char size[CELL_TEXT];

	room[0] = '\0';
	if (sku->share)
		contract_add(room, "%.40s of a%s%.60s GPU%s%s (%s)", sku->share, model ? " " : "", model ? model : "",
			sku->gpu_memory > 0 ? " of " : "", sku->gpu_memory > 0 ? cell_size(sku->gpu_memory, size) : "",
			sku_share_text(sku->share));
	else if (sku->gpus)
		contract_add(room, "%u%s%.60s GPU%s%s%s", sku->gpus, model ? " " : "", model ? model : "",
			sku->gpus == 1 ? "" : "s", sku->gpu_memory > 0 ? " of " : "",
			sku->gpu_memory > 0 ? cell_size(sku->gpu_memory, size) : "");
	if (sku->vcpus > 0 && sku->overcommit > 1)
		contract_add(room, "%" PRId64 " vCPU%s (%" PRId64 " share a core)", sku->vcpus,
			sku->vcpus == 1 ? "" : "s", sku->overcommit);
	else if (sku->vcpus > 0)
		contract_add(room, "%" PRId64 " vCPU%s", sku->vcpus, sku->vcpus == 1 ? "" : "s");
	if (sku->memory > 0)
		contract_add(room, "%s memory", cell_size(sku->memory, size));
	if (sku->storage > 0)
		contract_add(room, "%s disk", cell_size(sku->storage, size));
	return room;
}

static bool skus_same(const char *a, const char *b)
{
	return a && strcasecmp(a, b) == 0;
}

static bool skus_begins(const char *text, const char *typed)
{
	return text && strncasecmp(text, typed, strlen(typed)) == 0;
}

/* 3: its name; 2: its accelerator; 1: the beginning of either; 0: no. */
static int skus_fit(const struct sku *sku, const char *typed)
{
	if (!*typed)
		return 0;
	if (strcmp(sku->id, typed) == 0 || skus_same(sku->alias, typed))
		return 3;
	if (skus_same(sku->accelerator, typed))
		return 2;
	return skus_begins(sku->alias, typed) || skus_begins(sku->accelerator, typed);
}

bool sku_fits(const struct sku *sku, const char *typed)
{
	return skus_fit(sku, typed) > 0;
}

static void list_names(const struct skus *s, const char *typed, int least, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (skus_fit(&s->list[i], typed) < least)
			continue;
		if (++shown > 12) {
			buf_adds(out, " …");
			return;
		}
		buf_addf(out, "%s%s", shown > 1 ? ", " : "", s->list[i].alias ? s->list[i].alias : s->list[i].id);
	}
}

static int skus_refuse(struct nanopod *np, const struct skus *s, const char *typed, int best)
{
	const char *near = NULL;
	size_t far, nearest = SIZE_MAX;
	struct buf names;
	int rc;

	buf_init(&names, 8192);
	for (size_t i = 0; !best && i < s->count; i++) {
		if (s->list[i].alias && value_near(typed, s->list[i].alias, &far) && far < nearest) {
			nearest = far;
			near = s->list[i].alias;
		}
	}
	list_names(s, typed, best, &names);
	if (best)
		rc = print_fail_field(np, STATUS_USAGE, "--type",
			"type more of its name; 'nanopod types' describes them", "several types fit '%.60s': %s", typed,
			buf_text(&names));
	else if (near)
		rc = print_fail_field(np, STATUS_NOTFOUND, "--type", NULL, "no type '%.60s'; did you mean '%s'?", typed,
			near);
	else if (s->count)
		rc = print_fail_field(np, STATUS_NOTFOUND, "--type", NULL, "no type '%.60s'; available: %s", typed,
			buf_text(&names));
	else
		rc = print_fail_field(np, STATUS_NOTFOUND, "--type", NULL, "no type '%.60s': this market has no types",
			typed);
	buf_release(&names);
	return rc;
}

int skus_find(struct nanopod *np, const struct skus *s, const char *typed, const struct sku **out)
{
	const struct sku *found = NULL;
	int best = 0, many = 0;

	for (size_t i = 0; i < s->count; i++) {
		int how = skus_fit(&s->list[i], typed);

		if (how > best) {
			best = how;
			many = 0;
		}
		if (how && how == best) {
			found = &s->list[i];
			many++;
		}
	}
	if (many != 1)
		return skus_refuse(np, s, typed, best);
	*out = found;
	return 0;
}
