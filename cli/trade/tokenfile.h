/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the token is: NANOPOD_TOKEN, else a file that nobody else may read. It is never taken from a
 * flag, never printed, and nothing but `nanopod login` writes or replaces the file.
 */
#ifndef CLI_TRADE_TOKENFILE_H
#define CLI_TRADE_TOKENFILE_H

#include <stdbool.h>

#include "base/fail.h"
#include "cli/frame/settings.h"

enum { TOKEN_BYTES = 4096 };

/* The file that counts: token-file, else token or token-PROFILE beside the person's settings. malloc'd or NULL. */
char *token_path(const struct settings *s);

/*
 * 0: *token and *where (both malloc'd; where: "NANOPOD_TOKEN" or "'FILE'"). 1: there is none. Else a
 * negative code with a sentence: the file may not be believed.
 */
int token_find(const struct settings *s, char **token, char **where, struct fail *f);

/* What a file or standard input (fd) holds, without its end of line. malloc'd. 0 or a negative code. */
int token_read_fd(int fd, const char *name, char **token, struct fail *f);
int token_read_file(const char *path, char **token, struct fail *f);

/* Whole or not at all, for this user alone. */
int token_write(const char *path, const char *token, struct fail *f);

void token_free(char *token); /* wiped */

#endif
