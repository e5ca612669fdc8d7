/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of ssh_config(5) as written: blocks under a Host or Match line, each with its lines. This
 * file decides nothing about hosts. One arena has all memory of one reading.
 */
#ifndef PSSH_CONFIG_SSHFILE_H
#define PSSH_CONFIG_SSHFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "pssh/config/sshconfig.h"
#include "pssh/config/sshkeyword.h"

struct fail;
struct sshfile;

struct sshfile_link {
	struct sshfile_link *next;
	struct sshfile *file;
};

struct sshfile_line {
	struct sshfile_line *next;
	const struct keyword *keyword;
	char **args;                       /* ends with NULL */
	int number;                        /* KEYWORD_UNSET: none */
	unsigned at;                       /* line in file */
	const char *path;
	struct sshfile_link *included;     /* KEYWORD_INCLUDE */
	struct sshconfig_warning *warning; /* or NULL */
};

enum sshfile_test {
	TEST_ALL, TEST_FINAL, TEST_HOST, TEST_ORIGINALHOST, TEST_USER, TEST_LOCALUSER, TEST_TAGGED, TEST_EXEC,
};

struct sshfile_criterion {
	struct sshfile_criterion *next;
	enum sshfile_test test;
	bool negated;
	const char *value;
	struct sshconfig_warning *warning; /* TEST_EXEC */
};

struct sshfile_block {
	struct sshfile_block *next;         /* in the file's list of general blocks */
	unsigned index;                     /* place in the file */
	enum { BLOCK_ALWAYS, BLOCK_HOST, BLOCK_MATCH } kind;
	char **patterns;                    /* BLOCK_HOST */
	struct sshfile_criterion *criteria; /* BLOCK_MATCH */
	struct sshfile_line *lines, **tail;
};

/* A block whose Host line has exactly this name. */
struct sshfile_hit {
	struct sshfile_hit *next, *last; /* last: the end of the chain; only its first member has it */
	struct sshfile_block *block;
};

struct sshfile {
	struct sshfile *next;           /* of the same reading */
	const char *path;
	struct table names;             /* name -> struct sshfile_hit, in order */
	struct sshfile_block *general, **general_tail; /* the blocks to try for every host */
	unsigned blocks;
};

/* One reading: a file and all files that it includes. */
struct sshfile_reading {
	struct sshfile_reading *next;
	struct arena *arena;
	struct sshfile *top, *files;
	bool user_file;                  /* not the system-wide one */
	struct sshconfig_warning *warnings, **warnings_tail;
	const char **ignored;            /* IgnoreUnknown patterns read so far */
	size_t ignored_count;
	size_t file_count, bytes;
	bool wants_final;                /* a Match line has the criterion final */
};

int sshfile_read(const char *path, bool user_file, const struct sshfile_reading *earlier,
	struct sshfile_reading **out, struct fail *f);
void sshfile_free(struct sshfile_reading *r);

#endif
