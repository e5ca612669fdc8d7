/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/toptable.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/cell.h"
#include "cli/screen/spark.h"
#include "cli/top/toppage.h"

enum { CURVE_BYTES = 4096, CURVE_CELLS = 10 };

enum toptable_kind {
	TABLE_TEXT,
	TABLE_INT,
	TABLE_TIME,
	TABLE_MONEY,
	TABLE_MICROS,
	TABLE_RATIO,
	TABLE_CPU, /* cores of a node, a part of a machine */
	TABLE_BYTES,
	TABLE_NUMBER,
	TABLE_CURVE,
	TABLE_GPU,
	TABLE_COUNT,
	TABLE_AGE,
	TABLE_USED_BY,
	TABLE_NOW,
};

#define N (1u << TOP_OF_NODES)
#define G (1u << TOP_OF_GPUS)
#define M (1u << TOP_OF_MACHINES)
#define RIGHT (COLUMN_RIGHT | COLUMN_RAW)
#define MORE (COLUMN_WIDE | COLUMN_RAW)
#define AT(member) offsetof(struct toprow, member)

static const struct toptable_field {
	struct column column;
	unsigned of;
	enum toptable_kind kind;
	size_t at;
} toptable_fields[] = {
	{ { "node", COLUMN_ID, "its name" }, N | G, TABLE_TEXT, AT(name) },
	{ { "host", COLUMN_ID, "its name" }, M, TABLE_TEXT, AT(name) },
	{ { "gpu", RIGHT, "which of its GPUs, from 0" }, G, TABLE_GPU, AT(gpu) },
	{ { "machine_gpu", MORE, "which GPU of its machine that is, from 0" }, G, TABLE_NUMBER,
		AT(of_gpus.machine_gpu) },
	{ { "used_by", 0, "hosts whose running nodes have it" }, 0, TABLE_USED_BY, 0 },
	{ { "id", COLUMN_WIDE, "its id" }, N | G | M, TABLE_TEXT, AT(id) },
	{ { "reservation", COLUMN_WIDE, "its reservation" }, N | G, TABLE_TEXT, AT(reservation) },
	{ { "status", COLUMN_STATE, "pending, running or down; of a host its health" }, N | G | M, TABLE_TEXT,
		AT(state) },
	{ { "type", COLUMN_MINOR, "type of node" }, N | G, TABLE_TEXT, AT(type) },
	{ { "nodes", RIGHT, "nodes on it" }, M, TABLE_INT, AT(nodes) },
	{ { "gpus", MORE, "how many GPUs" }, N | M, TABLE_COUNT, AT(gpus) },
	{ { "curve", COLUMN_RAW, "use in the last 15 minutes, oldest first; without GPUs that of processors" },
		N | G | M, TABLE_CURVE, 0 },
	{ { "use", RIGHT, "use of its GPUs, from 0 to 1" }, N | G | M, TABLE_RATIO, AT(of_gpus.use) },
	{ { "age", RIGHT, "age of the values in seconds" }, N | G | M, TABLE_AGE, AT(age) },
	{ { "gpu_memory", RIGHT, "memory of its GPUs in use, in bytes" }, N | G | M, TABLE_BYTES, AT(of_gpus.memory) },
	{ { "gpu_memory_total", MORE, "memory that they have" }, N | G | M, TABLE_BYTES, AT(of_gpus.memory_total) },
	{ { "watts", RIGHT, "what its GPUs draw" }, N | G | M, TABLE_NUMBER, AT(of_gpus.power) },
	{ { "watts_limit", MORE, "what they may draw" }, N | G | M, TABLE_NUMBER, AT(of_gpus.power_limit) },
	{ { "temperature", RIGHT, "of the hottest GPU, in degrees Celsius" }, N | G | M, TABLE_NUMBER,
		AT(of_gpus.temperature) },
	{ { "throttled", MORE, "1: heat or power slows a GPU down" }, N | G | M, TABLE_NUMBER, AT(of_gpus.throttled) },
	{ { "memory_errors", MORE, "of GPUs, that could not be corrected" }, N | G | M, TABLE_NUMBER,
		AT(of_gpus.memory_errors) },
	{ { "xid", MORE, "the last Xid error of NVIDIA's driver within an hour; 0: none" }, G, TABLE_NUMBER,
		AT(of_gpus.xid) },
	{ { "clock", MORE, "of the GPU, in hertz" }, G, TABLE_NUMBER, AT(of_gpus.clock) },
	{ { "cpu", RIGHT | COLUMN_MINOR, "processors in use; of a host from 0 to 1" }, N | M, TABLE_CPU, AT(of.cpu) },
	{ { "memory", RIGHT | COLUMN_MINOR, "in use, in bytes" }, N | M, TABLE_BYTES, AT(of.memory) },
	{ { "memory_total", MORE, "that there is" }, M, TABLE_BYTES, AT(of.memory_total) },
	{ { "disk", RIGHT | COLUMN_MINOR, "used of the disk that nodes are on, in bytes" }, M, TABLE_BYTES,
		AT(of.disk) },
	{ { "disk_total", MORE, "size of that disk" }, M, TABLE_BYTES, AT(of.disk_total) },
	{ { "disk_read", MORE, "bytes per second" }, M, TABLE_BYTES, AT(of.disk_read) },
	{ { "disk_written", MORE, "bytes per second" }, M, TABLE_BYTES, AT(of.disk_written) },
	{ { "network_in", RIGHT | COLUMN_MINOR, "received, bytes per second" }, N | M, TABLE_BYTES, AT(of.network_in) },
	{ { "network_out", RIGHT | COLUMN_MINOR, "sent, bytes per second" }, N | M, TABLE_BYTES, AT(of.network_out) },
	{ { "cost_per_hour", COLUMN_RIGHT, "what it costs now" }, N, TABLE_MONEY, AT(cost) },
	{ { "cost_per_hour_micros", COLUMN_RAW | COLUMN_HIDDEN, "the same in micro-dollars" }, N, TABLE_MICROS,
		AT(cost) },
	{ { "ends", 0, "end of its time" }, N | G, TABLE_TIME, AT(end) },
	{ { "measured", COLUMN_WIDE, "when the values were measured" }, N | G | M, TABLE_TIME, AT(at) },
	{ { "time", COLUMN_HIDDEN, "when the market was asked, by its clock" }, N | G | M, TABLE_NOW, 0 },
};

enum { TOPTABLE_FIELDS = sizeof toptable_fields / sizeof *toptable_fields };
_Static_assert((int)TOPTABLE_FIELDS < (int)TOPTABLE_COLUMNS, "there is room for all columns and the end");

static bool toptable_wanted(const struct toptable_field *f, const struct topwish *w)
{
	if (w->machines && w->of == TOP_OF_GPUS)
		return strcmp(f->column.name, "node") != 0 && strcmp(f->column.name, "reservation") != 0 &&
			strcmp(f->column.name, "type") != 0 && strcmp(f->column.name, "ends") != 0 &&
			strcmp(f->column.name, "machine_gpu") != 0 &&
			(f->of & G || f->column.flags & COLUMN_ID || f->kind == TABLE_USED_BY);
	return f->of & 1u << w->of;
}

void toptable_columns(const struct topwish *w, struct column out[TOPTABLE_COLUMNS])
{
	size_t n = 0;

	for (size_t i = 0; i < TOPTABLE_FIELDS; i++)
		if (toptable_wanted(&toptable_fields[i], w))
			out[n++] = toptable_fields[i].column;
	out[n] = (struct column){ 0 };
}

/* ---- Cells ----------------------------------------------------------------------------- */

static const char *toptable_curve(const struct nanopod *np, const struct toprow *r, char room[CURVE_BYTES])
{
	size_t len = 1;

	if (cell_for_people(np))
		return r->points ? spark_text(r->curve, r->points, r->most, CURVE_CELLS, room) : NULL;
	room[0] = '[';
	for (size_t i = 0; i < r->points; i++) {
		char number[32];

		snprintf(number, sizeof number, "%.4g", r->curve[i]);
		len += (size_t)snprintf(room + len, CURVE_BYTES - len, "%s%s", i ? "," : "",
			isnan(r->curve[i]) ? "null" : number);
	}
	snprintf(room + len, CURVE_BYTES - len, "]");
	return room;
}

/* A number that was measured: as people read it, or as it is. */
static const char *toptable_real(const struct nanopod *np, const struct topwish *w, enum toptable_kind kind, double n,
	char room[CURVE_BYTES])
{
	if (isnan(n))
		return NULL;
	if (!cell_for_people(np)) {
		snprintf(room, CURVE_BYTES, kind == TABLE_BYTES ? "%.0f" : "%.5g", n);
		return room;
	}
	if (kind == TABLE_BYTES)
		return top_bytes(n, room);
	if (kind == TABLE_RATIO || (kind == TABLE_CPU && w->machines))
		return top_ratio(n, room);
	return kind == TABLE_CPU ? top_cores(n, room) : top_number(n, room);
}

static const char *toptable_cell(const struct nanopod *np, const struct topwish *w, const struct toptable_field *f,
	const struct toprow *r, char room[CURVE_BYTES])
{
	const void *at = (const char *)r + f->at;

	switch (f->kind) {
	case TABLE_TEXT:
		return *(const char *const *)at;
	case TABLE_INT:
		return cell_int(*(const int64_t *)at, room);
	case TABLE_GPU:
		return cell_int(r->gpu, room);
	case TABLE_USED_BY:
		return *r->used_by ? r->used_by : NULL;
	case TABLE_COUNT:
		return cell_int((int64_t)r->gpus, room);
	case TABLE_TIME:
		return cell_time(np, *(const int64_t *)at, room);
	case TABLE_NOW:
		return cell_time(np, w->now, room);
	case TABLE_MONEY:
		return r->cost < 0 ? NULL : cell_money(np, r->cost, room);
	case TABLE_MICROS:
		return r->cost < 0 ? NULL : cell_micros(r->cost, room);
	case TABLE_AGE:
		return r->age < 0 ? NULL : cell_for_people(np) ? top_age(r->age, room) : cell_int(r->age, room);
	case TABLE_CURVE:
		return toptable_curve(np, r, room);
	default:
		return toptable_real(np, w, f->kind, *(const double *)at, room);
	}
}

void toptable_add(struct nanopod *np, struct rows *to, const struct topwish *w, const struct toprows *rows)
{
	static const size_t size = CURVE_BYTES;
	char *rooms = malloc(TOPTABLE_FIELDS * size);
	const char *cells[TOPTABLE_FIELDS];

	if (!rooms)
		command_nomem();
	for (size_t k = 0; k < rows->count; k++) {
		size_t n = 0;

		for (size_t i = 0; i < TOPTABLE_FIELDS; i++)
			if (toptable_wanted(&toptable_fields[i], w)) {
				cells[n] = toptable_cell(np, w, &toptable_fields[i], &rows->list[k], rooms + n * size);
				n++;
			}
		rows_add(to, cells);
	}
	free(rooms);
}
