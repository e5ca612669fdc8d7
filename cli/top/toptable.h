/* SPDX-License-Identifier: Apache-2.0 */
/* One look as rows of a list, for `nanopod top` without a screen. */
#ifndef CLI_TOP_TOPTABLE_H
#define CLI_TOP_TOPTABLE_H

#include "cli/frame/rows.h"
#include "cli/top/toprow.h"

enum { TOPTABLE_COLUMNS = 40 };

/* The columns for these rows. */
void toptable_columns(const struct topwish *w, struct column out[TOPTABLE_COLUMNS]);

void toptable_add(struct nanopod *np, struct rows *to, const struct topwish *w, const struct toprows *rows);

#endif
