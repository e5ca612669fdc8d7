/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments for ssh(1), as PDSH_SSH_ARGS, `clush -o` and `pssh -x` have them, as settings and lines of ssh_config. */
#ifndef CLI_DROPIN_DROPSSH_H
#define CLI_DROPIN_DROPSSH_H

#include "cli/frame/command.h"

struct dropssh {
	struct nanopod *np;
	const char *where; /* the option or variable, for errors */
	bool tty;          /* ssh is asked for a terminal */
};

/* Both return an exit status. Lines go into np->ssh_lines. */
int dropssh_text(struct dropssh *s, const char *text); /* words in quotes, as a shell reads them */
int dropssh_word(struct dropssh *s, const char *word); /* one argument as it is */
int dropssh_line(struct dropssh *s, const char *line); /* "Port=22", as -o takes it */

#endif
