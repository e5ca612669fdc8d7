/* SPDX-License-Identifier: Apache-2.0 */
/* Words and patterns as the files of OpenSSH's client spell them. */
#ifndef PSSH_CONFIG_SSHWORD_H
#define PSSH_CONFIG_SSHWORD_H

#include <stdbool.h>

#define SSHWORD_SPACE " \t\r\n"

/*
 * Cuts off the next word of a keyword or Match line in place. Space, one '=' or double quotes end it.
 * NULL: a quote is not closed.
 */
char *sshword_cut(char **s);

/*
 * Copies one word of a value into `to` (which has room for all of s), without quotes and escapes.
 * Returns what follows the word, or NULL if a quote is not closed.
 */
const char *sshword_unquote(const char *s, char *to);

/* Matches a list of patterns, "a,!b,c*": 1 yes, 0 no, -1 a negated one matched. lower: lower-case the patterns. */
int sshword_match(const char *text, const char *patterns, bool lower);

#endif
