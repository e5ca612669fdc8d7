/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate's key as it is pinned: whoever knows it needs no authority to know the market by. */
#ifndef MARKETD_HTTP_TLSKEY_H
#define MARKETD_HTTP_TLSKEY_H

enum { TLS_KEY_TEXT = 64 };

/* "sha256//BASE64" of the public key of the first certificate in this text. 0, or -EINVAL: there is none. */
int tls_key(const char *pem, char out[TLS_KEY_TEXT]);

#endif
