/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated market place: market.c on a disk that fails, in a process that dies, by a clock that
 * jumps, for clients whose requests and answers get lost and who ask again under the same key.
 * See market.c.
 */
#ifndef TESTS_SIM_SIM_H
#define TESTS_SIM_SIM_H

#include "faulty.h"
#include "marketd/store/market.h"

enum { INTENTS_MOST = 1200, ANSWERS_MOST = 16, ANSWER_TEXT = 64, THINGS_MOST = 16 };

/* What a client wants done once, and what it has been told about it. */
struct intent {
	struct event event;        /* token: which intent it is, so that the journal tells */
	char key[24];
	bool told;                 /* it has its answer */
	bool done;                 /* and that was that it is done */
	char answer[ANSWER_TEXT];
};

/* An answer that waits for the commit. */
struct answering {
	size_t intent;
	bool done, again;          /* again: it is one that was kept */
	char text[ANSWER_TEXT];
};

struct sim {
	uint64_t seed;
	struct rng rng;
	struct memdisk disk;
	const char *path;          /* of an SQLite database; NULL: the disk above */
	struct faulty *shim;       /* the market's; NULL while the process is down */
	struct market *market;
	struct faults faults;
	int64_t clock;
	struct intent intent[INTENTS_MOST];
	size_t intents;
	struct answering answering[ANSWERS_MOST];
	size_t answers;
	uint64_t account[THINGS_MOST], pool[THINGS_MOST], sku[THINGS_MOST];
	size_t accounts, pools, skus;
	uint64_t committed;        /* hash of the state at the last commit that was heard of */
	uint64_t staged;           /* … of what the commit that follows would make durable */
	bool unsure;               /* which of both is on disk */
	long turns, deaths, failures, repeats, kept, refused_commits, takeovers;
	char wrong[512];           /* what went wrong; empty: nothing */
};

bool __attribute__((format(printf, 2, 3))) sim_wrong(struct sim *s, const char *fmt, ...);

/* simmarket.c: the process */
bool sim_start(struct sim *s);  /* opens the market; tries until it can */
void sim_kill(struct sim *s);
int sim_time(struct sim *s);    /* market_time(), and what it made last on its way */
bool sim_again(struct sim *s);  /* killed, and started anew */
bool sim_commit(struct sim *s); /* the end of a turn; tells waiting clients. false: wrong says what */
bool sim_take_over(struct sim *s);
int sim_open_store(struct sim *s, struct store **out, struct fail *f);

/* simclient.c: the clients */
bool sim_setup(struct sim *s);
void sim_ask(struct sim *s);    /* somebody asks for something, again or for the first time */
bool sim_ask_for(struct sim *s, size_t intent, bool arrives);
void sim_meddle(struct sim *s); /* what is not kept under keys: cancels, releases, hosts */
bool sim_hear(struct sim *s, const struct answering *a);

/* simaudit.c: in the end */
bool sim_audit(struct sim *s);

#endif
