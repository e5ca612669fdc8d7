/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes of a node of the process driver without trusting any file: its first process by its arguments
 * (nanopod-node --node DIR), all others by NANOPOD_NODE in their environment. One that cleared its environment is
 * found as a descendant of the first process, or in the node's control group; where neither exists, it is not found.
 */
#ifndef AGENTD_PROCESS_NODE_PROCESSES_H
#define AGENTD_PROCESS_NODE_PROCESSES_H

#include <signal.h>
#include <stddef.h>

#include "agentd/driver.h"

/* "PREFIX-ID". */
void process_mark(const struct node_spec *n, char *room, size_t size);

/* Sends sig (0: only counts) to its first process, or to all with its mark. Returns how many there were. */
unsigned process_first(const struct node_spec *n, int sig);
unsigned process_marked(const struct node_spec *n, int sig);

/* Ids of nodes of this setup that have processes; one entry per process. */
void process_list(const struct driver_setup *s, void (*found)(void *arg, const char *id), void *arg);

/* The last line of its console, to quote in a sentence. */
void process_last_line(const struct node_spec *n, char *room, size_t size);

#endif
