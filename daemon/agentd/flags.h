/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of nanopod-agentd. */
#ifndef AGENTD_FLAGS_H
#define AGENTD_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "agentd/os/opening.h"
#include "base/log.h"

enum { FLAGS_HOSTS = 64, FLAGS_OPEN = 64, FLAGS_WORDS = 80, FLAGS_PATH = 512 };

#define FLAGS_DATA "/var/lib/nanopod-agentd"

struct flags {
	const char *verb;                     /* NULL: serve */
	char *words[FLAGS_WORDS];             /* arguments of the verb */
	int word_count;
	char data[FLAGS_PATH], images[FLAGS_PATH], metrics[FLAGS_PATH]; /* absolute; metrics "": none */
	const char *driver, *listen, *address, *sysfs_root, *kmsg, *test_clock;
	const char *name, *type, *hosts[FLAGS_HOSTS];
	int host_count;
	struct opening open[FLAGS_OPEN]; /* --allow-net */
	size_t open_count;
	long nodes, first_port, grace, unknown_grace, ssh_within, look;   /* seconds, but for the first two */
	const char *nonce, *bom;                                          /* verify; NULL: a random one, none */
	bool uplink, json, plain, destroy, last;
	enum log_level level;
};

/* -1: continue; else an exit status: it printed help or version, or an error (on stderr). */
int flags_read(struct flags *o, int argc, char **argv);

#endif
