/* SPDX-License-Identifier: Apache-2.0 */
/* Words and patterns as the files of OpenSSH's client spell them. */
#ifndef PSSH_CONFIG_SSHWORD_H
#define PSSH_CONFIG_SSHWORD_H

#include <stdbool.h>

#define SSHWORD_SPACE " \t\r\n"

/*
 * The next word of a keyword or a Match line, cut off in place: ended by space or by one '=',
 * or wrapped in double quotes. NULL where a quote is not closed.
 */
char *sshword_cut(char **s);

/*
 * One word of a value into `to` (room for all of s), its quotes and escapes undone. What follows
 * it, or NULL where a quote is not closed.
 */
const char *sshword_unquote(const char *s, char *to);

/* A list of patterns, "a,!b,c*": 1 yes, 0 no, -1 a negated one matched. lower: of the patterns. */
int sshword_match(const char *text, const char *patterns, bool lower);

#endif
