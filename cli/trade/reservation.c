/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/reservation.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/frame/remember.h"
#include "cli/frame/settings.h"
#include "market/ident.h"
#include "market/when.h"

enum { SOON = 15 * 60 };

static char *trade_reservation_copy(const char *text)
{
	char *s = strdup(text ? text : "");

	if (!s)
		command_nomem();
	return s;
}

static struct model_span *copy_spans(const struct model_schedule *s, size_t *count)
{
	struct model_span *list = calloc(s->count + 1, sizeof *list);

	if (!list)
		command_nomem();
	*count = 0;
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].nodes > 0)
			list[(*count)++] = s->list[i];
	return list;
}

void reservation_copy(struct reservation *r, const struct model_pool *p)
{
	*r = (struct reservation){ .id = trade_reservation_copy(p->id),
		.name = trade_reservation_copy(p->name),
		.kind = trade_reservation_copy(p->kind),
		.created_at = p->created_at };
	r->parts = calloc(p->sku_count + 1, sizeof *r->parts);
	if (!r->parts)
		command_nomem();
	for (size_t i = 0; i < p->sku_count; i++) {
		struct reservation_part *part = &r->parts[r->count];

		part->spans = copy_spans(&p->by_sku[i].schedule, &part->count);
		if (part->count == 0) {
			free(part->spans);
			continue;
		}
		part->sku = trade_reservation_copy(p->by_sku[i].sku);
		r->count++;
	}
}

void reservation_clone(struct reservation *to, const struct reservation *from)
{
	*to = (struct reservation){ .id = trade_reservation_copy(from->id),
		.name = trade_reservation_copy(from->name),
		.kind = trade_reservation_copy(from->kind),
		.created_at = from->created_at,
		.count = from->count };
	to->parts = calloc(from->count + 1, sizeof *to->parts);
	if (!to->parts)
		command_nomem();
	for (size_t i = 0; i < from->count; i++) {
		const struct reservation_part *part = &from->parts[i];

		to->parts[i] = (struct reservation_part){ trade_reservation_copy(part->sku),
			calloc(part->count + 1, sizeof *part->spans), part->count };
		if (!to->parts[i].spans)
			command_nomem();
		memcpy(to->parts[i].spans, part->spans, part->count * sizeof *part->spans);
	}
}

void reservation_release(struct reservation *r)
{
	for (size_t i = 0; i < r->count; i++) {
		free(r->parts[i].sku);
		free(r->parts[i].spans);
	}
	free(r->parts);
	free(r->id);
	free(r->name);
	free(r->kind);
	*r = (struct reservation){ 0 };
}

struct looking {
	const char *typed;
	struct reservation *out;
	bool found;
};

/* The filter by `id` differs between markets, so each result is checked here. */
static int reservation_look_at(void *arg, struct doc *d, long at, struct fail *f)
{
	struct looking *l = arg;
	struct model_pool p;
	int rc = wire_pool(d, at, &p, f);

	if (rc)
		return rc;
	if (strcmp(p.name ? p.name : "", l->typed) != 0 && strcmp(p.id ? p.id : "", l->typed) != 0)
		return 0;
	reservation_copy(l->out, &p);
	l->found = true;
	return 1;
}

int reservation_look(struct market_link *m, const char *typed, struct reservation *out)
{
	struct looking l = { .typed = typed, .out = out };
	struct model_pool p;
	struct buf path;
	int rc;

	if (ident_looks(IDENT_POOL, typed)) {
		rc = market_get(m, "/v2/pools/%s", typed);
		if (rc == REASON_NOT_FOUND)
			return 1;
		rc = rc ? rc : wire_pool(m->doc, WIRE_WHOLE, &p, &m->fail);
		if (!rc)
			reservation_copy(out, &p);
		return rc;
	}
	buf_init(&path, 4096);
	if (buf_adds(&path, "/v2/pools?limit=200&id=") || client_quote(&path, typed))
		command_nomem();
	rc = market_each(m, buf_text(&path), reservation_look_at, &l);
	/* A market whose filter takes no names refuses it: then we look through the whole list. */
	if (!l.found && (rc == REASON_INVALID || rc == REASON_NOT_FOUND))
		rc = market_each(m, "/v2/pools?limit=200", reservation_look_at, &l);
	buf_release(&path);
	return rc ? rc : !l.found;
}

struct reservation_node {
	const char *typed;
	char of[256];
};

static int reservation_match_node(void *arg, struct doc *d, long at, struct fail *f)
{
	struct reservation_node *n = arg;
	struct model_instance i;
	int rc = wire_instance(d, at, &i, f);

	if (rc || !i.name || strcmp(i.name, n->typed) != 0 || !i.pool.name)
		return rc;
	snprintf(n->of, sizeof n->of, "%s", i.pool.name);
	return 1;
}

int reservation_missing(struct market_link *m, const char *typed, const char *field)
{
	char near[REMEMBER_NAME] = "", hint[REMEMBER_NAME + 80];
	struct reservation_node node = { .typed = typed };
	size_t far = SIZE_MAX;
	bool slip;

	if (!m->explain)
		market_each(m, "/v2/instances?limit=200", reservation_match_node, &node);
	if (*node.of)
		return print_fail_field(m->np, STATUS_NOTFOUND, field, "a reservation is needed here",
			"no reservation '%.60s': it is a node of '%.200s'", typed, node.of);
	slip = remember_near(REMEMBER_RESERVATIONS, m->where, typed, false, near, &far);
	snprintf(hint, sizeof hint, "%s%s%s'nanopod reservations' lists yours", slip ? "did you mean '" : "", near,
		slip ? "'? " : "");
	return print_fail_field(m->np, STATUS_NOTFOUND, field, hint, "no reservation '%.60s'", typed);
}

int reservation_find(struct market_link *m, const char *typed, struct reservation *out)
{
	int rc;

	if (!ident_looks(IDENT_POOL, typed) && reservation_check_name(typed, &m->fail))
		return print_fail(m->np, STATUS_USAGE, "'nanopod reservations' lists them",
			"cannot look for a reservation: %s", m->fail.text);
	rc = reservation_look(m, typed, out);
	if (rc == 1)
		return reservation_missing(m, typed, NULL);
	if (rc)
		return market_fail(m, "cannot look for the reservation '%.60s'", typed);
	remember_one(REMEMBER_RESERVATIONS, m->where, out->name, NULL);
	return 0;
}

const struct reservation_part *reservation_part(const struct reservation *r, const char *sku)
{
	if (!sku)
		return r->count == 1 ? &r->parts[0] : NULL;
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->parts[i].sku, sku) == 0)
			return &r->parts[i];
	return NULL;
}

int64_t part_nodes_at(const struct reservation_part *p, int64_t at)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->spans[i].start <= at && at < p->spans[i].end)
			return p->spans[i].nodes;
	return 0;
}

int64_t part_start(const struct reservation_part *p)
{
	return p->spans[0].start;
}

int64_t part_begins(const struct reservation_part *p, int64_t now)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->spans[i].end > now)
			return p->spans[i].start > now ? p->spans[i].start : now;
	return now;
}

int64_t part_end(const struct reservation_part *p)
{
	return p->spans[p->count - 1].end;
}

/* Spans are in order of time; between two of them there may be none. */
int64_t part_least(const struct reservation_part *p, int64_t start, int64_t end)
{
	int64_t least = INT64_MAX, at = start;

	for (size_t i = 0; i < p->count && at < end; i++) {
		const struct model_span *s = &p->spans[i];

		if (s->end <= at)
			continue;
		if (s->start > at)
			return 0;
		if (s->nodes < least)
			least = s->nodes;
		at = s->end;
	}
	return at < end ? 0 : least;
}

size_t part_ends(const struct reservation_part *p, int64_t after, struct part_end_at *list, size_t room)
{
	int64_t going = 0, at = 0; /* nodes that go on from then on */
	size_t count = 0;

	for (size_t i = p->count; i-- > 0 && p->spans[i].end > after;) {
		const struct model_span *s = &p->spans[i];
		int64_t nodes = s->nodes - (s->end == at ? going : 0);

		if (nodes > 0 && count < room)
			list[count] = (struct part_end_at){ s->end, nodes };
		count += nodes > 0;
		going = s->nodes;
		at = s->start;
	}
	return count;
}

int64_t part_most(const struct reservation_part *p)
{
	int64_t most = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->spans[i].nodes > most)
			most = p->spans[i].nodes;
	return most;
}

const char *reservation_state(const struct reservation *r, int64_t now)
{
	bool pending = false;

	for (size_t i = 0; i < r->count; i++) {
		if (part_nodes_at(&r->parts[i], now) > 0)
			return "running";
		if (part_end(&r->parts[i]) > now)
			pending = true;
	}
	return pending ? "pending" : "ended";
}

void reservation_tell_end(struct nanopod *np, const struct reservation *r, int64_t now)
{
	int64_t end = 0;

	for (size_t i = 0; i < r->count; i++)
		end = part_end(&r->parts[i]) > end ? part_end(&r->parts[i]) : end;
	if (strcmp(reservation_state(r, now), "running") == 0)
		reservation_tell_soon(np, r->name, end, now);
}

struct released {
	const char *name, *end;
	bool found;
};

static void reservation_compare_released(void *arg, const char *name, const char *end)
{
	struct released *r = arg;

	r->found = r->found || (strcmp(name, r->name) == 0 && strcmp(end ? end : "", r->end) == 0);
}

static bool reservation_was_released(const struct nanopod *np, const char *name, int64_t end)
{
	char when[WHEN_TEXT];
	struct released r = { .name = name, .end = when_iso(end, when) };
	const char *url = settings_text(np->settings, SETTING_ID_URL);

	if (url)
		remember_each(REMEMBER_RELEASED, url, reservation_compare_released, &r);
	return r.found;
}

void reservation_note_released(const struct market_link *m, const char *name, int64_t end)
{
	char when[WHEN_TEXT];

	remember_one(REMEMBER_RELEASED, m->url, name, when_iso(end, when));
}

void reservation_tell_soon(struct nanopod *np, const char *name, int64_t end, int64_t now)
{
	char when[WHEN_TEXT];

	/* --account: whoever looks at others' reservations extends none. */
	if (!np->account && end > now && end - now <= SOON && !reservation_was_released(np, name, end))
		print_note(np, "'%s' ends %s; 'nanopod extend %s -d 1h' keeps its nodes", name,
			when_relative(end, now, when), name);
}

int reservation_check_name(const char *name, struct fail *f)
{
	size_t len = strlen(name);
	bool good = isalnum((unsigned char)*name) && len <= 200;

	for (size_t i = 0; good && i < len; i++)
		good = isalnum((unsigned char)name[i]) || strchr("._-", name[i]);
	if (good)
		return 0;
	return fail_set(f, -EINVAL,
		"'%.60s' is not a name: use letters, digits, '.', '_' and '-', with a letter or digit first", name);
}
