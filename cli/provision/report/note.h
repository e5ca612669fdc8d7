/* SPDX-License-Identifier: Apache-2.0 */
/* A note of the engine as JSON: a line of `-o jsonl` and of the journal. */
#ifndef CLI_PROVISION_REPORT_NOTE_H
#define CLI_PROVISION_REPORT_NOTE_H

#include <stdint.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/provision/rollout/rollout.h"

const char *note_word(enum note_kind kind);   /* "differs" */

/* Its members, within an object that was begun; what it does not have is left out. */
void note_members(struct json *j, const struct note *n);

/* {"seq":1,"time":"…","event":"differs", …} and a newline. 0 or a code of buf_add. */
int note_line(const struct note *n, uint64_t seq, struct buf *out);

/* "2026-11-21T09:00:00.000000Z" into room, now. */
const char *note_time(char room[40]);

#endif
