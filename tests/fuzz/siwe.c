/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text to sign and, after a zero byte, as a signature: what is read is written the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "marketd/passport/ethaddress.h"
#include "marketd/passport/score.h"
#include "marketd/passport/siwe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void siwe_again(const char *text, size_t len, const struct siwe *s)
{
	struct siwe again;
	struct fail why = { 0 };
	struct buf b;

	len -= text[len - 1] == '\n';
	buf_init(&b, 2 * SIWE_TEXT_MAX);
	if (siwe_write(s, &b) || b.len != len || memcmp(buf_text(&b), text, len) != 0 ||
		siwe_read(buf_text(&b), b.len, &again, &why) || siwe_same(s, &again, &why))
		abort();
	buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t signature[ETH_SIGNATURE], whose[ETH_ADDRESS];
	char *text = malloc(size + 1), room[ETH_ADDRESS_TEXT];
	struct fail why = { 0 };
	struct score score;
	struct siwe s;
	size_t len;

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	len = strlen(text);
	if (siwe_read(text, len, &s, &why) == 0)
		siwe_again(text, len, &s);
	if (len < size && eth_signature_read(text + len + 1, signature) &&
		eth_signer(text, len, signature, whose, &why) == 0 &&
		!eth_address_read(eth_address_text(whose, room), whose))
		abort();
	if (score_read(text, size, "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23", &score, &why) == 0 &&
		score.text[strspn(score.text, "0123456789.")])
		abort();
	free(text);
	return 0;
}
