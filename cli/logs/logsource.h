/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads one log of one node by a command over SSH that can continue: the journal's cursor, or inode and offset of
 * a file, tell where the next command starts.
 */
#ifndef CLI_LOGS_LOGSOURCE_H
#define CLI_LOGS_LOGSOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/logs/logmerge.h"

/* X(name, word) */
#define LOGKINDS(X) \
	X(LOG_CONSOLE, "console") /* the market keeps it: not read here */ \
	X(LOG_JOURNAL, "journal") /* of systemd; what: a unit, or "" for all */ \
	X(LOG_FILE, "file") \
	X(LOG_COMMAND, "command") \
	X(LOG_POD, "pod")       /* of Kubernetes, by kubectl there; what: "[NAMESPACE/]NAME[:CONTAINER]" */ \
	X(LOG_FAILED, "failed") /* the journal of those units of systemd that failed */

enum log_kind {
#define LOGKIND_X(name, word) name,
	LOGKINDS(LOGKIND_X)
#undef LOGKIND_X
};

const char *logkind_name(enum log_kind kind);

/* What is wanted of all logs. */
struct log_want {
	bool follow;
	long lines;           /* how many existing lines; -1: all */
	int64_t since, until; /* Unix seconds; 0: not given */
	int priority;         /* minimum severity, of the journal and of lines that tell it; -1: any */
};

struct log_source {
	enum log_kind kind;
	char *what;              /* unit, path, command */
	char *unit;              /* of a file: unit whose journal to read where the file does not exist; NULL */
	bool root;               /* read by sudo, where the user is not root and may use it */
	size_t number;           /* in the merge */
	char *cursor;            /* journal: of the last line read; NULL */
	uint64_t inode, offset;  /* file: end of what was read */
	bool begun, lost;        /* begun: something was read; lost: a file was rotated away unread */
	int east;                /* its clock's zone, in seconds */
	int level;               /* of the last line with a time: lines without one belong to it */
	bool out;                /* and whether it was left out */
	int64_t last_us;         /* pod: the time of the last line read, */
	size_t last_count, skip; /* how many lines had it, and how many of them to skip now */
	uint64_t left;           /* bytes left of the current piece */
	struct buf head, line;   /* an incomplete line */
};

/* "journal", "ssh.service", "unit:ssh", "/var/log/x", "~/x", "console": 0, or -EINVAL with the forms. */
int logsource_what(const char *typed, enum log_kind *kind, const char **what, struct fail *f);

void logsource_init(struct log_source *s, enum log_kind kind, char *what, size_t number); /* takes what */
void logsource_release(struct log_source *s);

/* How many last lines to ask of a log that does not know times; -1: all. With --until logtail counts them itself. */
long logsource_lines(const struct log_want *w);

/*
 * The command to run on the node, to start or to continue. Feed a new connection's output from its start. 0 or -errno.
 */
int logsource_command(struct log_source *s, const struct log_want *w, struct buf *out);

/* Must standard input stay open? Then the command ends when it closes. */
bool logsource_holds(const struct log_source *s, const struct log_want *w);

/* Feeds output as it arrives; complete lines go into the merge. 0 or -ENOMEM. */
int logsource_feed(struct log_source *s, const struct log_want *w, struct logmerge *m, const char *data, size_t len,
	int64_t now_us);

/* The connection ended. At the end of a source that will not continue, a partial line counts as a line. */
int logsource_end(struct log_source *s, const struct log_want *w, struct logmerge *m, int64_t now_us);

#endif
