/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the tree copy share: the copy, its hosts, and what this machine feeds itself. */
#ifndef CLI_TREE_TREEPART_H
#define CLI_TREE_TREEPART_H

#include <sys/stat.h>

#include "cli/tree/treecopy.h"
#include "cli/tree/treehash.h"
#include "cli/tree/treeplan.h"

enum { TREE_BLOCK = 256 << 10 };

struct tree_host {
	struct tree *tree;
	struct outcome *o;
	int index;
	char *key, *address, *dir; /* its one-time key, where its connections come from, its temporary folder */
	char said[256];            /* its last line on standard error */
	int wanted;                /* busy: the parent that it will have */
	int opened;                /* the parent that accepts its key, or TREE_NONE */
	int last;                  /* its last parent among the hosts, or TREE_NONE */
	bool pulling;              /* it began to take from its parent: what it gets from now on is from there */
	bool stopping;             /* busy: until it says that it takes from nobody */
	int64_t pause_until;       /* no new parent before; 0: now */
	char sum[TREEHASH_HEX], why[256];
	bool summed, again;     /* its checksum was asked for; it had a wrong one already */
	bool had, checking_old; /* the file was there before; it might be */
	bool landing, landed, ended;
	int code;                     /* why it failed: a code and */
	char *text;                   /* a sentence, or NULL */
	struct pssh_task *feed;       /* this machine sends to it */
	uint64_t feed_at, feed_until; /* a second one from here is a trial, which ends soon */
	bool feed_open, feed_over;    /* it said where to begin; its input has ended */
	uint64_t rate_have;
	int64_t rate_at, moved_at, asked_at; /* asked_at: `wanted` was asked to accept its key */
};

struct tree {
	struct nanopod *np;
	struct fanout *f;
	const struct tree_order *order;
	struct tree_node *nodes;
	struct tree_host *hosts;
	size_t count;
	int fd, timer;
	struct stat st;
	uint64_t size, sent;
	char id[24];
	struct treehash hash;
	char *block; /* TREE_BLOCK bytes, for what is sent */
	bool dirty, finished;
	int64_t planned_at;
};

/* ---- treetalk.c: lines to and from the hosts ---- */

__attribute__((format(printf, 2, 3))) void tree_say(struct tree_host *h, const char *fmt, ...);
void tree_hear(struct tree_host *h, const char *data, size_t len);
void tree_line(char *room, size_t size, const char *data, size_t len); /* the first line of data, as text */
__attribute__((format(printf, 3, 4))) void tree_fail(struct tree_host *h, int code, const char *fmt, ...);

/* ---- treefeed.c: what this machine sends ---- */

int feed_begin(struct tree_host *h); /* a PSSH_E… code */
void feed_event(struct tree *t, const struct pssh_event *ev);
void feed_stop(struct tree_host *h); /* lets what was sent arrive, then ends */

/* ---- treecopy.c ---- */

void tree_at(struct tree_host *h, uint64_t have);
void tree_have(struct tree_host *h, uint64_t have); /* the host begins from here */
void tree_check(struct tree_host *h);               /* lands what is complete and right */

#endif
