/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/cell.h"

#include <inttypes.h>
#include <stdio.h>

#include "market/model.h"
#include "market/money.h"
#include "market/when.h"

_Static_assert((int)CELL_TEXT >= (int)WHEN_TEXT && (int)CELL_TEXT >= (int)MONEY_TEXT,
	"a cell has room for a time and for money");

bool cell_for_people(const struct nanopod *np)
{
	return np->format == FORMAT_TABLE || np->format == FORMAT_WIDE;
}

const char *cell_money(const struct nanopod *np, int64_t micros, char room[CELL_TEXT])
{
	if (micros == MODEL_NONE)
		return NULL;
	return cell_for_people(np) ? money_text(micros, room) : money_wire(micros, room);
}

const char *cell_micros(int64_t micros, char room[CELL_TEXT])
{
	if (micros == MODEL_NONE)
		return NULL;
	snprintf(room, CELL_TEXT, "%" PRId64, micros);
	return room;
}

const char *cell_price(int64_t price, unsigned gpus, char room[CELL_TEXT])
{
	return price < 0 ? NULL : price_text(price, gpus, room);
}

const char *cell_time(const struct nanopod *np, int64_t at, char room[CELL_TEXT])
{
	if (!at || at == MODEL_NEVER)
		return NULL;
	return cell_for_people(np) ? when_local(at, command_now(np), room) : when_iso(at, room);
}

const char *cell_int(int64_t n, char room[CELL_TEXT])
{
	if (n < 0)
		return NULL;
	snprintf(room, CELL_TEXT, "%" PRId64, n);
	return room;
}

const char *cell_size(int64_t n, char room[CELL_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	int64_t tenth = 0;
	size_t u = 0;

	for (; n >= 1024 && u + 1 < sizeof units / sizeof *units; u++) {
		tenth = n % 1024 * 10 / 1024;
		n /= 1024;
	}
	if (tenth)
		snprintf(room, CELL_TEXT, "%" PRId64 ".%" PRId64 " %s", n, tenth, units[u]);
	else
		snprintf(room, CELL_TEXT, "%" PRId64 " %s", n, units[u]);
	return room;
}

const char *cell_bytes(const struct nanopod *np, int64_t n, char room[CELL_TEXT])
{
	return cell_for_people(np) && n >= 0 ? cell_size(n, room) : cell_int(n, room);
}

const char *cell_bool(bool b)
{
	return b ? "true" : "false";
}
