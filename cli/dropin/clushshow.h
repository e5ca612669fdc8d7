/* SPDX-License-Identifier: Apache-2.0 */
/* Output as clush shows it: lines with labels, gathered blocks under headers, differences. */
#ifndef CLI_DROPIN_CLUSHSHOW_H
#define CLI_DROPIN_CLUSHSHOW_H

#include "cli/dropin/droprun.h"

struct clushshow {
	bool gather, both, lines, diff; /* -b, -B, -L, --diff */
	bool labels, quiet, largest;    /* not -N; -q; -S */
	struct dropdir out, err;        /* --outdir, --errdir */
};

/* For droprun.show, with the struct clushshow as droprun.own. */
extern const struct dropshow clushshow;

#endif
