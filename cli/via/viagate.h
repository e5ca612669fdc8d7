/* SPDX-License-Identifier: Apache-2.0 */
/* One gateway: starts its helper, sends it what it lacks, passes frames both ways, and notices its end. */
#ifndef CLI_VIA_VIAGATE_H
#define CLI_VIA_VIAGATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "cli/via/viaagent.h"
#include "cli/via/viabinary.h"
#include "cli/via/viaframe.h"
#include "pssh/pssh.h"

enum viagate_state {
	VIAGATE_STARTING, /* its shell looks for a helper */
	VIAGATE_READY,    /* the helper reads frames */
	VIAGATE_ENDING,   /* it has no more to do */
	VIAGATE_GONE
};

struct viagate {
	uint32_t index;
	struct pssh *fleet;
	const struct viabinary *binary;
	const struct buf *job; /* what the helper gets first */
	struct pssh_host *host;
	struct pssh_task *task;
	enum viagate_state state;
	struct buf in, out, said; /* said: the last line of standard error */
	size_t in_at;
	bool sending, full;
	bool stirred; /* it may take more now */
	bool mourned; /* its hosts have been seen to since it is GONE */
	size_t binary_at;
	uint32_t *queue; /* hosts that it is to get */
	size_t queue_at, queue_count, queue_cap;
	size_t ahead, left;    /* handed out and not begun; handed out and not ended */
	struct viaagent agent; /* the person's, where it is forwarded */
	char why[512];         /* of GONE */
};

int viagate_start(struct viagate *g, const char *command); /* 0 or a PSSH_E… code */
void viagate_release(struct viagate *g);
void viagate_queue(struct viagate *g, uint32_t host);

/* An event of its task; true where frames may have come. */
bool viagate_event(struct viagate *g, const struct pssh_event *ev);

/* 1: a frame; 0: none is left, or it is gone for what it wrote. */
int viagate_frame(struct viagate *g, struct via_frame *out);

/* It takes another host now, and then writes what can be written. */
bool viagate_takes(const struct viagate *g);
void viagate_push(struct viagate *g);
void viagate_finish(struct viagate *g);
void viagate_break(struct viagate *g, const char *why);

#endif
