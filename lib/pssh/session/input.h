/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input for one or many processes: kept once, dropped when the last process has taken it. */
#ifndef PSSH_SESSION_INPUT_H
#define PSSH_SESSION_INPUT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

enum { INPUT_CEILING = 1 << 20 };

struct input {
	struct buf data;
	uint64_t base;       /* how many bytes were dropped before data */
	bool open, ended;
	bool full;           /* a writer got PSSH_EAGAIN and waits for PSSH_EV_WRITABLE */
};

static inline void input_init(struct input *in)
{
	*in = (struct input){ 0 };
	buf_init(&in->data, INPUT_CEILING);
}

/* Input may be a password, so what is given back or dropped is overwritten. */
static inline void input_release(struct input *in)
{
	if (in->data.data)
		explicit_bzero(in->data.data, in->data.cap);
	buf_release(&in->data);
}

static inline uint64_t input_end(const struct input *in)
{
	return in->base + in->data.len;
}

/* Drops what stands before `upto`, which every process has taken. */
static inline void input_forget(struct input *in, uint64_t upto)
{
	assert(upto <= input_end(in));
	if (upto > in->base) {
		buf_drop(&in->data, (size_t)(upto - in->base));
		explicit_bzero(in->data.data + in->data.len, (size_t)(upto - in->base));
		in->base = upto;
	}
}

#endif
