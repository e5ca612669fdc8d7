/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token: NANOPOD_TOKEN, else a file that nobody else may read. No flag takes it, nothing prints it, and
 * only `nanopod login` writes or replaces the file.
 */
#ifndef CLI_TRADE_TOKENFILE_H
#define CLI_TRADE_TOKENFILE_H

#include <stdbool.h>

#include "base/fail.h"
#include "cli/frame/settings.h"

enum { TOKEN_BYTES = 4096 };

/* The file to use: token-file, else token or token-PROFILE beside the settings of the user. malloc'd or NULL. */
char *token_path(const struct settings *s);

/*
 * 0: *token and *where (both malloc'd; where: "NANOPOD_TOKEN" or "'FILE'"). 1: there is none. Else a
 * negative code with a sentence: the file cannot be trusted.
 */
int token_find(const struct settings *s, char **token, char **where, struct fail *f);

/* The contents without the newline, malloc'd. 0 or a negative code with a sentence. */
int token_read_fd(int fd, const char *name, char **token, struct fail *f);
int token_read_file(const char *path, char **token, struct fail *f);

/* Replaces the file at once, readable by this user alone. */
int token_write(const char *path, const char *token, struct fail *f);

void token_free(char *token); /* wiped */

#endif
