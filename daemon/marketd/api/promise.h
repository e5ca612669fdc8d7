/* SPDX-License-Identifier: Apache-2.0 */
/* What a type of node promises its buyers: read from the SKU, told to people and to agents. */
#ifndef MARKETD_API_PROMISE_H
#define MARKETD_API_PROMISE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "market/share.h"
#include "marketd/store/market.h"

enum { OVERCOMMIT_MAX = 16, SHARE_PARTS_MAX = SHARE_PARTS, SHARE_TEXT = SHARE_SLICE + 3, PROMISE_TEXT = 256 };

/* The parts of a GPU that a type can promise: up to SHARE_PARTS_MAX nodes share one, or a slice by NVIDIA's name. */
#define SHARES "^(1/([2-9]|1[0-6])|mig:[1-9][0-9]{0,3}g\\.[1-9][0-9]{0,3}gb([+-][a-z]+(\\.[a-z]+)*)*)$"

/* Of one node. 0 or "": not promised. */
struct promise {
	int64_t gpus, gpu_memory, vcpus, memory, disk, inodes, network_mbps; /* bytes, but for counts and Mbit/s */
	int64_t gpu_parts;  /* not a whole GPU, but one such part of one: 4 is a quarter. 0: whole ones */
	char gpu_slice[SHARE_SLICE]; /* or a slice of this profile: "1g.10gb"; "": none */
	int64_t shared;     /* bytes that it adds to the folder which nodes of its reservation on a machine share */
	int64_t overcommit; /* how many vCPUs share a core; 1: none do. 0 without vcpus */
	char gpu_vendor[16], gpu_model[72];
};

/* What is not of the right kind counts as not promised; NULL: nothing is. */
struct promise promise_of(const struct sku *s);
struct promise promise_read(int64_t gpus, const json_t *properties);
int64_t promise_disk(const struct promise *p); /* of the machine's disk: its own, and its part of a shared one */
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
