/* SPDX-License-Identifier: Apache-2.0 */
/* DATA/gpus.json under its lock: an object for each GPU, and for each share of one. */
#ifndef AGENTD_DEVICE_GPU_BOOK_H
#define AGENTD_DEVICE_GPU_BOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

/*
 * An element has texts: address, model, uuid, host, node, and quarantine where it is kept back; memory of the GPU in
 * bytes, as NVIDIA's library tells it where the GPU is shared; parts: into how many equal shares the GPU is cut, where
 * the element is one of them; slice: NVIDIA's name of the profile, where these have hardware of their own, and memory
 * is that of one; leaving: its node gives it back just now; ending: so, and the GPU is being reset. A GPU is in it
 * once, or with up to `parts` shares, all of one size.
 */
struct gpu_book {
	const char *data;
	int lock;
	json_t *gpus;
	json_t *known; /* gpu_slices_load(), where somebody needs it; NULL */
};

/*
 * The agent's main process waits for the lock, so who holds it only reads and writes files: nobody asks a vendor's
 * library, resets a GPU or runs a program meanwhile.
 */
int gpu_book_load(struct gpu_book *b, struct fail *f); /* without the lock, to read; needs data, and lock -1 */
int gpu_book_open(struct gpu_book *b, const char *data, struct fail *f);
int gpu_book_save(const struct gpu_book *b, struct fail *f);
void gpu_book_close(struct gpu_book *b); /* after a failed open, too; twice is once */

/* As gpu_turn(), with time for several resets. Never under the book's lock. */
int gpu_book_turn(const char *data, int how, struct fail *f);

const char *gpu_book_word(const json_t *gpu, const char *name); /* "" where it has none */
bool gpu_book_is(const json_t *gpu, const char *name, const char *value);
void gpu_book_set(json_t *gpu, const char *name, const char *value);
/* Why the GPU is kept back. A process chose its name, so bytes that are not printable ASCII become '?'. */
void gpu_book_keep_back(json_t *gpu, const struct fail *why);
unsigned gpu_book_parts(const json_t *gpu); /* 0: a whole GPU. A slice may be the only one of its GPU */
bool gpu_book_is_slice(const json_t *gpu);
/* Is it such a slice, or, where slice is "", one such part of a GPU? */
bool gpu_book_is_cut(const json_t *gpu, unsigned parts, const char *slice);

/* Has a node the GPU? A dead one left no folder: its GPU goes to the next, who resets it first. */
bool gpu_book_is_dead(const struct gpu_book *b, const char *node);
bool gpu_book_in_use(const struct gpu_book *b, const json_t *gpu);

#endif
