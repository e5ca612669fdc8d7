/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What could be typed next: for `nanopod complete`, which the shells' scripts ask, and for
 * `nanopod shell`. Reads local files only, and no more of them than it must.
 */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include "cli/command.h"

/* What the asker adds by itself. */
enum completion_rest { COMPLETION_NOTHING, COMPLETION_FILES, COMPLETION_DIRS, COMPLETION_PROGRAMS };

/*
 * words: what was typed after "nanopod", the last one being completed ("" where it was not
 * begun). found() gets each word that may stand there instead, help may be NULL. Words that
 * end in ':', '/' or '=' want no blank after them.
 */
enum completion_rest completion_find(struct nanopod *np, char **words, int count,
	void (*found)(void *arg, const char *word, const char *help), void *arg);

#endif
