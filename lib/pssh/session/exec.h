/* SPDX-License-Identifier: Apache-2.0 */
/* One remote process on one channel: starts it, writes its input, reads its output and its exit status. */
#ifndef PSSH_SESSION_EXEC_H
#define PSSH_SESSION_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "pssh/session/chan.h"
#include "pssh/session/input.h"
#include "pssh/session/output.h"

/* What to start; the caller keeps it alive until exec_free. */
struct exec_want {
	const char *command;          /* NULL: a login shell */
	char *const *env;             /* name, value, name, value, …, NULL; or NULL */
	const char *term;             /* NULL: no terminal */
	unsigned columns, rows;
	struct output_rule output;
};

enum exec_state {
	EXEC_OPEN,
	EXEC_FORWARD,
	EXEC_HOST_ENV,
	EXEC_ENV,
	EXEC_PTY,
	EXEC_START,
	EXEC_RUN,
	EXEC_CLOSE,
	EXEC_REST,
	EXEC_ENDED,
};

struct exec {
	const struct exec_want *want;
	struct chan *chan;
	enum exec_state state;
	char *const *host_env; /* set before want->env; or NULL. The owner may put it here before the first step */
	size_t env_at;
	bool forward, not_forwarded;  /* asks for the agent, before the first step; the server refused that */
	struct input *input;          /* the task's, or this run's own; may change while it runs */
	uint64_t taken;               /* how far the process has taken the input */
	bool eof_sent, resize;
	unsigned columns, rows;
	int stream;                   /* which stream to read next */
	struct output out[2];

	/* What the last step returned: output … */
	int emit_stream;
	const char *emit;
	size_t emit_len;
	uint64_t emit_dropped;
	/* … or the end. */
	int status;
	char *signal;                 /* NULL: it exited by itself */
};

enum { EXEC_DONE = 0, EXEC_BEGUN = 1, EXEC_OUTPUT = 2 };

/* Memory for reading, shared by all. */
struct exec_room {
	char *data;
	size_t size;
	struct buf join;
};

int exec_new(struct link *l, const struct exec_want *want, struct input *input, struct exec **out);
void exec_free(struct exec *e);

/* One of the above, PSSH_EAGAIN, or another code with its sentence. */
int exec_step(struct exec *e, struct exec_room *room, struct fail *f);
bool exec_running(const struct exec *e);
void exec_resize(struct exec *e, unsigned columns, unsigned rows);

#endif
