/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the store for a place; only this file knows the implementations. */
#include "marketd/store/store.h"

#include "base/str.h"
#include "market/reason.h"

int store_open(const char *where, struct store **out, struct fail *f)
{
	if (str_starts(where, "postgresql://") || str_starts(where, "postgres://"))
		return fail_set(f, REASON_NOT_IMPLEMENTED,
			"'%.20s…' is a PostgreSQL address, which this program cannot open; give the path of a file",
			where);
	return store_sqlite_open(where, out, f);
}
