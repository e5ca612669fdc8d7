/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a new node is told when it first starts: who may sign in. The person's public keys become
 * a cloud-init document.
 */
#ifndef CLI_TRADE_CLOUDINIT_H
#define CLI_TRADE_CLOUDINIT_H

#include <stddef.h>

#include "base/fail.h"

struct settings;

/*
 * files: public keys that were named, may be NULL for none; then those beside `identity` of the
 * settings, else ~/.ssh/id_*.pub. *keys: how many. *out is malloc'd, NULL where there are no keys.
 * 0, or a negative code with a sentence.
 */
int userdata_make(const struct settings *s, const char *const *files, size_t count, char **out, size_t *keys,
	struct fail *f);

#endif
