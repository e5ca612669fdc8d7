/* SPDX-License-Identifier: Apache-2.0 */
/* What a rollout tells while it works, and each note as JSON: a line of `-o jsonl` and of the journal. */
#ifndef CLI_PROVISION_REPORT_NOTE_H
#define CLI_PROVISION_REPORT_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/frame/json.h"

/* X(name, word): `event` of -o jsonl */
#define NOTES(X) \
	X(NOTE_PHASE, "phase")     /* text: "facts", "plan", "apply", "verify", "remove" */ \
	X(NOTE_NODE, "node")       /* a node was reached, or not: ok, text */ \
	X(NOTE_FINDING, "finding") /* of a gate: what is its word, ok false where it stops */ \
	X(NOTE_DIFFERS, "differs") /* plan: one thing that a step would change; text, diff */ \
	X(NOTE_BEGIN, "begin")     /* of a step */ \
	X(NOTE_DID, "did")         /* one thing that was changed */ \
	X(NOTE_CHECK, "check")     /* verify: ok or not, text, hint */ \
	X(NOTE_SAID, "said")       /* a note of a step for people; hint */ \
	X(NOTE_RESTS, "rests")     /* verify: a node takes no work, on purpose; hint */ \
	X(NOTE_LOG, "log")         /* a line of a program, with -v */ \
	X(NOTE_END, "end")         /* of a step: ok, text (why not), hint, log (its file), ms */ \
	X(NOTE_LOST, "lost")       /* a node is out: text */ \
	X(NOTE_LEFT, "left")       /* remove: what stays, and why */ \
	X(NOTE_TICK, "tick") /* nothing happened: about five times a second while steps run, for what shows time */

enum note_kind {
#define NOTE_X(name, word) name,
	NOTES(NOTE_X)
#undef NOTE_X
};

struct note {
	enum note_kind kind;
	const char *node, *stack, *step; /* NULL where it is about none */
	const char *what, *text, *hint, *diff, *log;
	bool ok;
	long ms;
};

typedef void note_sink(void *arg, const struct note *n);

const char *note_word(enum note_kind kind);   /* "differs" */

/* Its members, within an object that was begun; what it does not have is left out. */
void note_members(struct json *j, const struct note *n);

/* {"seq":1,"time":"…","event":"differs", …} and a newline. 0 or a code of buf_add. */
int note_line(const struct note *n, uint64_t seq, struct buf *out);

/* "2026-11-21T09:00:00.000000Z" into room, now. */
const char *note_time(char room[40]);

#endif
