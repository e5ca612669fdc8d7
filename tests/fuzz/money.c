/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as money and prices: what is taken comes back as the same, what is refused changes nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "market/ident.h"
#include "market/money.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { UNTOUCHED = 0x5a5a5a5a };

static void check_amount(const char *text)
{
	struct fail f = { 0 };
	char room[MONEY_TEXT];
	int64_t n = UNTOUCHED, again;

	if (money_parse(text, &n, &f)) {
		if (n != UNTOUCHED || !*f.text)
			abort();
	} else if (n < 0 || money_parse_wire(money_wire(n, room), false, &again) || again != n) {
		abort();
	}
	n = UNTOUCHED;
	if (money_parse_wire(text, true, &n) == 0 &&
		(money_parse_wire(money_wire(n, room), true, &again) || again != n))
		abort();
	if (strlen(money_text(n, room)) >= MONEY_TEXT || strlen(money_wire(n, room)) >= MONEY_TEXT)
		abort();
}

/* A price is read back from its own text, where six decimals of a GPU's part can tell the steps apart. */
static void check_price(const char *text, unsigned gpus)
{
	char room[MONEY_TEXT];
	int64_t price = 0, wire = 0, again;
	bool exact;

	if (price_parse(text, gpus, &price, NULL) == 0 && gpus <= 60 && price < INT64_MAX / 120 &&
	    (price_parse(price_text(price, gpus, room), gpus, &again, NULL) || again != price))
		abort();
	if (price_parse_wire(text, &wire, &exact) == 0 &&
		(wire < 0 ||
			(wire < INT64_MAX / 60 &&
				(price_parse_wire(price_wire(wire, room), &again, &exact) || again != wire || !exact))))
		abort();
	if (strlen(price_text(price, gpus, room)) >= MONEY_TEXT || strlen(price_wire(wire, room)) >= MONEY_TEXT)
		abort();
}

static void check_ident(const char *text)
{
	char room[IDENT_TEXT], again[IDENT_TEXT];
	uint64_t id;

	for (int kind = 0; kind < IDENT_KINDS; kind++)
		if (ident_parse((enum ident)kind, text, &id) &&
		    (!ident_parse((enum ident)kind, ident_text((enum ident)kind, id, room), &id) ||
		     strcmp(ident_text((enum ident)kind, id, again), room) != 0))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	check_amount(text);
	check_price(text, 0);
	check_price(text, 1);
	check_price(text, 8);
	check_price(text, 1024);
	check_ident(text);
	free(text);
	return 0;
}
