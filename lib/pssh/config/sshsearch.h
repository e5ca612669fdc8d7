/* SPDX-License-Identifier: Apache-2.0 */
/* A lookup in the configuration while it runs; only sshconfig.c and sshanswer.c use it. */
#ifndef PSSH_CONFIG_SSHSEARCH_H
#define PSSH_CONFIG_SSHSEARCH_H

#include <stdbool.h>
#include <stddef.h>

#include "pssh/config/sshfile.h"

struct sshconfig {
	struct sshfile_reading *readings;
	char *local_user, *home, *this_host;
	bool wants_final;
};

/* Lines of a keyword whose values add up. */
struct sshsearch_lines {
	const struct sshfile_line **line;
	size_t count, cap;
};

/* One running lookup. */
struct sshsearch {
	const struct sshconfig *config;
	const char *alias, *user_given;
	unsigned port_given;
	const char *host;       /* the alias; in a final pass, what HostName made of it */
	bool final;
	bool user_file;         /* of the lines that come now */
	const struct sshfile_line *chosen[SETTINGS];
	struct sshsearch_lines identities, certificates, send_env;
	struct sshconfig_warning **warnings;
	size_t warning_count, warning_cap;
	char *hostname;         /* known at the end of the first pass */
	int rc;
	struct fail *f;
};

/* The values of the % tokens. */
struct sshsearch_tokens {
	const char *alias, *hostname, *keyalias, *user;
	char port[8];
	const struct sshconfig *config;
};

enum sshsearch_expand {
	EXPAND_NOT = 0,
	EXPAND_HOME = 1,     /* a leading ~ */
	EXPAND_ENV = 2,      /* ${NAME} */
	EXPAND_HOST = 4,     /* %h */
	EXPAND_PROXY = 8,    /* %h %k %n %p %r */
	EXPAND_TOKENS = 16,  /* all */
	EXPAND_PATH = EXPAND_HOME | EXPAND_ENV | EXPAND_TOKENS,
};

/* Fails with a sentence about line l and this host. Returns PSSH_EINVAL. */
int sshsearch_fail(struct sshsearch *s, const struct sshfile_line *l, const char *what, const char *name, size_t len);
const char *sshsearch_value(const struct sshsearch *s, enum setting what); /* NULL: not set */
void sshsearch_lower(char *text);

/* Expands text as `how` asks, malloc'd; 0 or a code. */
int sshsearch_expand(struct sshsearch *s, const struct sshsearch_tokens *t, const struct sshfile_line *l,
	const char *text, enum sshsearch_expand how, char **out);

/* Fills the answer except hostname and the warnings. */
int sshsearch_answer(struct sshsearch *s, struct sshconfig_answer *a);

#endif
