/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private key of any kind that OpenSSH's users have, read and unlocked once for the whole fleet.
 * It signs in the form that libssh2's sign callback wants. The public part is usually known while
 * the private one is still locked, so a connection can offer a key before it asks for a passphrase.
 */
#ifndef PSSH_KEYS_KEY_H
#define PSSH_KEYS_KEY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct key;
struct keyfile;

/*
 * Reads path; also path.pub if it needs the public part, and path-cert.pub if it exists. If path
 * holds only a public key, or only path.pub exists, the key is key_public_only: an agent may be able
 * to sign for it. PSSH_ENOENT: neither exists.
 */
int key_load(const char *path, struct key **out, struct fail *f);

/* The same from memory, without reading files; name is for messages. */
int key_parse(const char *text, size_t len, const char *name, struct key **out, struct fail *f);
void key_free(struct key *k); /* wipes; k may be NULL */

bool key_locked(const struct key *k);
bool key_public_only(const struct key *k);

/* PSSH_EPASSPHRASE: wrong passphrase. Unlocking is slow on purpose (bcrypt: 0.1 s or more). */
int key_unlock(struct key *k, const char *passphrase, struct fail *f);
/* Its slow half, which only reads k, so that another thread may call it: see keyfile_read() for stop. */
int key_try(const struct key *k, const char *passphrase, const atomic_bool *stop, struct keyfile *out, struct fail *f);
/* The other half; takes over what `opened` has. */
int key_take(struct key *k, struct keyfile *opened, struct fail *f);

const char *key_path(const struct key *k);
const char *key_comment(const struct key *k);  /* "" while unknown: OpenSSH encrypts it */
const char *key_type(const struct key *k);     /* "ssh-ed25519"; "" while unknown */

/* The public part as SSH sends it; NULL: not known before key_unlock (encrypted PEM, no .pub). */
const uint8_t *key_blob(const struct key *k, size_t *len);

/* The blob for libssh2_userauth_publickey(): key_blob, or one that makes libssh2 use rsa-sha2-512. */
const uint8_t *key_auth_blob(const struct key *k, size_t *len);

/* The certificate to offer before key_auth_blob; NULL: none, or none that libssh2 can use. */
const uint8_t *key_cert_blob(const struct key *k, size_t *len);
/* Uses another certificate. PSSH_EUNSUPPORTED: this libssh2 cannot use its type. */
int key_add_cert(struct key *k, const char *path, struct fail *f);
/* Why an existing path-cert.pub is not used; "" otherwise. */
const char *key_cert_note(const struct key *k);

/*
 * Signs data with `algorithm` ("rsa-sha2-512", "ssh-ed25519", "ecdsa-sha2-nistp256" or their
 * certificate names; NULL: the one that data, an authentication request, names). *sig is malloc'd
 * and is the inner signature: 64 bytes, two mpints, or the RSA number. PSSH_EPASSPHRASE: locked.
 */
int key_sign(const struct key *k, const char *algorithm, const void *data, size_t len,
	uint8_t **sig, size_t *sig_len, struct fail *f);

/* The owner of a public key has its private part: it is offered, and the owner signs. PSSH_EUNSUPPORTED, or 0. */
int key_set_signer(struct key *k, struct fail *f);
bool key_is_signer(const struct key *k);
/* Turns the owner's signature, see pssh_answer_sign(), into that of key_sign(). PSSH_EINVAL: it is none. */
int key_signature(const struct key *k, const void *raw, size_t len, uint8_t **sig, size_t *sig_len, struct fail *f);
/* The bits of SHA-2 that a request's algorithm hashes with; 1: SHA-1; 0: the key hashes itself. */
int key_request_hash(const struct key *k, const void *data, size_t len);

/* The algorithm in an authentication request, which is what the sign callback gets. 0 or PSSH_EPROTO. */
int key_request_algorithm(const void *data, size_t len, char *out, size_t size);

/*
 * The same as key_auth_blob for a blob without a struct key (an agent's); malloc'd.
 * PSSH_EUNSUPPORTED: this libssh2 cannot use its type.
 */
int key_blob_for_auth(const uint8_t *blob, size_t len, uint8_t **out, size_t *out_len, struct fail *f);

/* Reads a file with a line "type base64 comment". comment may be NULL; the results are malloc'd. */
int key_read_public(const char *path, uint8_t **blob, size_t *len, char **comment, struct fail *f);

#endif
