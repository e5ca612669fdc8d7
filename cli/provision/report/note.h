/* SPDX-License-Identifier: Apache-2.0 */
/* What a rollout reports while it works, and its form as JSON: a line of `-o jsonl` and of the journal. */
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
	X(NOTE_FINDING, "finding") /* of a gate: what is its word, ok is false if it stops the node */ \
	X(NOTE_DIFFERS, "differs") /* plan: one change that a step would make; text, diff */ \
	X(NOTE_BEGIN, "begin")     /* of a step */ \
	X(NOTE_DID, "did")         /* one change that a step made */ \
	X(NOTE_CHECK, "check")     /* verify: ok or not, text, hint */ \
	X(NOTE_SAID, "said")       /* a remark of a step; hint */ \
	X(NOTE_RESTS, "rests")     /* verify: somebody drained the node on purpose; hint */ \
	X(NOTE_LOG, "log")         /* an output line of a program, with -v */ \
	X(NOTE_END, "end")         /* of a step: ok, text (why not), hint, log (its file), ms */ \
	X(NOTE_LOST, "lost")       /* a node was taken out: text */ \
	X(NOTE_LEFT, "left")       /* remove: what stays behind, and why */ \
	X(NOTE_WAITS, "waits")     /* after 10 (plan) or 30 s without another: what is waited for */ \
	X(NOTE_TICK, "tick")       /* about five times a second while steps run, to update shown times */

enum note_kind {
#define NOTE_X(name, word) name,
	NOTES(NOTE_X)
#undef NOTE_X
};

struct note {
	enum note_kind kind;
	const char *node, *stack, *step; /* NULL if about no node */
	const char *what, *text, *hint, *diff, *log;
	bool ok;
	long ms;
};

typedef void note_sink(void *arg, const struct note *n);

const char *note_word(enum note_kind kind);   /* "differs" */

/* Adds its members to an open JSON object, and leaves out empty ones. */
void note_members(struct json *j, const struct note *n);

/* {"seq":1,"time":"…","event":"differs", …} and a newline. 0 or a code of buf_add. */
int note_line(const struct note *n, uint64_t seq, struct buf *out);

/* "2026-11-21T09:00:00.000000Z" into room, now. */
const char *note_time(char room[40]);

#endif
