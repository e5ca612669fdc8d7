/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a key. The first says what the rest is: 'B' the inside of an OpenSSH key, which
 * base64 would keep a fuzzer out of; else the file. Encrypted keys are not unlocked: that takes
 * too long.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "pssh/keys/key.h"
#include "pssh/keys/pubkey.h"
#include "pssh/keys/sshwire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(struct key *k)
{
	static const char *const algorithms[] = { "ssh-ed25519", "ecdsa-sha2-nistp256", "rsa-sha2-512", NULL };
	struct fail f;
	uint8_t *sig, *copy;
	size_t len, n;
	const uint8_t *blob = key_blob(k, &len);

	for (int i = 0; i < 4; i++)
		if (key_sign(k, algorithms[i], "data", 4, &sig, &n, &f) == 0)
			free(sig);
	if (blob && key_blob_for_auth(blob, len, &copy, &n, &f) == 0)
		free(copy);
	if (!key_public_only(k) && !key_locked(k) && (!blob || !key_auth_blob(k, &n)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fail f = { 0 };
	struct key *k = NULL;
	struct buf b;
	char name[64], *comment = NULL;
	uint8_t *blob = NULL;
	size_t len;

	if (!size)
		return 0;
	buf_init(&b, 4 << 20);
	if (*data == 'B') {
		buf_adds(&b, "-----BEGIN OPENSSH PRIVATE KEY-----\n");
		buf_add_base64(&b, data + 1, size - 1);
		buf_adds(&b, "\n-----END OPENSSH PRIVATE KEY-----\n");
	} else {
		buf_add(&b, data + 1, size - 1);
	}
	if (key_parse(buf_text(&b), b.len, "name", &k, &f) == 0)
		use(k);
	else if (!f.code || !*f.text)
		abort();
	key_free(k);
	key_request_algorithm(data, size, name, sizeof name);
	if (pubkey_parse(buf_text(&b), b.len, "name", &blob, &len, &comment, &f) == 0) {
		pubkey_cert_check(blob, len, blob, len, "name", &f);
		pubkey_cert_check(data, size, blob, len, "name", &f);
	}
	free(blob);
	free(comment);
	buf_release(&b);
	return 0;
}
