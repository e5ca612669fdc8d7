/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of `nanopod run --watch`: hosts by what they answered, what changed since the last round, and a line that
 * counts what the terminal has no room for. It leaves the last round behind as ordinary output.
 */
#ifndef CLI_REMOTE_ROUNDS_H
#define CLI_REMOTE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/frame/command.h"

struct fanout;
struct pssh;

/* Hosts that answered the same. */
struct watch_block {
	char *names, *end; /* end: how the command failed, or NULL */
	char *text;        /* what it printed, then its errors */
	size_t first;      /* one of the hosts */
};

struct watch_round {
	struct watch_block *blocks;
	size_t count, ok, failed;
	size_t *of; /* the block of each host */
	char time[16];
};

struct watch {
	struct nanopod *np;
	const char *command;
	char every[32];
	int64_t every_ms, began;
	struct watch_round last, before;
	int tty;    /* where keys come from */
	bool open;  /* the screen is ours */
	bool quit;  /* a person pressed q */
	int signal; /* that ended it, or 0 */
};

void watch_init(struct watch *w, struct nanopod *np, const char *command, int64_t every_ms);
void watch_release(struct watch *w);

void watch_begin(struct watch *w);                  /* of a round */
void watch_take(struct watch *w, struct fanout *f); /* the round is over: shows it */
void watch_draw(struct watch *w);                   /* again, in the terminal's size of now */
void watch_key(struct watch *w);                    /* the terminal is readable */

/* Waits until the next round is due, and keeps the connections going. False: it should end. */
bool watch_rest(struct watch *w, struct pssh *fleet);

/* Gives the terminal back, and prints the last round. */
void watch_end(struct watch *w);

#endif
