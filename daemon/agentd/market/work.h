/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market wants of this machine: a complete document each time. It comes from outside, so no number and no name
 * in it is trusted. A node whose entry is wrong fails alone, since its buyer wrote some of it. The agent refuses a
 * document of which it cannot tell which nodes it names, since it would wipe a node that the document lacks.
 */
#ifndef AGENTD_MARKET_WORK_H
#define AGENTD_MARKET_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agentd/contract.h"
#include "base/fail.h"

enum {
	WORK_ID = 40,
	WORK_MEMBER = 16,
	WORK_NAME = 64,
	WORK_TEXT = 128,
	WORK_VERSION = 128,
	WORK_VOLUMES = 4096,
	WORK_NODES = 4096,
	WORK_HOSTS = 4096,
	WORK_USER_DATA = 64 * 1024,
};

struct work_host {
	char wrong[WORK_MEMBER]; /* "resources", or "": none is wrong */
	char id[WORK_ID], type[WORK_TEXT], name[WORK_TEXT];
	struct contract contract;
	bool asks_proof, verified,
		verify_now;                  /* its type asks for proof; the market has one; it wants another at once */
	int64_t verified_at, verified_until; /* by the market's clock; 0: no proof */
};

struct work_node {
	char wrong[WORK_MEMBER];       /* the first member that is wrong; "": none, and all of it can be used */
	bool buyers;                   /* all that is wrong is the buyer's: image, user data */
	char id[WORK_ID];              /* letters, digits, '_', '-': used as a file name */
	char name[WORK_NAME];          /* a host name derived from the node's */
	char host[WORK_ID], tenant[WORK_ID], pool[WORK_ID];
	char network[WORK_ID];                    /* with the tenant: which nodes it reaches; "": the pool says it */
	char type[WORK_TEXT], image[WORK_TEXT];   /* image "": the driver's default */
	struct contract contract;
	bool running;                  /* the market knows that it runs */
	int64_t end_at;                /* INT64_MAX: no end is known */
	char *user_data;               /* bytes, followed by a NUL; NULL: none */
	size_t user_data_len;
};

/* Room of this machine's disk that outlives nodes. */
struct work_volume {
	char id[WORK_ID], tenant[WORK_ID], name[WORK_NAME];
	int64_t bytes;
	bool mounted, deleted; /* nodes that start see it; the market wants it gone */
};

struct work {
	char version[WORK_VERSION], agent[WORK_ID], agent_name[WORK_TEXT];
	char keys[WORK_TEXT]; /* that the market shows, now and next: "sha256//…;sha256//…"; "": it says nothing */
	int64_t now;
	bool test_clock;
	struct work_host *hosts;
	struct work_node *nodes;       /* no two with the same id */
	struct work_volume *volumes;
	size_t host_count, node_count, volume_count;
};

/* 0, -EPROTO with a sentence, -ENOMEM. */
int work_parse(const char *text, size_t len, struct work **out, struct fail *f);
void work_free(struct work *w);

/* Is it a time, in seconds since 1970, before the year 36000? The agent adds to it and subtracts from it. */
bool work_is_time(int64_t at);
/* Is it a valid id? File names and drivers' names are made of ids. */
bool work_is_id(const char *text, const char *prefix);
/* A host name of letters, digits and '-', made of name, or of id where nothing usable is left. */
void work_host_name(const char *name, const char *id, char room[WORK_NAME]);

#endif
