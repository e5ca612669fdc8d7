/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libssh2 encrypts AES-CTR 16 bytes a call, which costs more than the cipher itself. This is AES-128-CTR as a provider
 * of OpenSSL inside this process: it lets OpenSSL encrypt 4 KiB of counters at once and hands them out block by block.
 * It changes which cipher the whole process gets, so it belongs to the program and not into libpssh.
 */
#ifndef CLI_REMOTE_KEYSTREAM_H
#define CLI_REMOTE_KEYSTREAM_H

/*
 * Later users of AES-128-CTR get it. Where openssl.cnf says which providers are preferred, or OpenSSL refuses, all
 * stays as it was, only slower. Call it before connections are made; a second call does nothing.
 */
void keystream_begin(void);

#endif
