/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage events from the spool of `nanopod-marketd gateway serve`. A place in it is "MARK-OFFSET-TAIL": the file by its
 * first line, bytes, and a hash of what stands just before. A spool that was cut or replaced has no such place.
 */
#ifndef CLI_METER_METERSPOOL_H
#define CLI_METER_METERSPOOL_H

#include "base/buf.h"
#include "cli/meter/meterbook.h"
#include "market/wire.h"

struct meter_spool {
	char *path;
	struct buf text;
	struct doc *doc; /* what the last page stands in */
};

/* 0 or a negative code; close it in both cases. */
int meter_spool_open(struct meter_spool *s, const char *path, struct fail *f);
void meter_spool_close(struct meter_spool *s);

/*
 * Up to `limit` events behind `after` ("": from the first on), as far as they are on disk. Free *list. cursor: the
 * place behind them. *more: there may be others. 0 or a negative code.
 */
int meter_spool_page(struct meter_spool *s, const char *after, size_t limit, struct model_usage **list, size_t *count,
	char cursor[METER_CURSOR], bool *more, struct fail *f);

#endif
