/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private key of any kind that OpenSSH's users have, read and unlocked once for the whole
 * fleet, and its signature in the form that libssh2's sign callback wants. The public part is
 * mostly known while the private one is still locked, so a key can be offered before anybody
 * is asked for its passphrase.
 */
#ifndef PSSH_KEYS_KEY_H
#define PSSH_KEYS_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct key;

/*
 * Reads path; also path.pub where the public part is needed, and path-cert.pub where it is there.
 * A file that holds a public key only, or of which only path.pub exists, gives a key that is
 * key_public_only: an agent may be able to sign for it. PSSH_ENOENT: neither is there.
 */
int key_load(const char *path, struct key **out, struct fail *f);

/* The same from memory; name is for messages, nothing else is read. */
int key_parse(const char *text, size_t len, const char *name, struct key **out, struct fail *f);
void key_free(struct key *k); /* wipes; k may be NULL */

bool key_locked(const struct key *k);
bool key_public_only(const struct key *k);

/* PSSH_EPASSPHRASE: the wrong one. Unlocking costs time on purpose (bcrypt: some 0.1 s and more). */
int key_unlock(struct key *k, const char *passphrase, struct fail *f);

const char *key_path(const struct key *k);
const char *key_comment(const struct key *k);  /* "" while unknown: openssh keeps it encrypted */
const char *key_type(const struct key *k);     /* "ssh-ed25519"; "" while unknown */

/* The public part as SSH sends it; NULL: not known before key_unlock (encrypted PEM, no .pub). */
const uint8_t *key_blob(const struct key *k, size_t *len);

/* What to hand to libssh2_userauth_publickey(): key_blob, or what makes libssh2 use rsa-sha2-512. */
const uint8_t *key_auth_blob(const struct key *k, size_t *len);

/* The certificate to offer before key_auth_blob; NULL: none, or none that libssh2 can use. */
const uint8_t *key_cert_blob(const struct key *k, size_t *len);
/* Another certificate. PSSH_EUNSUPPORTED: this libssh2 cannot use one of its type. */
int key_add_cert(struct key *k, const char *path, struct fail *f);
/* Why path-cert.pub, found but not used, is not used; "" where there is nothing to say. */
const char *key_cert_note(const struct key *k);

/*
 * Signs data as `algorithm` says ("rsa-sha2-512", "ssh-ed25519", "ecdsa-sha2-nistp256", their
 * certificate names too; NULL: the one that the data, an authentication request, names). *sig is
 * malloc'd and is the inner signature: 64 bytes, two mpints, or the RSA number.
 * PSSH_EPASSPHRASE: still locked.
 */
int key_sign(const struct key *k, const char *algorithm, const void *data, size_t len,
	uint8_t **sig, size_t *sig_len, struct fail *f);

/* The algorithm that an authentication request (what the sign callback gets) names. 0 or PSSH_EPROTO. */
int key_request_algorithm(const void *data, size_t len, char *out, size_t size);

/*
 * For blobs that are not of a struct key (an agent's): what to hand to libssh2, malloc'd.
 * PSSH_EUNSUPPORTED: of a type that this libssh2 cannot use.
 */
int key_blob_for_auth(const uint8_t *blob, size_t len, uint8_t **out, size_t *out_len, struct fail *f);

/* A "type base64 comment" line's file. comment may be NULL; both are malloc'd. */
int key_read_public(const char *path, uint8_t **blob, size_t *len, char **comment, struct fail *f);

#endif
