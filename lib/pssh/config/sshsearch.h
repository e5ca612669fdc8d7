/* SPDX-License-Identifier: Apache-2.0 */
/* One question to the configuration while it is being answered; for sshconfig.c and its answer. */
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

/* Lines that add up. */
struct sshsearch_lines {
	const struct sshfile_line **line;
	size_t count, cap;
};

/* One question being answered. */
struct sshsearch {
	const struct sshconfig *config;
	const char *alias, *user_given;
	unsigned port_given;
	const char *host;       /* the alias, in a final pass what HostName made of it */
	bool final;
	const struct sshfile_line *chosen[SETTINGS];
	struct sshsearch_lines identities, certificates, send_env;
	struct sshconfig_warning **warnings;
	size_t warning_count, warning_cap;
	char *hostname;         /* settled at the end of the first pass */
	int rc;
	struct fail *f;
};

/* What % and a letter stand for. */
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

/* A sentence about line l, for this host; PSSH_EINVAL. */
int sshsearch_fail(struct sshsearch *s, const struct sshfile_line *l, const char *what, const char *name, size_t len);
const char *sshsearch_value(const struct sshsearch *s, enum setting what); /* NULL: not set */
void sshsearch_lower(char *text);

/* text with all done that `how` asks for, malloc'd; 0 or a code. */
int sshsearch_expand(struct sshsearch *s, const struct sshsearch_tokens *t, const struct sshfile_line *l,
	const char *text, enum sshsearch_expand how, char **out);

/* Fills what is not settled yet: all but hostname and the warnings. */
int sshsearch_answer(struct sshsearch *s, struct sshconfig_answer *a);

#endif
