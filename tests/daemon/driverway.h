/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/daemon/driver.c: a driver with its setup, nodes of it, an SSH client that knows only what was announced,
 * and a picture of all that this machine has of the driver, to compare with a later one.
 */
#ifndef TESTS_DRIVERWAY_H
#define TESTS_DRIVERWAY_H

#include <limits.h>

#include "agentd/driver.h"
#include "base/buf.h"

struct way {
	const struct driver *d;
	struct driver_setup setup;
	unsigned holds;
	char tmp[200], data[240], images[PATH_MAX], prefix[12], listen[32];
	char key[2][240];          /* private keys of two people */
	char public[2][512];
	struct buf before;         /* way_picture() at the beginning */
};

struct one {
	struct node_spec n;
	char id[40], name[40], dir[320], keys[2048], known[360];
};

enum { WAY_SSH_MS = 240000, WAY_TEXT = 1 << 20 };

/* Makes folders and keys below $TMP. Ends the test if it cannot. */
void way_init(struct way *w, const struct driver *d);
void way_release(struct way *w);

/* Prepares a node of this setup: only its folder with node.json and lock. Its first key is person's. */
void one_init(struct one *o, struct way *w, unsigned slot, const char *tenant, int person);
void one_keys(struct one *o, const struct way *w, int person);

/* create and start; inspect. -1 if the driver failed (printed). */
int one_up(struct way *w, struct one *o);
enum node_is one_is(struct way *w, struct one *o);

/*
 * Runs `command` by SSH as that person, accepting only the announced host key. 0 if it exited with 0. Its output goes
 * to out (may be NULL).
 */
int one_ssh(const struct way *w, const struct one *o, int person, const char *command, struct buf *out);
/* The same against a host key that is not the node's. */
int one_ssh_wrong(const struct way *w, const struct one *o, const char *command);
/* Waits until it answers. */
int one_wait(const struct way *w, const struct one *o, int person, int64_t ms);

/* Waits until text is in the file. */
int way_wait_text(const char *path, const char *text, int64_t ms);
int way_wait_is(struct way *w, struct one *o, enum node_is is, int64_t ms);

/*
 * All that the machine shows of this setup: processes, mounts, interfaces, namespaces, control groups, loop devices,
 * names in /run, files of nodes.
 */
void way_picture(const struct way *w, struct buf *out);
/* Is it as at the beginning, at once or within ms? */
int way_clean(const struct way *w, int64_t ms);

/* The pid, as this machine counts, of the process that was started as `sleep <text>`; 0: none. */
pid_t way_sleeper(const char *text);
pid_t way_wait_sleeper(const char *text, int64_t ms);
/* Processor time of all processes that name the node's folder, in ms. */
int64_t way_used_ms(const struct one *o);

/* Listens at all addresses, at a port of the kernel's choice; a descriptor, or -1. */
int way_listen(unsigned *port);
/* What `times` printed, "0m1.234s 0m0.010s" twice: the second line is for the children. -1: nothing of the kind. */
int64_t way_times_ms(const char *times);

bool way_lists(struct way *w, const char *id);
void way_reap(void);
unsigned way_random(unsigned below);

#endif
