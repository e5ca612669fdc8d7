/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemons that `nanopod local` started, and the ports that it takes. A file remembers each daemon by process
 * id and start time, so that another process with the same id is never taken for it.
 */
#ifndef CLI_LOCAL_LOCALPROC_H
#define CLI_LOCAL_LOCALPROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/local/daemons.h"

struct localproc {
	pid_t pid;
	int64_t since; /* Unix seconds */
};

/*
 * Starts the daemon in the background, with its output in the log, and writes the file. 0, also where it ended at once;
 * or a negative code, and it does not run.
 */
int localproc_start(const char *path, const struct agentd_call *c, const char *log, struct fail *f);

/* Does the daemon run? Then *p tells its number and start. */
bool localproc_runs(const char *path, struct localproc *p);

/*
 * Stops the daemon with TERM, after grace_ms with KILL, and removes the file. 0, also where it did not run;
 * or a negative code.
 */
int localproc_end(const char *path, int64_t grace_ms, struct fail *f);

/*
 * Finds so many free ports in a row on 127.0.0.1, below those that the kernel hands out. Random, so that two
 * people on one machine do not collide. The first port, or a negative code.
 */
int localproc_find_ports(int count, struct fail *f);
bool localproc_port_free(int port);

#endif
