/* SPDX-License-Identifier: Apache-2.0 */
/* For tests/daemon/driver.c: what a virtual machine was promised of disk, files and network. */
#ifndef TESTS_DRIVERPROMISE_H
#define TESTS_DRIVERPROMISE_H

#include "base/fail.h"
#include "driverway.h"

struct promise_seen {
	int64_t size, files; /* of its file system, as it sees it */
	int64_t held;        /* of this machine's */
	int rates;           /* how many limits its network has */
	int refused;         /* what `create` says to a node with too many files */
	char why[sizeof((struct fail *)0)->text];
	enum node_is is; /* that one */
};

/* Before `create`. */
void promise_give(const struct way *w, struct one *o);
/* When it answers; false: this driver is tried elsewhere. */
bool promise_look(struct way *w, struct one *o, struct promise_seen *out);

#endif
