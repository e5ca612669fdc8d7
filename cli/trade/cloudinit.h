/* SPDX-License-Identifier: Apache-2.0 */
/* The user data of a new node: a cloud-init document with the public keys of those who may log in. */
#ifndef CLI_TRADE_CLOUDINIT_H
#define CLI_TRADE_CLOUDINIT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/fail.h"

struct settings;

/*
 * files: public key files to use; with count 0 those of `identity` in the settings and of the local market,
 * else ~/.ssh/id_*.pub. *keys: how many keys; names: their files are appended, comma-separated. *out is
 * malloc'd, NULL where there are no keys. 0, or a negative code with a sentence.
 */
int userdata_make(const struct settings *s, const char *const *files, size_t count, char **out, size_t *keys,
	struct buf *names, struct fail *f);

#endif
