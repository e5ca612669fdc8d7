/* SPDX-License-Identifier: Apache-2.0 */
/* The lines about one host as text, for another program that judges the host's key in our place. */
#include "pssh/known/knownwrite.h"

#include "pssh/pssh_types.h"

int knownwrite_lines(struct knownlines *k, const char *name, const char *as, struct buf *out)
{
	static const char *const markers[] = {
		[KNOWN_KEY] = "",
		[KNOWN_AUTHORITY] = "@cert-authority ",
		[KNOWN_REVOKED] = "@revoked ",
	};
	const struct known_set *hits;
	int rc = knownlines_about(k, name, &hits);

	for (size_t i = 0; !rc && i < hits->count; i++) {
		const struct known_line *l = hits->at[i];

		if (buf_addf(out, "%s%s %s ", markers[l->marker], as, l->type) ||
			buf_add_base64(out, l->blob, l->len) || buf_addc(out, '\n'))
			rc = PSSH_ENOMEM;
	}
	return rc;
}
