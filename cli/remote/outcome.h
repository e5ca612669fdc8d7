/* SPDX-License-Identifier: Apache-2.0 */
/* What became of a command or a copy on one host. */
#ifndef CLI_REMOTE_OUTCOME_H
#define CLI_REMOTE_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/remote/fold.h"
#include "pssh/pssh.h"

enum outcome_state { OUTCOME_WAITING, OUTCOME_RUNNING, OUTCOME_EXIT, OUTCOME_SIGNAL, OUTCOME_ERROR };

/* How far sudo is: nothing said; got the password; runs the command; refused the password; got none. */
enum outcome_become { BECOME_NONE, BECOME_ASKED, BECOME_ON, BECOME_REFUSED, BECOME_LACKS };

struct outcome {
	struct pssh_host *host;
	const char *name;
	size_t index;
	enum outcome_state state;
	int status; /* of EXIT: the exit status; of ERROR: a PSSH_E… code */
	char *text; /* of SIGNAL its name, of ERROR a sentence; of EXIT what it means, or NULL */
	bool cancelled;
	bool begun;                  /* it was connected and running when it ended */
	bool ask;                    /* its key is unknown: ask the person */
	bool accepted;               /* the person accepted its key */
	char *address, *fingerprint; /* as somebody else saw them who connected to it; NULL: as the library did */
	enum outcome_become become;
	bool held;                   /* its batch has not come yet */
	bool unbegun;                /* it was not begun, because too many others failed or a person stopped it */
	bool left_out;               /* a node that is not up: an error from the start, told at the end */
	uint64_t moved, size;        /* a copy's bytes */
	uint64_t unchanged;          /* files that a copy left alone */
	uint64_t earlier;            /* bytes of the sources that this command copied before */
	struct fold_place out, err;  /* for gathered output */
	uint64_t dropped;            /* bytes dropped above the ceiling */
};

bool outcome_ended(const struct outcome *o);
bool outcome_ok(const struct outcome *o);
const char *outcome_address(const struct outcome *o);
const char *outcome_fingerprint(const struct outcome *o); /* of the key that it showed, or "" */
int outcome_status(const struct outcome *o);              /* as ssh would exit: status, 128 + signal, 255 */
int outcome_signal(const char *name);                     /* "TERM" -> 15; 0 where unknown */

#endif
