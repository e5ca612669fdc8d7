/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/api/np/market_id.h"

#include <openssl/evp.h>
#include <stdio.h>

/*
 * Of the hash of the oldest token: chance made it, a backup has it, and no token is ever forgotten. Hashed again, it
 * says nothing of the token.
 */
const char *market_id(const struct engine *e, char room[MARKET_TEXT])
{
	const struct token *oldest = engine_token_after(e, 0, 0);
	unsigned char sum[EVP_MAX_MD_SIZE] = "";
	unsigned len = 0;

	room[0] = '\0';
	if (oldest && EVP_Digest(oldest->hash, TOKEN_HASH, sum, &len, EVP_sha256(), NULL) == 1)
		for (int i = 0; i < (MARKET_TEXT - 1) / 2; i++)
			snprintf(room + 2 * i, 3, "%02x", sum[i]);
	return room;
}
