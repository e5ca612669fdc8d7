/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/engine/effect.h"

#include <stdlib.h>

void effects_init(struct effects *e)
{
	*e = (struct effects){ 0 };
}

void effects_clear(struct effects *e)
{
	e->count = 0;
	e->span_count = 0;
}

void effects_release(struct effects *e)
{
	free(e->list);
	free(e->spans);
	effects_init(e);
}

uint64_t effects_made(const struct effects *e)
{
	for (size_t i = e->count; i-- > 0;)
		if (e->list[i].kind == EFFECT_MADE)
			return e->list[i].u.made;
	return 0;
}

const char *book_name(enum book b)
{
	static const char *const names[BOOK_KINDS] = {
#define BOOK_X(name, text) text,
		BOOKS(BOOK_X)
#undef BOOK_X
	};

	return (unsigned)b < BOOK_KINDS ? names[b] : "unknown";
}

const char *notice_name(enum notice_kind k)
{
	static const char *const names[NOTICE_KINDS] = {
#define NOTICE_X(name, text) text,
		NOTICES(NOTICE_X)
#undef NOTICE_X
	};

	return (unsigned)k < NOTICE_KINDS ? names[k] : "unknown";
}
