/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/copy/digest.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SLICE = 1 << 20, BLOCK = 64 * 1024 };

struct digest {
	EVP_MD_CTX *md;
	uint64_t size, at;
	bool complete;
	char hex[DIGEST_HEX];
	unsigned char block[BLOCK];
};

struct digest *digest_new(uint64_t size)
{
	struct digest *d = calloc(1, sizeof *d);

	if (!d)
		return NULL;
	d->size = size;
	d->md = EVP_MD_CTX_new();
	if (d->md && EVP_DigestInit_ex(d->md, EVP_sha256(), NULL) == 1)
		return d;
	digest_free(d);
	return NULL;
}

void digest_free(struct digest *d)
{
	if (!d)
		return;
	EVP_MD_CTX_free(d->md);
	free(d);
}

static int digest_complete(struct digest *d)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (EVP_DigestFinal_ex(d->md, sum, &len) != 1 || len * 2 >= sizeof d->hex)
		return -ENOMEM;
	for (unsigned i = 0; i < len; i++)
		snprintf(d->hex + 2 * i, 3, "%02x", sum[i]);
	d->complete = true;
	return 0;
}

int digest_step(struct digest *d, int fd)
{
	uint64_t stop = d->size - d->at > SLICE ? d->at + SLICE : d->size;

	if (d->complete)
		return 0;
	while (d->at < stop) {
		size_t want = stop - d->at < BLOCK ? (size_t)(stop - d->at) : BLOCK;
		ssize_t n = pread(fd, d->block, want, (off_t)d->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		if (EVP_DigestUpdate(d->md, d->block, (size_t)n) != 1)
			return -ENOMEM;
		d->at += (uint64_t)n;
	}
	return d->at < d->size ? 1 : digest_complete(d);
}

const char *digest_hex(const struct digest *d)
{
	return d->hex;
}

int digest_find(const char *text, size_t len, char hex[DIGEST_HEX])
{
	size_t run = 0, end = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && isxdigit((unsigned char)text[i])) {
			run++;
			continue;
		}
		if (run == DIGEST_HEX - 1)
			end = i;
		run = 0;
	}
	if (!end)
		return -ENOENT;
	for (size_t i = 0; i < DIGEST_HEX - 1; i++)
		hex[i] = (char)tolower((unsigned char)text[end - (DIGEST_HEX - 1) + i]);
	hex[DIGEST_HEX - 1] = '\0';
	return 0;
}
