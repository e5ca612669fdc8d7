/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/painted.h"

#include <string.h>

static void painted_byte(struct painted *p, char c)
{
	if (c == '\033') {
		*p = (struct painted){ .at = 1, .on = p->on };
	} else if (p->at == 1) {
		p->at = c == '[' ? 2 : 0;
	} else if ((c >= '0' && c <= '9') || c == ';' || c == ':') {
		p->number = p->number || (c >= '1' && c <= '9');
	} else {
		if (c == 'm')
			p->on = p->number;
		p->at = 0;
	}
}

void painted_read(struct painted *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!p->at) {
			const char *next = memchr(text + i, '\033', len - i);

			if (!next)
				return;
			i = (size_t)(next - text);
		}
		painted_byte(p, text[i]);
	}
}
