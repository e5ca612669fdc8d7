/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the lines that apply to a host. It follows ssh's order: lines in file order, the first line of
 * a keyword wins, HostName and Match see only what earlier lines set, and tokens are expanded last.
 */
#include "pssh/config/sshconfig.h"

#include <ctype.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/str.h"
#include "pssh/pssh_types.h"
#include "pssh/config/sshsearch.h"
#include "pssh/config/sshword.h"

enum { MORE_MAX = 100, ENV_MAX = 1000 };

int sshconfig_new(struct sshconfig **out)
{
	struct sshconfig *c = calloc(1, sizeof *c);
	struct passwd pw, *found = NULL;
	char room[4096], host[256] = "";

	if (!c)
		return PSSH_ENOMEM;
	getpwuid_r(getuid(), &pw, room, sizeof room, &found);
	c->local_user = found ? strdup(found->pw_name) : strdup("");
	c->home = str_expand_home("~");
	if (!c->home)
		c->home = strdup("/");
	gethostname(host, sizeof host - 1);
	c->this_host = strdup(host);
	if (!c->local_user || !c->home || !c->this_host) {
		sshconfig_free(c);
		return PSSH_ENOMEM;
	}
	*out = c;
	return 0;
}

void sshconfig_free(struct sshconfig *c)
{
	struct sshfile_reading *next;

	if (!c)
		return;
	for (struct sshfile_reading *r = c->readings; r; r = next) {
		next = r->next;
		sshfile_free(r);
	}
	free(c->local_user);
	free(c->home);
	free(c->this_host);
	free(c);
}

int sshconfig_read(struct sshconfig *c, const char *path, bool user_file, struct fail *f)
{
	struct sshfile_reading *r, **tail = &c->readings;
	struct sshconfig_warning **end = NULL;
	int rc = sshfile_read(path, user_file, c->readings, &r, f);

	if (rc)
		return rc;
	for (; *tail; tail = &(*tail)->next)
		if ((*tail)->warnings)
			end = (*tail)->warnings_tail;
	*tail = r;
	if (end)
		*end = r->warnings;
	c->wants_final = c->wants_final || r->wants_final;
	return 0;
}

struct sshconfig_warning *sshconfig_warnings(const struct sshconfig *c)
{
	for (const struct sshfile_reading *r = c->readings; r; r = r->next)
		if (r->warnings)
			return r->warnings;
	return NULL;
}

/* ---- Which lines apply ----------------------------------------------------------------- */

/* What Match host compares: HostName so far. NULL with s->rc if it cannot be expanded. */
static char *host_so_far(struct sshsearch *s)
{
	const struct sshfile_line *l = s->chosen[SET_HOSTNAME];
	struct sshsearch_tokens t = { .hostname = s->host };
	char *out = NULL;

	if (s->final || !l)
		out = strdup(s->host);
	else
		s->rc = sshsearch_expand(s, &t, l, l->args[0], EXPAND_HOST, &out);
	if (!out && !s->rc)
		s->rc = PSSH_ENOMEM;
	return out;
}

static bool match_host(const char *host, const char *patterns)
{
	char *copy = strdup(host);
	bool yes;

	if (!copy)
		return false;
	sshsearch_lower(copy);
	yes = sshword_match(copy, patterns, true) == 1;
	free(copy);
	return yes;
}

static void add_warning(struct sshsearch *s, struct sshconfig_warning *w)
{
	for (size_t i = 0; i < s->warning_count; i++)
		if (s->warnings[i] == w)
			return;
	if (s->warning_count == s->warning_cap) {
		size_t cap = s->warning_cap * 2 + 4;
		struct sshconfig_warning **more = realloc(s->warnings, cap * sizeof *more);

		if (!more) {
			s->rc = PSSH_ENOMEM;
			return;
		}
		s->warnings = more;
		s->warning_cap = cap;
	}
	s->warnings[s->warning_count++] = w;
}

static bool sshconfig_test(struct sshsearch *s, const struct sshfile_criterion *c, const char *host)
{
	const char *user = s->user_given ? s->user_given : sshsearch_value(s, SET_USER);
	const char *tag = sshsearch_value(s, SET_TAG);

	switch (c->test) {
	case TEST_ALL:
		return true;
	case TEST_FINAL:
		return s->final;
	case TEST_HOST:
		return match_host(host, c->value);
	case TEST_ORIGINALHOST:
		return match_host(s->alias, c->value);
	case TEST_USER:
		return sshword_match(user ? user : s->config->local_user, c->value, false) == 1;
	case TEST_LOCALUSER:
		return sshword_match(s->config->local_user, c->value, false) == 1;
	case TEST_TAGGED:
		return sshword_match(tag ? tag : "", c->value, false) == 1;
	default:
		return false;
	}
}

static bool match_block(struct sshsearch *s, const struct sshfile_block *b)
{
	char *host = host_so_far(s);
	bool yes = host != NULL;

	for (const struct sshfile_criterion *c = b->criteria; yes && c; c = c->next) {
		if (c->test == TEST_EXEC) {
			add_warning(s, c->warning);
			yes = false;
		} else {
			yes = sshconfig_test(s, c, host) != c->negated;
		}
	}
	free(host);
	return yes;
}

static bool host_block(const struct sshsearch *s, const struct sshfile_block *b)
{
	bool yes = false;

	for (char **p = b->patterns; *p; p++) {
		bool negated = **p == '!';

		if (!str_glob(*p + negated, s->host))
			continue;
		if (negated)
			return false;
		yes = true;
	}
	return yes;
}

static void add_more(struct sshsearch *s, struct sshsearch_lines *lines, const struct sshfile_line *l, size_t most)
{
	for (size_t i = 0; i < lines->count; i++)
		if (lines->line[i] == l)
			return;
	if (lines->count == most) {
		s->rc = sshsearch_fail(s, l, "too many lines of", l->keyword->name, strlen(l->keyword->name));
		return;
	}
	if (lines->count == lines->cap) {
		size_t cap = lines->cap * 2 + 4;
		const struct sshfile_line **more = realloc(lines->line, cap * sizeof *more);

		if (!more) {
			s->rc = PSSH_ENOMEM;
			return;
		}
		lines->line = more;
		lines->cap = cap;
	}
	lines->line[lines->count++] = l;
}

/* "ProxyJump none" stops later ProxyJump lines, but not a ProxyCommand. */
static bool is_no_jump(const struct sshfile_line *l)
{
	return l->keyword->kind == KEYWORD_JUMP && strcasecmp(l->args[0], "none") == 0;
}

static void sshconfig_choose(struct sshsearch *s, const struct sshfile_line *l)
{
	const struct sshfile_line **have;

	switch (l->keyword->kind) {
	case KEYWORD_WARN:
		add_warning(s, l->warning);
		return;
	case KEYWORD_MORE:
		add_more(s, l->keyword->setting == SET_IDENTITY_FILE ? &s->identities : &s->certificates, l, MORE_MAX);
		return;
	case KEYWORD_SENDENV:
		/* Debian's system-wide file names LANG and LC_*, and each variable costs every command a round trip. */
		if (s->user_file)
			add_more(s, &s->send_env, l, ENV_MAX);
		return;
	case KEYWORD_TIME:
		if (l->number == KEYWORD_UNSET) /* "none" leaves the keyword to later lines, as in ssh */
			return;
		break;
	default:
		break;
	}
	have = &s->chosen[l->keyword->setting];
	if (!*have || (l->keyword->kind == KEYWORD_REST && is_no_jump(*have)))
		*have = l;
}

static void walk_file(struct sshsearch *s, const struct sshfile *file);

static void walk_block(struct sshsearch *s, const struct sshfile_block *b)
{
	for (const struct sshfile_line *l = b->lines; l && !s->rc; l = l->next) {
		if (l->keyword->kind != KEYWORD_INCLUDE)
			sshconfig_choose(s, l);
		for (const struct sshfile_link *i = l->included; i && !s->rc; i = i->next)
			walk_file(s, i->file);
	}
}

/* A table finds the blocks that name the host, so a file of 10,000 hosts costs no more than one. */
static void walk_file(struct sshsearch *s, const struct sshfile *file)
{
	const struct sshfile_hit *named = table_get(&file->names, s->host);
	const struct sshfile_block *general = file->general;

	while ((named || general) && !s->rc) {
		if (named && (!general || named->block->index < general->index)) {
			walk_block(s, named->block);
			named = named->next;
			continue;
		}
		if (general->kind == BLOCK_ALWAYS || (general->kind == BLOCK_HOST && host_block(s, general)) ||
		    (general->kind == BLOCK_MATCH && match_block(s, general)))
			walk_block(s, general);
		general = general->next;
	}
}

static void sshconfig_walk(struct sshsearch *s)
{
	for (const struct sshfile_reading *r = s->config->readings; r && !s->rc; r = r->next) {
		s->user_file = r->user_file;
		walk_file(s, r->top);
	}
}

/* Puts addresses into their usual form and names into lower case. */
static int tidy_host(char **host)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM }, *found = NULL;
	char text[NI_MAXHOST];
	char *copy;
	int rc;

	if (!isdigit((unsigned char)**host) && !strchr(*host, ':')) {
		sshsearch_lower(*host);
		return 0;
	}
	if (getaddrinfo(*host, NULL, &hints, &found) != 0) {
		sshsearch_lower(*host);
		return 0;
	}
	rc = getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(found);
	if (rc)
		return 0;
	copy = strdup(text);
	if (!copy)
		return PSSH_ENOMEM;
	free(*host);
	*host = copy;
	return 0;
}

static int sshconfig_collect(struct sshsearch *s)
{
	sshconfig_walk(s);
	if (!s->rc)
		s->hostname = host_so_far(s);
	if (!s->rc)
		s->rc = tidy_host(&s->hostname);
	if (!s->rc && s->config->wants_final) {
		s->final = true;
		s->host = s->hostname;
		sshconfig_walk(s);
	}
	return s->rc;
}

int sshconfig_find(const struct sshconfig *c, const char *alias, const char *user_given, unsigned port_given,
	struct sshconfig_answer *out, struct fail *f)
{
	struct sshconfig_answer a = { 0 };
	struct sshsearch s = {
		.config = c, .alias = alias, .host = alias, .user_given = user_given, .port_given = port_given, .f = f,
	};
	int rc = sshconfig_collect(&s);

	if (!rc)
		rc = sshsearch_answer(&s, &a);
	a.hostname = s.hostname;
	a.warnings = s.warnings;
	a.warning_count = s.warning_count;
	free(s.identities.line);
	free(s.certificates.line);
	free(s.send_env.line);
	if (rc) {
		sshconfig_answer_release(&a);
		return rc == PSSH_ENOMEM ? fail_set(f, rc, "out of memory") : rc;
	}
	*out = a;
	return 0;
}
