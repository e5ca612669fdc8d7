/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows the output of many hosts: labelled lines, as they come or in the order of the hosts, folded groups, JSON Lines,
 * JSON, or nothing.
 */
#ifndef CLI_REMOTE_VIEW_H
#define CLI_REMOTE_VIEW_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/remote/fanout.h"
#include "cli/remote/painted.h"

enum view_kind { VIEW_LINES, VIEW_GATHER, VIEW_ORDER, VIEW_JSONL, VIEW_JSON, VIEW_NONE };

struct view {
	struct fanout *fanout;
	enum view_kind kind;
	bool labels;        /* of VIEW_LINES */
	bool diff;          /* of VIEW_GATHER: only differences from the largest group */
	size_t width;       /* of the longest label */
	uint64_t seq;
	int64_t time_ms;    /* what `time` says */
	char time[64];
	struct painted painted[2]; /* without labels: standard output, standard error */
	size_t next; /* of VIEW_ORDER: the host that is shown next */
	struct fold *fold;
	struct buf line;    /* what goes out with one write */
};

void view_init(struct view *v, struct fanout *f, enum view_kind kind);
void view_release(struct view *v);

/* The library's output mode that this view needs. */
enum pssh_output view_output(const struct view *v);

void view_event(struct view *v, const struct pssh_event *ev, struct outcome *o);
void view_end(struct view *v); /* after all hosts ended */

#endif
