/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/session.h"

#include <errno.h>

/* A number that the market may have seen is never used twice. */
int session_body(const char *data, struct identity *i, int64_t now, json_t **out, struct fail *f)
{
	struct buf text, signature;
	json_t *j = NULL;
	int rc;

	buf_init(&text, 1024);
	buf_init(&signature, 256);
	i->generation++;
	rc = identity_save(data, i, f);
	if (!rc &&
		buf_addf(&text, "nanopod-agent-session\n%s\n%llu\n%lld\n%s\n", i->agent,
			(unsigned long long)i->generation, (long long)now, i->machine) != 0)
		rc = fail_set(f, -ENOMEM, "out of memory");
	rc = rc ? rc : identity_sign(i, buf_text(&text), text.len, &signature, f);
	if (!rc) {
		j = json_pack("{s:I, s:I, s:s, s:s}", "generation", (json_int_t)i->generation, "at", (json_int_t)now,
			"machine", i->machine, "signature", buf_text(&signature));
		rc = j ? 0 : fail_set(f, -ENOMEM, "out of memory");
	}
	buf_release(&signature);
	buf_release(&text);
	if (!rc)
		*out = j;
	return rc;
}
