/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that a wallet signs to show whose address it is: "Sign-In with Ethereum", EIP-4361. The market makes it;
 * what comes back has to say the same.
 */
#ifndef MARKETD_PASSPORT_SIWE_H
#define MARKETD_PASSPORT_SIWE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"

enum { SIWE_LINE = 256, SIWE_NONCE = 33, SIWE_TEXT_MAX = 2048 };

struct siwe {
	char domain[SIWE_LINE];    /* host, and port unless it is the scheme's own */
	char address[64];          /* as the text has it */
	char statement[SIWE_LINE]; /* "": none */
	char uri[SIWE_LINE];
	int64_t chain;
	char nonce[SIWE_NONCE];
	int64_t issued, expires; /* Unix seconds */
};

int siwe_write(const struct siwe *s, struct buf *out); /* 0 or what buf_add() fails with */

/* Reads what siwe_write() writes, and the same with an LF at the end. 0, or -EINVAL and what is wrong. */
int siwe_read(const char *text, size_t len, struct siwe *out, struct fail *why);

/* 0: `signed_one` says what was given; -EINVAL: what differs. */
int siwe_same(const struct siwe *given, const struct siwe *signed_one, struct fail *why);

#endif
