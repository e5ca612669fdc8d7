/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/kexinit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pssh/keys/sshwire.h"

enum { COOKIE = 16, MSG_KEXINIT = 20 };

/* The first packet: what follows the line that begins with "SSH-". Other lines may come before it. */
static bool kexinit_find(const char *text, size_t len, struct sshwire *packet)
{
	for (;;) {
		const char *end = memchr(text, '\n', len);
		bool banner = len > 4 && memcmp(text, "SSH-", 4) == 0;

		if (!end)
			return false;
		len -= (size_t)(end + 1 - text);
		text = end + 1;
		if (banner) {
			sshwire_init(packet, text, len);
			return true;
		}
	}
}

static int kexinit_list(struct sshwire *w, char **out)
{
	size_t len;
	const uint8_t *text = sshwire_string(w, &len);

	if (w->bad)
		return PSSH_EPROTO;
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 127)
			return PSSH_EPROTO;
	*out = strndup((const char *)text, len);
	return *out ? 0 : PSSH_ENOMEM;
}

int kexinit_parse(const void *data, size_t len, struct kexinit *out)
{
	static const struct {
		enum pssh_algorithm kind;
		int count;
	} order[] = { { PSSH_ALG_KEX, 1 }, { PSSH_ALG_HOSTKEY, 1 }, { PSSH_ALG_CIPHER, 2 }, { PSSH_ALG_MAC, 2 } };
	struct kexinit k = { 0 };
	struct sshwire w;
	int rc = 0;

	if (!kexinit_find(data, len, &w))
		return PSSH_EPROTO;
	sshwire_u32(&w); /* the packet's length and padding: the lists have their own lengths */
	sshwire_u8(&w);
	if (sshwire_u8(&w) != MSG_KEXINIT || !sshwire_bytes(&w, COOKIE))
		return PSSH_EPROTO;
	for (size_t i = 0; !rc && i < sizeof order / sizeof *order; i++) {
		char **lists = k.lists[order[i].kind];

		for (int n = 0; !rc && n < order[i].count; n++)
			rc = kexinit_list(&w, &lists[n]);
		if (!rc && order[i].count == 1 && !(lists[1] = strdup(lists[0])))
			rc = PSSH_ENOMEM;
	}
	if (rc)
		kexinit_release(&k);
	else
		*out = k;
	return rc;
}

bool kexinit_there(const void *data, size_t len)
{
	struct kexinit k;
	int rc = kexinit_parse(data, len, &k);

	if (rc)
		return rc == PSSH_ENOMEM;
	kexinit_release(&k);
	return true;
}

void kexinit_release(struct kexinit *k)
{
	for (int i = 0; i < PSSH_ALGS; i++)
		for (int n = 0; n < 2; n++)
			free(k->lists[i][n]);
	*k = (struct kexinit){ 0 };
}
