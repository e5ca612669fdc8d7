/* SPDX-License-Identifier: Apache-2.0 */
/* What a type of node promises its buyers: read from the SKU, told to people and to agents. */
#ifndef MARKETD_API_PROMISE_H
#define MARKETD_API_PROMISE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marketd/store/market.h"

enum { OVERCOMMIT_MAX = 16, PROMISE_TEXT = 256 };

/* Of one node. 0 or "": not promised. */
struct promise {
	int64_t gpus, gpu_memory, vcpus, memory, disk, inodes, network_mbps; /* bytes, but for counts and Mbit/s */
	int64_t overcommit; /* how many vCPUs share a core; 1: none do. 0 without vcpus */
	char gpu_vendor[16], gpu_model[72];
};

/* What is not of the right kind counts as not promised; NULL: nothing is. */
struct promise promise_of(const struct sku *s);
struct promise promise_read(int64_t gpus, const json_t *properties);
bool promise_any(const struct promise *p);
bool promise_same(const struct promise *a, const struct promise *b);

/* "8 h100 GPUs, 208 vCPUs, 2 TiB memory"; "nothing". Returns room. */
const char *promise_text(const struct promise *p, char room[PROMISE_TEXT]);
const char *promise_bytes(int64_t bytes, char room[32]); /* "1.5 TiB", rounded down */
/* np.Resources, as the work document has it; NULL: nothing is promised. */
json_t *promise_resources(const struct promise *p);
/* What people may know of the promise beside SF Compute's properties: `requires` as it is stored, or null. */
json_t *promise_requires(const struct sku *s);

/* A text from outside for a sentence: letters, digits and "._-", '?' for others; at most size - 1 bytes. */
void promise_word(char *out, size_t size, const char *text);

#endif
