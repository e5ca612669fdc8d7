/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory with each host's output: HOST.stdout, HOST.stderr, HOST.status ("exit 0", "signal
 * TERM", "error CODE sentence"; written last, so a host without one was interrupted) and
 * `command`. --failed-from reads it back to run again only where it failed, and so it reads JSON Lines.
 */
#ifndef CLI_REMOTE_SAVE_H
#define CLI_REMOTE_SAVE_H

#include <stddef.h>

#include "base/fail.h"
#include "cli/remote/fanout.h"

struct save {
	char *path;
	int dir;
};

/* Creates the directory if needed, and empties the files of these hosts. 0 or a negative code. */
int save_open(struct save *s, const char *path, const struct fanout *f, const char *command, struct fail *fail);
void save_close(struct save *s);

int save_data(struct save *s, const struct outcome *o, int is_stderr, const void *data, size_t len, struct fail *fail);
int save_outcome(struct save *s, const struct outcome *o, struct fail *fail);

/* Adds the hosts that failed. *command (malloc'd): the command that ran; NULL: not known. */
int save_failed(const char *path, struct pssh_list *into, char **command, struct fail *fail);

/* The same from the JSON Lines of `run -o jsonl` on a descriptor. */
int save_failed_jsonl(int fd, struct pssh_list *into, struct fail *fail);

/* A host's name as a file name, and back; malloc'd. */
char *save_file_name(const char *host, const char *suffix);
char *save_host_name(const char *file_name, size_t len);

#endif
