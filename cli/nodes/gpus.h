/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs that a node has, as its host reports them: for people and for programs. */
#ifndef CLI_NODES_GPUS_H
#define CLI_NODES_GPUS_H

#include "base/buf.h"
#include "cli/trade/market_link.h"

enum { GPUS_TEXT = 256 };

/* "8 h100 of 80 GiB"; NULL: it has none, or its host has not said so yet. */
const char *gpus_text(const struct model_gpu *gpus, size_t count, char room[GPUS_TEXT]);

/* The same as a JSON array, [{"model":"h100","count":8,"memory_bytes":…}]. */
void gpus_json(const struct model_gpu *gpus, size_t count, struct buf *out);

#endif
