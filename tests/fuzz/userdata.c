/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as user data: what becomes authorized_keys is whole lines of a known type with nothing before it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agentd/keyline.h"
#include "agentd/userdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const struct buf *keys)
{
	const char *line = buf_text(keys);

	if (strlen(line) != keys->len)
		abort();
	while (*line) {
		size_t len = strcspn(line, "\n");

		if (strncmp(line, "ssh-", 4) != 0 && strncmp(line, "ecdsa-", 6) != 0 && strncmp(line, "sk-", 3) != 0)
			abort();
		for (size_t i = 0; i < len; i++)
			if ((unsigned char)line[i] < ' ' && line[i] != '\t')
				abort();
		if (line[len] != '\n')
			abort();
		line += len + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct userdata u;
	struct buf one;

	userdata_read(data, size, &u);
	look_at(&u.keys);
	if (memchr(buf_text(&u.notes), '\x1b', u.notes.len))
		abort();
	userdata_release(&u);
	buf_init(&one, 1 << 16);
	keyline_add((const char *)data, size, &one, NULL);
	look_at(&one);
	buf_release(&one);
	return 0;
}
