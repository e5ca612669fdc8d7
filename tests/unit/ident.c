/* SPDX-License-Identifier: Apache-2.0 */
/* Ids go there and back, look like nothing, and a wrong letter is not another id of the same kind by luck. */
#include "../lib/tap.h"
#include "market/ident.h"
#include "market/reason.h"

static void round_trips(void)
{
	static const uint64_t ids[] = { 1, 2, 3, 1000, 1u << 31, UINT64_MAX, UINT64_MAX - 1, 0x8000000000000000u };
	unsigned wrong = 0, mixed = 0, same = 0;
	char a[IDENT_TEXT], b[IDENT_TEXT];
	uint64_t id;

	for (int kind = 0; kind < IDENT_KINDS; kind++)
		for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
			id = 0;
			ident_text((enum ident)kind, ids[i], a);
			wrong += !ident_parse((enum ident)kind, a, &id) || id != ids[i] || strlen(a) >= IDENT_TEXT;
			for (int other = 0; other < IDENT_KINDS; other++)
				mixed += other != kind && ident_parse((enum ident)other, a, &id);
		}
	is_int(wrong, 0, "every id of every kind comes back");
	is_int(mixed, 0, "and is no id of another kind");
	wrong = 0;
	for (uint64_t n = 1; n < 20000; n++)
		wrong += !ident_parse(IDENT_ORDER, ident_text(IDENT_ORDER, n, a), &id) || id != n;
	is_int(wrong, 0, "so do the first twenty thousand");
	ident_text(IDENT_ORDER, 1, a);
	ident_text(IDENT_ORDER, 2, b);
	for (size_t i = 5; i < 18; i++)
		same += a[i] == b[i];
	ok(same < 8, "neighbours do not look alike: %s and %s", a, b);
	ident_text(IDENT_POOL, 1, b);
	ok(strcmp(a + 5, b + 5) != 0, "the first pool does not look like the first order");
}

static void refused(void)
{
	char a[IDENT_TEXT], b[IDENT_TEXT + 4];
	uint64_t id = 99;

	ident_text(IDENT_POOL, 5, a);
	snprintf(b, sizeof b, "cap_%s", a + 5);
	ok(ident_parse(IDENT_POOL, b, &id) && id == 5, "the legacy prefix is read: %s", b);
	is_str(ident_text(IDENT_POOL, id, b), a, "and never written");
	id = 99;
	ok(!ident_parse(IDENT_POOL, "pool_", &id), "no letters");
	ok(!ident_parse(IDENT_POOL, "pool_0123456789abcd", &id), "a letter too many");
	ok(!ident_parse(IDENT_POOL, "pool_zzzzzzzzzzzzz", &id), "more than 64 bits");
	ok(!ident_parse(IDENT_POOL, "pool_012345678901l", &id), "a letter that is none");
	ok(!ident_parse(IDENT_POOL, "POOL_0000000000000", &id), "another case");
	ok(!ident_parse(IDENT_POOL, "", &id) && !ident_parse(IDENT_POOL, "pool", &id), "nothing");
	snprintf(b, sizeof b, "%s", ident_text(IDENT_POOL, 0, a));
	ok(!ident_parse(IDENT_POOL, b, &id), "what stands for none cannot be named from outside: %s", b);
	is_int(id, 99, "nothing is written where it is refused");
	ok(ident_looks(IDENT_SKU, "clus_whatever") && !ident_looks(IDENT_SKU, "h100"),
		"an alias does not look like an id");
}

static void reasons(void)
{
	unsigned wrong = 0;

	for (int r = REASON_BASE + 1; r < REASON_END; r++)
		wrong += reason_find(reason_row(r)->code) != r || reason_row(r)->http < 400 ||
			reason_row(r)->status < 1;
	is_int(wrong, 0, "every reason is found by its word");
	is_int(reason_find("no such word"), REASON_NONE, "and no other is");
	is_int(reason_find(NULL), REASON_NONE, "nor nothing");
	is_str(reason_row(12345)->code, "internal", "what is none is a mistake of the market");
	is_int(reason_row(REASON_FUNDS)->http, 402, "the balance does not cover it: 402");
	is_int(reason_row(REASON_FUNDS)->status, 7, "exit 7");
}

int main(void)
{
	round_trips();
	refused();
	reasons();
	return done();
}
