/* SPDX-License-Identifier: Apache-2.0 */
/* What memstore.c and memlog.c share: how records are on the simulated disk. See memstore.h. */
#ifndef TESTS_SIM_MEMSTORE_OWN_H
#define TESTS_SIM_MEMSTORE_OWN_H

#include "memstore.h"

enum { DISK_MOST = 1 << 30, KEY_ROOM = 64 };

enum mem_kind {
	MEM_EVENT,
	MEM_ORDER,
	MEM_LEASE,
	MEM_POSTING,
	MEM_NOTICE,
	MEM_ANSWER,
	MEM_SNAPSHOT,
	MEM_EPOCH,
	MEM_LOG,
	MEM_KINDS
};

/* One record: this, then len bytes. */
struct mem_head {
	enum mem_kind kind;
	uint64_t seq, n;
	int64_t at;
	uint64_t extra; /* order: spans; lease: over; snapshot: hash; epoch; log: bytes + 1, 0: it is dropped */
	size_t len;
};

struct mem_batch { size_t len; uint64_t sum; };

struct mem_answer { uint64_t account; char key[KEY_ROOM]; uint8_t digest[32]; int64_t at; int status; };

/* Where a record is on the disk. */
struct mem_row { struct mem_head head; size_t at; };

struct mem_rows {
	struct mem_row *list;
	size_t count, cap;
	size_t *place;             /* of orders and leases: by id, where it is in the list + 1 */
	size_t place_cap;
};

struct memstore {
	struct store base;
	struct memdisk *disk;
	size_t seen;               /* bytes of the disk that were read */
	struct mem_rows rows[MEM_KINDS];
	uint64_t seq, staged_seq, epoch, own_epoch;
	struct buf staged;
};

const void *mem_bytes(const struct memstore *m, const struct mem_row *row);
void mem_stage(struct memstore *m, struct mem_head head, const void *bytes, size_t len, const void *more,
	size_t more_len);

/* memlog.c: calls of the store */
int mem_log_end(struct store *s, uint64_t instance, struct log_head *out, struct fail *f);
int mem_log_append(struct store *s, uint64_t instance, const struct log_line *lines, size_t count, struct fail *f);
int mem_log_drop(struct store *s, uint64_t instance, struct fail *f);
int mem_logs(struct store *s, uint64_t instance, const struct log_filter *filter, store_log_fn fn, void *arg,
	struct fail *f);
int mem_log_heads(struct store *s, uint64_t after, size_t limit, store_log_head_fn fn, void *arg, struct fail *f);

#endif
