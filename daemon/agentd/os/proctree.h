/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes of this machine, from /proc: who descends from whom, and with what arguments they were started. */
#ifndef AGENTD_OS_PROCTREE_H
#define AGENTD_OS_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls for every process of the machine but this one. */
void process_each(void (*seen)(void *arg, pid_t pid), void *arg);

/* Reads its arguments ("cmdline") or environment ("environ"), each NUL-ended; the number of bytes, 0 if unreadable. */
size_t process_read(pid_t pid, const char *what, char *room, size_t size);

/* Is `word` among those? And: the word that follows it, or NULL. */
bool process_has(const char *words, size_t len, const char *word);
const char *process_after(const char *words, size_t len, const char *word);

/* Sends the signal to all descendants of this process; returns how many there were. */
unsigned process_signal_below(int sig);

/*
 * Sends it to those children of `root` that began at `since` (clock ticks since the machine booted) or later, and to
 * all their descendants.
 */
unsigned process_signal_from(pid_t root, unsigned long long since, int sig);

#endif
