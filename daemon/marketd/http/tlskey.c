/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/http/tlskey.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <string.h>

#define PREFIX "sha256//"

int tls_key(const char *pem, char out[TLS_KEY_TEXT])
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
	unsigned char *der = NULL, hash[SHA256_DIGEST_LENGTH], text[TLS_KEY_TEXT];
	int len = cert ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert), &der) : -1;

	if (len > 0) {
		SHA256(der, (size_t)len, hash);
		EVP_EncodeBlock(text, hash, sizeof hash);
		memcpy(out, PREFIX, strlen(PREFIX));
		memcpy(out + strlen(PREFIX), text, strlen((char *)text) + 1);
	}
	OPENSSL_free(der);
	X509_free(cert);
	BIO_free(in);
	return len > 0 ? 0 : -EINVAL;
}
