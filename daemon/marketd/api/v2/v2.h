/* SPDX-License-Identifier: Apache-2.0 */
/* SF Compute's v2: its routes and shapes, and what its files share. */
#ifndef MARKETD_API_V2_V2_H
#define MARKETD_API_V2_V2_H

#include "marketd/api/api.h"
#include "market/ident.h"
#include "marketd/api/cursor.h"
#include "marketd/api/schema.h"

extern const struct route api_v2_skus[];        /* instance SKUs, availability, catalog */
extern const struct route api_v2_orders[];
extern const struct route api_v2_preview[];
extern const struct route api_v2_book[];
extern const struct route api_v2_fills[];
extern const struct route api_v2_pools[];
extern const struct route api_v2_instances[];
extern const struct route api_v2_instance[];     /* one, by id */
extern const struct route api_v2_procurements[];
extern const struct route api_v2_images[];
extern const struct route api_v2_account[]; /* me, workspaces, users, feature flags */

extern const struct schema schema_v2[];         /* things */
extern const struct schema schema_v2_requests[];
extern const struct schema schema_v2_answers[];

/* ---- What is required of a SKU -------------------------------------------------------------- */

/* Requirements: {property: [values]}, any of a property's values, all of the properties. */
bool requirements_match(const json_t *requirements, const struct sku *s);
/* A body's or a query's ("field[:op]:value;…", op eq or in). NULL: refused. The caller drops it. */
json_t *requirements_of_query(const struct request *q, struct reply *r);
bool requirements_check(const struct request *q, struct reply *r, const json_t *requirements);

/* ---- Lists ------------------------------------------------------------------------------- */

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 200, LIMIT_SMALL = 50 };

/* A list request: where its page begins and which way it goes. */
struct paging {
	enum cursor_kind kind;
	size_t limit;
	bool back;             /* ending_before: the page that comes before the cursor */
	bool started;          /* a cursor was given */
	uint64_t from[CURSOR_WORDS];
};

/* Reads limit, starting_after, ending_before. false: refused. */
bool paging_read(const struct request *q, struct reply *r, enum cursor_kind kind, int64_t most, struct paging *p);

/* Collects a page row by row, in the order of the walk (backwards: nearest to the cursor first). */
struct page {
	const struct paging *paging;
	json_t *data;
	uint64_t first, last;  /* ids of the first and the last row met */
	size_t count;
	bool more;             /* there was a row beyond the limit */
};

void page_init(struct page *p, const struct paging *paging);
bool page_wants(struct page *p);                       /* false: it is full, and there is more */
void page_add(struct page *p, uint64_t id, json_t *row); /* takes row */
int page_answer(const struct request *q, struct reply *r, struct page *p);
json_t *page_cursor(const struct page *p);             /* null for an empty page */

/* Whether a thing's tags have every tag=KEY=VALUE and tag_key=KEY of the query. */
bool tags_match(const struct request *q, const char *tags);
/*
 * tags of a body as text to keep: malloc'd, NULL: none. false: refused. now: those that the thing has; NULL: none.
 * Clients set no key that begins with sfc_, which the market keeps as it is: the older APIs find their nodes by them.
 */
bool tags_read(const struct request *q, struct reply *r, const char *now, char **text);

/* The given name, else one made from the next id, in room. NULL: refused. */
const char *name_read(struct api *api, const struct request *q, struct reply *r, enum ident kind,
	char room[IDENT_TEXT]);

/* workspace=… of a list: must be the account's own. false: refused (404). */
bool workspace_check(struct api *api, const struct request *q, struct reply *r, const char *text, const char *field);

#endif
