/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes of this machine, by /proc: who descends from whom, what they were started as. */
#ifndef AGENTD_OS_PROCTREE_H
#define AGENTD_OS_PROCTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls for every process of the machine but this one. */
void process_each(void (*seen)(void *arg, pid_t pid), void *arg);

/* Its words ("cmdline") or its environment ("environ"), NUL-ended each; how many bytes, 0 where it is not told. */
size_t process_read(pid_t pid, const char *what, char *room, size_t size);

/* Is `word` among those? And the word that follows it, or NULL. */
bool process_has(const char *words, size_t len, const char *word);
const char *process_after(const char *words, size_t len, const char *word);

/* All that descend from this process get the signal. How many there were. */
unsigned process_signal_below(int sig);

/* The same for those children of `root` that began at `since` (clock ticks since this machine began) or later, and all below them. */
unsigned process_signal_from(pid_t root, unsigned long long since, int sig);

#endif
