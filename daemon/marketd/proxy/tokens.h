/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many tokens an answer took: what the backend says, or else an estimate of what is known to have been read and
 * written.
 */
#ifndef MARKETD_PROXY_TOKENS_H
#define MARKETD_PROXY_TOKENS_H

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>

struct tokens {
	int64_t prompt, completion, total; /* as the backend said */
	bool stated;                       /* it did */
	int64_t asked;                     /* an estimate of what the request says */
	int64_t pieces, bytes;             /* pieces of text in events; bytes of text in a whole answer */
};

enum tokens_chunk { TOKENS_TEXT, TOKENS_USAGE_ALONE, TOKENS_ERROR };

void tokens_asked(struct tokens *t, const json_t *request);
enum tokens_chunk tokens_chunk(struct tokens *t, const json_t *chunk); /* what an event of a stream is */
void tokens_whole(struct tokens *t, const json_t *answer);

/* Fills in what was not stated. served: the backend did its work, so its reading of the request counts, too. */
void tokens_settle(struct tokens *t, bool served);

#endif
