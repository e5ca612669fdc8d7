/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines to and from a socket in a node's folder: QEMU's monitor and the node's second serial port.
 * The other end belongs to a guest that may be hostile: what it says has a ceiling and a deadline.
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
	size_t taken;              /* of in: the line that was given last */
};

/*
 * Connects to folder/name once it is there. pid: the process that must be listening (0: any); where it
 * ends in the meantime, -ESRCH. Long paths are no trouble. -ETIMEDOUT after deadline_ms.
 */
int vmwire_open(struct vmwire *w, const char *folder, const char *name, pid_t pid, int64_t deadline_ms, struct fail *f);
void vmwire_from(struct vmwire *w, int fd);  /* of a connection that is there; the descriptor is the wire's own */
void vmwire_close(struct vmwire *w);

int vmwire_send(struct vmwire *w, const char *data, size_t len, int64_t deadline_ms, struct fail *f);

/* The same with a descriptor that goes along with the first byte. */
int vmwire_send_with(struct vmwire *w, const char *data, size_t len, int with, int64_t deadline_ms, struct fail *f);

/* The next line without its end; good until the next call. -ETIMEDOUT, -EPIPE (closed), -EFBIG. */
int vmwire_line(struct vmwire *w, int64_t deadline_ms, const char **line, struct fail *f);

#endif
