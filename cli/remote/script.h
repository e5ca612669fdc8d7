/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a local script on hosts: sends it ahead of standard input, and leaves no file there. */
#ifndef CLI_REMOTE_SCRIPT_H
#define CLI_REMOTE_SCRIPT_H

#include "base/buf.h"
#include "base/fail.h"

/*
 * Reads the file, and makes the command that takes the script from standard input and runs it with these
 * arguments. 0 or a negative code with a sentence.
 */
int script_command(const char *path, char *const *arguments, struct buf *content, struct buf *command, struct fail *f);

/* Words joined by spaces, as ssh does. */
int script_join(char *const *words, struct buf *out);

#endif
