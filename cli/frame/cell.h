/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Money and time in rows: readable in a table, elsewhere exact for programs (a decimal string, RFC 3339 in
 * UTC). NULL where the value is not known: rows then show no value.
 */
#ifndef CLI_FRAME_CELL_H
#define CLI_FRAME_CELL_H

#include <stdint.h>

#include "cli/frame/command.h"

enum { CELL_TEXT = 64 };

const char *cell_money(const struct nanopod *np, int64_t micros, char room[CELL_TEXT]); /* MODEL_NONE: NULL */
const char *cell_micros(int64_t micros, char room[CELL_TEXT]);                          /* the integer beside it */
const char *cell_price(int64_t price, unsigned gpus, char room[CELL_TEXT]); /* per GPU-hour; below 0: NULL */
const char *cell_time(const struct nanopod *np, int64_t at, char room[CELL_TEXT]);      /* 0, MODEL_NEVER: NULL */
const char *cell_int(int64_t n, char room[CELL_TEXT]);                                  /* below 0: NULL */
const char *cell_bytes(const struct nanopod *np, int64_t n, char room[CELL_TEXT]);      /* below 0: NULL */
const char *cell_size(int64_t n, char room[CELL_TEXT]); /* for people: "1.5 GiB", rounded down */
const char *cell_bool(bool b);

bool cell_for_people(const struct nanopod *np); /* table or wide */

#endif
