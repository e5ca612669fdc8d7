/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of `nanopod run --watch`: its rounds, its keys and when it is drawn. watchpage.c has what it shows. It
 * leaves the last round behind as ordinary output.
 */
#ifndef CLI_REMOTE_ROUNDS_H
#define CLI_REMOTE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/screen/screen.h"
#include "cli/remote/watchpage.h"

struct fanout;
struct pssh;

struct watch {
	struct nanopod *np;
	const char *command;
	char every[32];
	int64_t every_ms, began;
	struct watch_round last, before;
	enum watch_view view;
	size_t at; /* the host that is shown, or the first of several */
	struct screen screen;
	bool quit;  /* a person pressed q */
	int signal; /* that ended it, or 0 */
};

void watch_init(struct watch *w, struct nanopod *np, const char *command, int64_t every_ms);
void watch_release(struct watch *w);

void watch_begin(struct watch *w);                  /* of a round */
void watch_take(struct watch *w, struct fanout *f); /* the round is over: shows it */
void watch_draw(struct watch *w);                   /* again, in the terminal's size of now */
void watch_key(struct watch *w);                    /* the terminal is readable: may draw another view */

/* Waits until the next round is due, and keeps the connections going. False: it should end. */
bool watch_rest(struct watch *w, struct pssh *fleet);

/* Gives the terminal back, and prints the last round. */
void watch_end(struct watch *w);

#endif
