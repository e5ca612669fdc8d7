/* SPDX-License-Identifier: Apache-2.0 */
/* What names an input of the policy: its hash, without its time, which differs in each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "marketd/policy/inputkey.h"

bool inputkey(const json_t *input, uint8_t key[INPUTKEY])
{
	json_t *same = json_copy((json_t *)(uintptr_t)input);
	unsigned len = 0;
	char *text;
	bool made;

	json_object_del(same, "time");
	text = same ? json_dumps(same, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) : NULL;
	made = text && EVP_Digest(text, strlen(text), key, &len, EVP_sha256(), NULL) == 1;
	free(text);
	json_decref(same);
	return made;
}

void inputkey_hex(const uint8_t key[INPUTKEY], char room[INPUTKEY_HEX])
{
	for (size_t i = 0; i < INPUTKEY; i++)
		snprintf(room + 2 * i, 3, "%02x", key[i]);
}
