/* SPDX-License-Identifier: Apache-2.0 */
/* A line of Perceval, GrimoireLab's reader of repositories: what someone did, by the name that they had there. */
#include <errno.h>
#include <stddef.h>

#include "market/wire.h"
#include "market/wire_part.h"

int wire_commit(struct doc *d, struct model_commit *out, struct fail *f)
{
	static const struct wire_field item[] = {
		FIELD(model_commit, "category", TEXT, NEEDED, category),
		{ 0 },
	};
	static const struct wire_field data[] = {
		FIELD(model_commit, "commit", TEXT, MAY, hash),
		FIELD(model_commit, "Author", TEXT, MAY, author),
		FIELD(model_commit, "CommitDate", TEXT, MAY, date),
		{ 0 },
	};
	struct model_commit made = { 0 };
	struct json_t *o = wire_object(d, WIRE_WHOLE, "an item of Perceval", f),
		      *of = o ? wire_member(o, "data") : NULL;
	int rc = o ? wire_fields(d, o, item, "an item of Perceval", &made, f) : -EPROTO;

	if (!rc && !of)
		rc = wire_bad(f, "an item of Perceval", "data", "is missing");
	rc = rc ? rc : wire_fields(d, of, data, "an item of Perceval", &made, f);
	if (rc)
		return rc;
	made.parents = wire_length(of, "parents");
	*out = made;
	return 0;
}
