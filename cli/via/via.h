/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one command on many hosts through gateways: deals the hosts, hands each to its gateway when its turn comes, and
 * makes the gateways' results the events of a fanout. A host that was handed to a gateway may have begun there, so it
 * goes to no other one: nothing runs twice.
 */
#ifndef CLI_VIA_VIA_H
#define CLI_VIA_VIA_H

#include "cli/remote/fanout.h"
#include "cli/via/viabinary.h"
#include "pssh/pssh.h"

struct viagate;

enum via_place { VIA_WAITING, VIA_SENT, VIA_RUNS, VIA_LOST, VIA_OVER };

struct via_target {
	uint32_t gate;  /* which one has it, of SENT and RUNS; of LOST: with which it died */
	uint32_t place; /* enum via_place */
};

struct via {
	struct nanopod *np;
	struct fanout *fanout;
	struct viabinary binary;
	struct buf job; /* frames that every gateway gets first */
	struct viagate *gates;
	size_t gate_count;
	struct via_target *targets; /* one for each host of the fanout */
	size_t left, out, limit;    /* hosts that have not ended; of them handed out; how many may be, 0: any number */
	uint32_t *lost;             /* hosts whose end is to be told */
	size_t lost_at, lost_count;
	struct viagate *reading; /* frames of it are left */
	bool cancelled, stirred, done;
	char *agent; /* the socket of the agent that gateways may use, or NULL */
	int watch;   /* readable when an agent answers; -1: none */
	struct pssh_event made;
	struct buf text;
};

/* What the command says that runs on the hosts. */
struct via_job {
	const char *command;
	const char *script;
	size_t script_len;
	bool has_script, chunks, tty, forward;
};

/* Makes v the source of f's events, through the gateways of the list. An exit status. */
int via_init(struct via *v, struct fanout *f, const char *const *gateways, const struct via_job *job);
void via_release(struct via *v);

#endif
