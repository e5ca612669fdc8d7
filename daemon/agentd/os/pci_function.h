/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a function of the PCI bus from one driver to another and resets it, by sysfs below a root, and reads back. */
#ifndef AGENTD_OS_PCI_FUNCTION_H
#define AGENTD_OS_PCI_FUNCTION_H

#include <stdbool.h>

#include "base/fail.h"

enum { FUNCTION_NAME = 64, FUNCTION_PATH = 512 };

/* "0000:19:00.0": hexadecimal digits in their places. */
bool function_address_good(const char *address);

/* root + format; "" where it is too long. */
const char *function_path(char room[FUNCTION_PATH], const char *root, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The last part of a link's target; false: no link. */
bool function_link(const char *path, char *room, unsigned size);

/* Its driver; "": none. */
void function_driver(const char *root, const char *address, char room[FUNCTION_NAME]);

/* 0 also where it has no driver. */
int function_unbind(const char *root, const char *address, struct fail *f);
/* From now on only this driver may take it; "": any that fits. Who has it keeps it. */
int function_override(const char *root, const char *address, const char *driver, struct fail *f);
/* 0 also where that driver has it; another's must be taken away first. */
int function_bind(const char *root, const char *address, const char *driver, struct fail *f);
/* Any driver that fits may take it, and is asked to. */
int function_free(const char *root, const char *address, struct fail *f);
/* -ENOTSUP: the kernel knows no way that would spare its neighbours. */
int function_reset(const char *root, const char *address, struct fail *f);
/* Is the kernel's first way one that empties the memory? A change of the power state may leave it as it was. */
bool function_resets_alone(const char *root, const char *address);
/*
 * Resets the bus that it is on, for a card that is not alone there because it has sound, which leaves its driver and
 * comes back. -ENOTSUP: the kernel does not know that way. -EBUSY: another card is on that bus.
 */
int function_reset_bus(const char *root, const char *address, struct fail *f);
/* Functions of its bus come back that such a reset left behind where it was cut off. */
void function_rescan(const char *root, const char *address);

#endif
