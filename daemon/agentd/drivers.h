/* SPDX-License-Identifier: Apache-2.0 */
/* The drivers of this program, and which of them is best here. Only the program itself names them. */
#ifndef AGENTD_DRIVERS_H
#define AGENTD_DRIVERS_H

#include <stdbool.h>
#include <stdio.h>

#include "agentd/driver.h"
#include "agentd/machine/inventory.h"

/* Ends with NULL; best first. `host` is used only when named. */
typedef const struct driver *const *drivers;

const struct driver *drivers_find(drivers all, const char *name);

/*
 * name: a driver's, or "auto": the first that works and has all that it needs. Probes, so it may take seconds.
 * -ENOENT: no such driver. -ENOTSUP: it does not work here, and why.
 */
int drivers_choose(drivers all, const char *name, const struct driver_setup *setup, const struct driver **out,
	struct fail *f);

/* What the inventory says of its nodes. d NULL: nothing. */
void drivers_tell(const struct driver *d, const struct driver_terms *terms, struct inventory_setup *out);

/* d NULL: none is known, and no terms. */
void drivers_terms(const struct driver *d, const struct driver_setup *s, struct driver_terms *out);

/* Can it give a node GPUs and other devices? */
bool drivers_give_devices(const struct driver *d);
/* Does it give them as functions of the PCI bus, for which this machine needs an IOMMU? */
bool drivers_give_functions(const struct driver *d);
/* Can it give one GPU to several nodes? */
bool drivers_give_shares(const struct driver *d);

/*
 * `nanopod-agentd drivers`: prints each, or the one of that name, with what it isolates, or why it does not work.
 * Returns the exit status.
 */
int drivers_verb(drivers all, const char *name, const struct driver_setup *setup, bool json, FILE *out);

#endif
