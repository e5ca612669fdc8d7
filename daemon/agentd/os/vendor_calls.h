/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a vendor's library, which is looked for when it is needed: the agent runs without it, too. */
#ifndef AGENTD_OS_VENDOR_CALLS_H
#define AGENTD_OS_VENDOR_CALLS_H

#include <stddef.h>

#include "base/fail.h"

struct vendor_call {
	const char *name;
	size_t at; /* where in the struct of calls its pointer is */
};

/* Loads the library, which *loaded then has, and fills the struct. 0, -ENOENT or -ENOSYS. */
int vendor_calls_load(const char *library, const struct vendor_call *list, size_t count, void *calls, void **loaded,
	struct fail *f);

#endif
