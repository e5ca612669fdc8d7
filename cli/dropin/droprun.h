/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command, or copies, on the hosts of a drop-in by the same fan-out as `nanopod run` and `nanopod cp`. */
#ifndef CLI_DROPIN_DROPRUN_H
#define CLI_DROPIN_DROPRUN_H

#include <stdio.h>

#include "base/buf.h"
#include "cli/remote/fanout.h"
#include "cli/remote/fold.h"

struct droprun;

/* How a tool shows what happens. */
struct dropshow {
	enum pssh_output output;
	/* Output of a host; NULL: none is shown. */
	void (*data)(struct droprun *r, struct outcome *o, bool err, const char *data, size_t len);
	void (*end)(struct droprun *r, struct outcome *o); /* it ended; NULL: shown at the end */
	int (*done)(struct droprun *r);                    /* all ended: the exit status */
};

struct droprun {
	struct nanopod *np;
	const struct options *o;
	const struct dropshow *show;
	const char *command; /* NULL: a copy */
	bool templated;      /* %h, %u, %n and %% of the command stand for the host, as pdsh has it */
	bool numbered;       /* PSSH_NODENUM, PSSH_NUMNODES and PSSH_HOST are set, as pssh has it */
	bool input, tty, progress;
	char *const *sources; /* of a copy; ends with NULL */
	const char *target;   /* "{base}" in it: the name of the source without folders */
	bool put;
	unsigned flags; /* PSSH_COPY_… */

	/* Its own. */
	struct fanout fanout;
	struct fold *fold;   /* for places of outcomes */
	size_t step, number; /* which source; how many hosts ended */
	char *to;
	void *own; /* the tool's */
};

/* An exit status. */
int droprun(struct droprun *r, const struct pssh_list *hosts);

/* A host's status as ssh would exit: 255 also where a signal ended the command. And did it run out of time? */
int droprun_status(const struct outcome *o);
bool droprun_timed_out(const struct outcome *o);

/* The largest status of all hosts. */
int droprun_largest(const struct droprun *r);

/* Writes each line with the label and ": " in front, or without where it is NULL. */
void droprun_lines(struct droprun *r, FILE *stream, const char *label, const char *data, size_t len);

/* Keeps output in o->out and o->err. */
void droprun_keep(struct droprun *r, struct outcome *o, bool err, const char *data, size_t len);
char *droprun_text(struct fold_place place, size_t *len); /* free() it */

/* A folder with a file for each host. */
struct dropdir {
	int fd;
	const char *path;
};

/* path NULL: none. An exit status. */
int dropdir_open(struct nanopod *np, struct dropdir *d, const char *path);
void dropdir_add(struct nanopod *np, const struct dropdir *d, const char *host, const char *data, size_t len);
void dropdir_close(struct dropdir *d);

#endif
