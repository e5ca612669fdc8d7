/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines to and from a socket in a node's folder: QEMU's monitor and the node's second serial port. The guest at the
 * other end may be hostile: its lines have a maximum length and a deadline.
 */
#ifndef AGENTD_VM_SOCKET_H
#define AGENTD_VM_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/fail.h"

struct vmwire {
	int fd;
	struct buf in;
	size_t taken;              /* length, in `in`, of the line that was returned last */
};

/*
 * Connects to folder/name once it exists. pid: the process that must be listening (0: any); -ESRCH if it ends
 * meanwhile. The path may be long. -ETIMEDOUT after deadline_ms.
 */
int vmwire_open(struct vmwire *w, const char *folder, const char *name, pid_t pid, int64_t deadline_ms, struct fail *f);
void vmwire_from(struct vmwire *w, int fd);  /* wraps an open connection and takes over its descriptor */
void vmwire_close(struct vmwire *w);

int vmwire_send(struct vmwire *w, const char *data, size_t len, int64_t deadline_ms, struct fail *f);

/* The same with a descriptor that travels with the first byte. */
int vmwire_send_with(struct vmwire *w, const char *data, size_t len, int with, int64_t deadline_ms, struct fail *f);

/* The next line without its newline; valid until the next call. -ETIMEDOUT, -EPIPE (closed), -EFBIG. */
int vmwire_line(struct vmwire *w, int64_t deadline_ms, const char **line, struct fail *f);

#endif
