/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node as this machine's journal has it (nodes/ID/node.json): all that is needed to go on, and to
 * end it, with no market to ask. Written before anything is done, so that nothing runs that is not in a journal.
 */
#ifndef AGENTD_NODE_JOURNAL_H
#define AGENTD_NODE_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/driver.h"
#include "agentd/market/work.h"

/* X(name, word) */
#define LIVES(X) \
	X(PENDING, "pending")         /* wanted, not made yet */ \
	X(READY, "ready")             /* made; it is being started, or came to a stop and will be again */ \
	X(RUNNING, "running")         /* SSH answers */ \
	X(DRAINING, "draining")       /* its time is over: notice, grace, stop, wipe */ \
	X(TERMINATED, "terminated")   /* nothing is left of it */ \
	X(FAILED, "failed")           /* given up: wiped, and the market told */ \
	X(UNKNOWN, "unknown")         /* it runs here and nobody ordered it: stopped, later wiped */

/* Why it is so. X(name, word, for people) */
#define CAUSES(X) \
	X(NONE, "", "") \
	X(ENDED, "ended", "the market ended it") \
	X(LEASE_OVER, "lease_over", "its lease is over") \
	X(CREATE_FAILED, "create_failed", "it could not be made") \
	X(START_FAILED, "start_failed", "it could not be started") \
	X(SSH_SILENT, "ssh_silent", "its SSH server does not answer") \
	X(KEEPS_STOPPING, "keeps_stopping", "it stops again and again") \
	X(NOT_ORDERED, "not_ordered", "it runs here and nobody ordered it") \
	X(NO_DRIVER, "no_driver", "its driver is not in this program") \
	X(NO_SLOT, "no_slot", "there are too many nodes on this machine")

enum life {
#define NODE_X(name, word) LIFE_##name,
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

enum { NODE_MESSAGE = 400, NODE_DRIVER = 16, NODE_SLOTS = 4096 };

/* Where the console was read to: bytes of the file that are shipped, and the number of the next line. */
struct console_at {
	int64_t next, offset, inode;
	int64_t left_lines, left_bytes;   /* were passed over before offset: said in the next line */
};

struct node {
	/* In the journal. */
	char id[WORK_ID], name[WORK_NAME], host[WORK_ID], tenant[WORK_ID];
	char type[WORK_TEXT], image[WORK_TEXT], driver[NODE_DRIVER], message[NODE_MESSAGE];
	unsigned slot, tries, falls, cpu_milli;
	int64_t end_at, memory, disk, since;      /* since: Unix time at which life became what it is */
	enum life life;
	enum cause cause;
	char *user_data;
	size_t user_data_len;
	bool script; /* its buyer gave a script with it, once: what it does to itself is his doing */
	uint64_t keys_in;                         /* hash of the user data whose keys are in the node; 0: none */
	struct console_at console;
	/* Not in the journal. */
	bool wanted, market_running;              /* the market's last word */
	bool is_known, told;                      /* told: the market knows this life from this session */
	enum node_is is;
	int64_t due_ms, drain_ms, knock_ms, ship_ms, remove_ms, up_ms, touched_ms;
	int64_t console_freed, console_due_ms;
	bool console_dirty, console_more, console_refused;
	bool knock_said;                          /* message is of the last knock */
};

const char *life_word(enum life l);
const char *cause_word(enum cause c);
const char *cause_text(enum cause c);

/* May a node go from one to the other? To itself: yes. */
bool life_legal(enum life from, enum life to);
/* -EINVAL, and nothing changed, where it may not. now: Unix time. */
int node_become(struct node *n, enum life to, enum cause cause, int64_t now);

/* n->message: one line that JSON can hold, whatever the programs of others said. */
void node_say(struct node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

uint64_t node_hash(const void *data, size_t len);     /* never 0 */

struct node *node_new(const char *id);
void node_free(struct node *n);
int node_set_user_data(struct node *n, const char *data, size_t len);

/* data/nodes/ID/node.json. Load: -ENOENT, -EINVAL where it is damaged. */
int node_save(const char *data, const struct node *n, struct fail *f);
int node_load(const char *data, const char *id, struct node **out, struct fail *f);
/* The folder and what the agent has in it; -ENOTEMPTY where a driver left something. */
int node_forget(const char *data, const char *id);
int node_folder(const char *data, const char *id, struct fail *f);

#endif
