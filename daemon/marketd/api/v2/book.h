/* SPDX-License-Identifier: Apache-2.0 */
/* What the book and its fills share. */
#ifndef MARKETD_API_V2_BOOK_H
#define MARKETD_API_V2_BOOK_H

#include "marketd/api/v2/v2.h"

struct book_window { int64_t start, end; }; /* minutes */

#define BOOK_WINDOW "requirements:string,start_at:integer,end_at:integer" /* its query names */

/* Of the query. false: refused. */
bool book_window(const struct request *q, struct reply *r, const char *start, const char *end, struct book_window *w);
bool book_limit(const struct request *q, struct reply *r, const char *name, int64_t most, int64_t fallback,
	size_t *out);
json_t *book_head(struct api *api, json_t *requirements, const struct book_window *w); /* takes requirements */

#endif
