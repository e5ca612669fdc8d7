/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of one node on this machine (nodes/ID/node.json): all that is needed to go on with it, and to end it,
 * without asking a market. Written before anything is done, so that nothing runs without a journal.
 */
#ifndef AGENTD_NODE_JOURNAL_H
#define AGENTD_NODE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/driver.h"
#include "agentd/market/work.h"

/* X(name, word in journals and on the wire, word for people) */
#define LIVES(X) \
	X(PENDING, "pending", "pending")         /* wanted, not made yet */ \
	X(READY, "ready", "starting")            /* made; starting, or stopped by itself and about to start again */ \
	X(RUNNING, "running", "running")         /* SSH answers */ \
	X(DRAINING, "draining", "stopping")      /* its time is over: notice, grace, stop, wipe */ \
	X(TERMINATED, "terminated", "ended")     /* nothing is left of it */ \
	X(FAILED, "failed", "failed")            /* given up: wiped, and the market knows */ \
	X(UNKNOWN, "unknown", "unknown")         /* runs here though nobody ordered it: stopped, later wiped */

/* Why it is in this state. X(name, word, for people) */
#define CAUSES(X) \
	X(NONE, "", "") \
	X(ENDED, "ended", "the market ended it") \
	X(LEASE_OVER, "lease_over", "its lease is over") \
	X(CREATE_FAILED, "create_failed", "this host could not make it") \
	X(START_FAILED, "start_failed", "this host could not start it") \
	X(SSH_SILENT, "ssh_silent", "its SSH server does not answer") \
	X(KEEPS_STOPPING, "keeps_stopping", "it stops again and again") \
	X(NOT_ORDERED, "not_ordered", "it runs here, but nobody ordered it") \
	X(NO_DRIVER, "no_driver", "this program lacks its driver") \
	X(NO_SLOT, "no_slot", "this machine has too many nodes") \
	X(BAD_ORDER, "bad_order", "the market's order for it is invalid") \
	X(BAD_WISH, "bad_wish", "what its buyer gave for it is invalid") \
	X(NO_ROOM, "no_room", "this machine has no room for it") \
	X(NO_DEVICES, "no_devices", "this host's driver gives nodes no GPUs")

enum life {
#define NODE_X(name, word, text) LIFE_##name,
	LIVES(NODE_X)
#undef NODE_X
	LIFE_COUNT
};

enum cause {
#define NODE_X(name, word, text) CAUSE_##name,
	CAUSES(NODE_X)
#undef NODE_X
	CAUSE_COUNT
};

enum { NODE_MESSAGE = 400, NODE_DRIVER = 16, NODE_SLOTS = 4096, NODE_CORES = 512 };

/* How far the console was read: bytes of the file that are shipped, and the number of the next line. */
struct console_at {
	int64_t next, offset, inode;
	int64_t left_lines, left_bytes;   /* skipped before offset; the next line says so */
};

struct node {
	/* In the journal. */
	char id[WORK_ID], name[WORK_NAME], host[WORK_ID], tenant[WORK_ID], pool[WORK_ID]; /* pool "": an old one */
	/* "": that of its pool */
	char network[WORK_ID];
	char type[WORK_TEXT], image[WORK_TEXT], driver[NODE_DRIVER], message[NODE_MESSAGE];
	/* port: 0 unless another program had first_port + slot */
	unsigned slot, port, tries, quick_stops, cpu_milli, pids;
	int64_t end_at, memory, disk, since;      /* since: Unix time at which life became what it is */
	struct contract contract;
	char cores[NODE_CORES]; /* the processors that it may use: "0-1,4"; "": all */
	enum life life;
	enum cause cause;
	char *user_data;
	size_t user_data_len;
	bool script; /* its buyer once sent a script: what the node does to itself is the buyer's doing */
	bool ran;    /* so its disk holds what its buyer wrote */
	uint64_t keys_in;                         /* hash of the user data whose keys are in the node; 0: none */
	struct console_at console;
	/* Not in the journal. */
	bool wanted, market_running, wrong;       /* as the market last said; wrong: its entry cannot be used */
	unsigned waits;                           /* starts that its volumes kept from it: no tries */
	bool is_known, told;                      /* told: the market knows this life from this session */
	enum node_is is;
	int64_t due_ms, drain_ms, ssh_ms, ship_ms, remove_ms, up_ms, touched_ms;
	int64_t console_freed, console_due_ms;
	bool console_dirty, console_more, console_refused;
	bool ssh_said;                          /* message is from the last try of SSH */
};

const char *life_word(enum life l);   /* for journals and the wire */
const char *life_text(enum life l);   /* for people */
const char *cause_word(enum cause c);
const char *cause_text(enum cause c);

/* May a node change from one to the other? To itself: yes. */
bool life_legal(enum life from, enum life to);
/* -EINVAL, and nothing changed, if it may not. now: Unix time. */
int node_become(struct node *n, enum life to, enum cause cause, int64_t now);

/* Sets n->message: one line that JSON can hold, whatever other programs said. */
void node_say(struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

uint64_t node_hash(const void *data, size_t len);     /* never 0 */

struct node *node_new(const char *id);
void node_free(struct node *n);
int node_set_user_data(struct node *n, const char *data, size_t len);

/* data/nodes/ID/node.json. Load: -ENOENT, -EINVAL if it is damaged. */
int node_save(const char *data, const struct node *n, struct fail *f);
int node_load(const char *data, const char *id, struct node **out, struct fail *f);
/* Removes the folder and the agent's files in it; -ENOTEMPTY if a driver left something. And: makes the folder. */
int node_forget(const char *data, const char *id);
int node_folder(const char *data, const char *id, struct fail *f);

#endif
