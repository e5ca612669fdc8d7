/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the market wants of this machine: a whole document each time. It comes from outside, so it is
 * believed in no number and no name; one that is wrong anywhere is refused whole, since a node that
 * is missing from it would be taken away.
 */
#ifndef AGENTD_MARKET_WORK_H
#define AGENTD_MARKET_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

enum {
	WORK_ID = 40, WORK_NAME = 64, WORK_TEXT = 128, WORK_VERSION = 128,
	WORK_NODES = 4096, WORK_HOSTS = 4096, WORK_USER_DATA = 64 * 1024,
};

struct work_host {
	char id[WORK_ID], type[WORK_TEXT], name[WORK_TEXT];
};

struct work_node {
	char id[WORK_ID];              /* letters, digits, '_', '-': a file name */
	char name[WORK_NAME];          /* a host name, made of the node's */
	char host[WORK_ID], tenant[WORK_ID], pool[WORK_ID];
	char type[WORK_TEXT], image[WORK_TEXT];   /* image "": the driver's own */
	bool running;                  /* the market was told so */
	int64_t end_at;                /* INT64_MAX: no end is known */
	char *user_data;               /* bytes, a NUL after them; NULL: none */
	size_t user_data_len;
};

struct work {
	char version[WORK_VERSION], agent[WORK_ID], agent_name[WORK_TEXT];
	int64_t now;
	bool test_clock;
	struct work_host *hosts;
	struct work_node *nodes;       /* no two of one id */
	size_t host_count, node_count;
};

/* 0, -EPROTO with a sentence, -ENOMEM. */
int work_parse(const char *text, size_t len, struct work **out, struct fail *f);
void work_free(struct work *w);

/* Is it an id of something? What file names and driver's names are made of. */
bool work_is_id(const char *text, const char *prefix);
/* A host name of letters, digits and '-', made of name, or of id where nothing is left. */
void work_host_name(const char *name, const char *id, char room[WORK_NAME]);

#endif
