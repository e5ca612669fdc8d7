/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could be typed next: for `nanopod complete`, which the shells' scripts ask, and for
 * `nanopod shell`. Reads local files only, and no more of them than it must.
 */
#ifndef CLI_CMD_CANDIDATES_H
#define CLI_CMD_CANDIDATES_H

#include "cli/frame/command.h"

/* What the asker adds by itself. */
enum candidates_rest { CANDIDATES_NOTHING, CANDIDATES_FILES, CANDIDATES_DIRS, CANDIDATES_PROGRAMS };

/*
 * words: what was typed after "nanopod", the last one being completed ("" where it was not
 * begun). found() gets each word that may stand there instead, help may be NULL. Words that
 * end in ':', '/' or '=' want no blank after them.
 */
enum candidates_rest candidates_find(struct nanopod *np, char **words, int count,
	void (*found)(void *arg, const char *word, const char *help), void *arg);

#endif
