/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand hosts under one market: machines with agents that ask what they are to do, over a network
 * that loses, repeats, delays and swaps what is said, while the market dies and starts again. Seconds
 * pass one by one. See agents.c.
 */
#ifndef TESTS_SIM_FLEET_H
#define TESTS_SIM_FLEET_H

#include "faulty.h"
#include "marketd/store/market.h"
#include "marketd/store/watch.h"

enum { MACHINES_MOST = 250, HOSTS_EACH = 4, OWNERS = 5, POOLS = 40, RING = 128, LETTERS_STAGED = 4096 };

/* What is promised, in seconds. */
enum {
	OVERDUE_MOST = 15,         /* a node whose lease is over, by an agent that knows so and runs */
	LEAK_MOST = 360,           /* any node that should not be, while its agent runs and can be spoken to */
	UNKNOWN_MOST = 300,        /* … that the agent does not know, while nobody can be asked */
	CALM_MOST = 240,           /* until all is as it should be when nothing fails any more */
	MAKING_MOST = 60,          /* for a new node, then */
	UNPAID_MOST = 480,         /* that were paid and not delivered in one go */
};

struct want { uint64_t instance; int64_t end_at; };

struct node {
	uint64_t instance;         /* 0: there is none */
	int64_t ready_at;          /* it is being made until then */
	int64_t end_at; /* of its lease, as it is on the agent's disk; 0: the agent does not know this node */
	int64_t gone_at;           /* it is being taken away until then; 0 */
	int64_t unknown_at;        /* when the agent found it and did not know it */
	int64_t report_at;         /* when the market is told how it is, again; INT64_MAX: it has heard */
	bool up, doomed, failed;
	int tries;
	int leak, overdue;         /* seconds that it was there and should not have been, without an excuse */
};

struct machine {
	uint64_t agent, account;
	uint64_t host[HOSTS_EACH];
	struct node node[HOSTS_EACH];
	struct want want[HOSTS_EACH]; /* as the market said last */
	uint64_t ran[HOSTS_EACH];  /* the instance whose node was up last */
	uint64_t generation;       /* on its disk */
	uint64_t have;             /* version of what it was told */
	uint64_t asked;            /* the number of the request that it waits for; 0 */
	int64_t asked_at;
	bool session, knows;
	int64_t off_until, dead_until, cut_until; /* machine, its agent, its link */
	uint64_t seen;             /* version that `truth` is of */
	struct want truth[HOSTS_EACH];
	int64_t true_since[HOSTS_EACH];
	uint64_t waiting;          /* the market holds this request of it; 0 */
	uint64_t waiting_have;
	int64_t waiting_until;
};

enum letter_kind { TO_SESSION, TO_POLL, TO_REPORT, BACK_SESSION, BACK_WORK, BACK_REPORT, BACK_FENCED };

struct letter {
	enum letter_kind kind;
	int machine;
	uint64_t asked, generation, version, instance;
	int status;
	struct want want[HOSTS_EACH];
};

struct bucket { struct letter *list; size_t count, cap; };

struct buyer_pool { uint64_t account, pool; int owed; bool idle; };

/* Seconds of a minute in which the nodes of one instance were up on a host. */
struct up { uint64_t instance[2]; uint8_t seconds[2]; };

struct fleet {
	uint64_t seed;
	struct rng rng;
	struct memdisk disk;
	struct faulty *shim;
	struct market *market;     /* NULL: its process is not there */
	struct watch *watch;
	int64_t clock, began, start_at; /* start_at: when the market's process is there again */
	int64_t minutes;           /* that are looked at */
	bool calm;                 /* nothing fails any more, and nobody buys */
	struct machine machine[MACHINES_MOST];
	int machines;
	struct buyer_pool pool[POOLS];
	uint64_t sku, owner[OWNERS], owner_pool[OWNERS];
	struct bucket ring[RING];
	struct letter staged[LETTERS_STAGED]; /* answers that wait for the commit */
	size_t staged_count;
	struct up *up;             /* [host][minute] */
	uint8_t *away;             /* [minute]: seconds in which there was no market */
	bool *heard;               /* [machine][minute] */
	bool *started;             /* [minute]: the market did */
	uint64_t names;
	long lost, repeated, starts, reports, made, hung, deaths, reboots, cuts, forgets, failures, orders, instances;
	int leak_most, overdue_most, unpaid_most;
	long due, paid, refunded, lacking, harmed; /* minutes of hosts */
	int64_t back_at;           /* when the market was there again at last */
	char wrong[512];
};

bool __attribute__((format(printf, 2, 3))) fleet_wrong(struct fleet *f, const char *fmt, ...);

/* fleet.c: the market's side */
bool fleet_start(struct fleet *f);
void fleet_kill(struct fleet *f, int64_t seconds);
bool fleet_setup(struct fleet *f, int machines);
bool fleet_second(struct fleet *f);        /* all of one second */
int fleet_host(const struct fleet *f, const struct machine *m, int i);
int64_t fleet_minute(const struct fleet *f); /* from the first on */
void fleet_release(struct fleet *f);

/* fleetpost.c: what is said */
void post_send(struct fleet *f, const struct letter *l);
void post_deliver(struct fleet *f);        /* of this second */
void post_stage(struct fleet *f, const struct letter *l);
void post_staged(struct fleet *f);         /* the commit went well: answers leave, waiting ones too */
bool post_linked(const struct fleet *f, const struct machine *m);

/* fleetmachine.c: the machines */
void machine_hears(struct fleet *f, struct machine *m, const struct letter *l);
void machine_second(struct fleet *f, struct machine *m);
bool machine_alive(const struct fleet *f, const struct machine *m);

/* fleetbuyer.c: who buys, and what the owners do */
void buyers_second(struct fleet *f);

/* fleetaudit.c: what must be true */
bool audit_second(struct fleet *f);        /* nodes that should not be, and how long */
bool audit_calm(struct fleet *f);          /* every host as it should be */
bool audit_money(struct fleet *f);         /* in the end, from the journal */

#endif
