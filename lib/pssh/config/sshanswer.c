/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an answer of the chosen lines: copies words and expands tokens, variables and ~. */
#include "pssh/config/sshsearch.h"

#include <ctype.h>
#include <errno.h>
#include <openssl/evp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/str.h"
#include "pssh/pssh_types.h"

enum { VALUE_MAX = 1 << 20 };

void sshsearch_lower(char *s)
{
	for (; *s; s++)
		*s = (char)tolower((unsigned char)*s);
}

const char *sshsearch_value(const struct sshsearch *s, enum setting what)
{
	return s->chosen[what] ? s->chosen[what]->args[0] : NULL;
}

/* ---- Expansion ------------------------------------------------------------------------- */

/* %C: the SHA-1 of what identifies the connection, in hex. */
static int add_hash(struct buf *b, const struct sshsearch_tokens *t)
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	struct buf all;
	int rc;

	buf_init(&all, VALUE_MAX);
	rc = buf_addf(&all, "%s%s%s%s", t->config->this_host, t->hostname, t->port, t->user);
	if (!rc && EVP_Digest(buf_text(&all), all.len, sum, &len, EVP_sha1(), NULL) != 1)
		rc = -1;
	for (unsigned i = 0; !rc && i < len; i++)
		rc = buf_addf(b, "%02x", sum[i]);
	buf_release(&all);
	return rc;
}

/* Appends a token's value. 0; 1: the letter is no token; or a code of buf. */
static int add_token(struct buf *b, const struct sshsearch_tokens *t, char c)
{
	switch (c) {
	case '%': return buf_addc(b, '%');
	case 'h': return buf_adds(b, t->hostname);
	case 'n': return buf_adds(b, t->alias);
	case 'k': return buf_adds(b, t->keyalias);
	case 'p': return buf_adds(b, t->port);
	case 'r': return buf_adds(b, t->user);
	case 'u': return buf_adds(b, t->config->local_user);
	case 'd': return buf_adds(b, t->config->home);
	case 'i': return buf_addf(b, "%lu", (unsigned long)getuid());
	case 'l': return buf_adds(b, t->config->this_host);
	case 'L': return buf_add(b, t->config->this_host, strcspn(t->config->this_host, "."));
	case 'C': return add_hash(b, t);
	default: return 1;
	}
}

static const char *sshanswer_letters(enum sshsearch_expand how)
{
	return how & EXPAND_TOKENS ? "%CLiklnpruhd" : how & EXPAND_PROXY ? "%hknpr" : how & EXPAND_HOST ? "%h" : NULL;
}

int sshsearch_fail(struct sshsearch *s, const struct sshfile_line *l, const char *what, const char *name, size_t len)
{
	return fail_set(s->f, PSSH_EINVAL, "cannot use '%.200s', line %u, for '%.100s': '%s': %s '%.*s'", l->path,
		l->at, s->alias, l->keyword->name, what, (int)(len > 60 ? 60 : len), name);
}

/* Expands "${NAME}" at text. Returns the distance to the closing brace; 0: failed. */
static size_t add_variable(struct sshsearch *s, struct buf *b, const struct sshfile_line *l, const char *text, int *rc)
{
	size_t len = strcspn(text + 2, "}");
	char *name = strndup(text + 2, len);
	const char *value = name ? getenv(name) : NULL;

	if (!name)
		*rc = PSSH_ENOMEM;
	else if (!text[2 + len] || !len)
		*rc = sshsearch_fail(s, l, "no variable in", text, strlen(text));
	else if (!value)
		*rc = sshsearch_fail(s, l, "no such environment variable,", name, len);
	else if (buf_adds(b, value) != 0)
		*rc = PSSH_ENOMEM;
	free(name);
	return *rc ? 0 : len + 2;
}

static int add_home(struct sshsearch *s, struct buf *b, const struct sshfile_line *l, const char **text)
{
	size_t len = strcspn(*text, "/");
	struct passwd pw, *found = NULL;
	char room[4096], *name;
	int rc = 0;

	if (len == 1) {
		rc = buf_adds(b, s->config->home);
	} else {
		name = strndup(*text + 1, len - 1);
		if (name)
			getpwnam_r(name, &pw, room, sizeof room, &found);
		free(name);
		if (!found)
			return sshsearch_fail(s, l, "no such user,", *text, len);
		rc = buf_adds(b, pw.pw_dir);
	}
	*text += len;
	return rc ? PSSH_ENOMEM : 0;
}

int sshsearch_expand(struct sshsearch *s, const struct sshsearch_tokens *t, const struct sshfile_line *l,
	const char *text, enum sshsearch_expand how, char **out)
{
	const char *known = sshanswer_letters(how);
	struct buf b;
	int rc = 0;

	buf_init(&b, VALUE_MAX);
	if ((how & EXPAND_HOME) && *text == '~')
		rc = add_home(s, &b, l, &text);
	for (; !rc && *text; text++) {
		int got = 0;

		if ((how & EXPAND_ENV) && text[0] == '$' && text[1] == '{') {
			text += add_variable(s, &b, l, text, &rc);
			continue;
		}
		if (*text != '%' || !known) {
			got = buf_addc(&b, *text);
		} else {
			text++;
			got = *text && strchr(known, *text) ? add_token(&b, t, *text) : 1;
			if (got == 1)
				rc = sshsearch_fail(s, l, "unknown token", text - 1, *text ? 2 : 1);
		}
		if (!rc && got)
			rc = got == -ENOMEM ? PSSH_ENOMEM : sshsearch_fail(s, l, "too long", "", 0);
		if (!*text)
			break;
	}
	if (!rc && !(*out = buf_steal(&b)))
		rc = PSSH_ENOMEM;
	buf_release(&b);
	return rc;
}

/* ---- The answer ------------------------------------------------------------------------ */

enum shape { WORD, NONE_CLEARS, LIST, NUMBER };

static const struct field {
	enum setting setting;
	enum shape shape;
	enum sshsearch_expand how;
	size_t offset;
} fields[] = {
#define FIELD(set, shape, how, member) { set, shape, how, offsetof(struct sshconfig_answer, member) }
	FIELD(SET_USER, WORD, EXPAND_NOT, user),
	FIELD(SET_HOST_KEY_ALIAS, WORD, EXPAND_NOT, host_key_alias),
	FIELD(SET_BIND_ADDRESS, WORD, EXPAND_NOT, bind_address),
	FIELD(SET_BIND_INTERFACE, WORD, EXPAND_NOT, bind_interface),
	FIELD(SET_PREFERRED, WORD, EXPAND_NOT, preferred_authentications),
	FIELD(SET_REMOTE_COMMAND, NONE_CLEARS, EXPAND_TOKENS, remote_command),
	FIELD(SET_KEX, WORD, EXPAND_NOT, kex),
	FIELD(SET_HOSTKEYS, WORD, EXPAND_NOT, hostkeys),
	FIELD(SET_CIPHERS, WORD, EXPAND_NOT, ciphers),
	FIELD(SET_MACS, WORD, EXPAND_NOT, macs),
	FIELD(SET_PUBKEY_ALGORITHMS, WORD, EXPAND_NOT, pubkey_algorithms),
	FIELD(SET_USER_KNOWN_HOSTS, LIST, EXPAND_PATH, user_known_hosts),
	FIELD(SET_GLOBAL_KNOWN_HOSTS, LIST, EXPAND_NOT, global_known_hosts),
	FIELD(SET_CONNECT_TIMEOUT, NUMBER, EXPAND_NOT, connect_timeout),
	FIELD(SET_CONNECTION_ATTEMPTS, NUMBER, EXPAND_NOT, connection_attempts),
	FIELD(SET_ALIVE_INTERVAL, NUMBER, EXPAND_NOT, server_alive_interval),
	FIELD(SET_ALIVE_COUNT, NUMBER, EXPAND_NOT, server_alive_count_max),
	FIELD(SET_PROMPTS, NUMBER, EXPAND_NOT, number_of_password_prompts),
	FIELD(SET_ADDRESS_FAMILY, NUMBER, EXPAND_NOT, address_family),
	FIELD(SET_REQUEST_TTY, NUMBER, EXPAND_NOT, request_tty),
	FIELD(SET_STRICT, NUMBER, EXPAND_NOT, strict),
	FIELD(SET_ESCAPE, NUMBER, EXPAND_NOT, escape_char),
	FIELD(SET_IDENTITIES_ONLY, NUMBER, EXPAND_NOT, identities_only),
	FIELD(SET_PUBKEY, NUMBER, EXPAND_NOT, pubkey),
	FIELD(SET_PASSWORD, NUMBER, EXPAND_NOT, password),
	FIELD(SET_KBDINT, NUMBER, EXPAND_NOT, kbdint),
	FIELD(SET_BATCH, NUMBER, EXPAND_NOT, batch_mode),
	FIELD(SET_FORWARD_AGENT, NUMBER, EXPAND_NOT, forward_agent),
	FIELD(SET_HASH, NUMBER, EXPAND_NOT, hash_known_hosts),
	FIELD(SET_COMPRESSION, NUMBER, EXPAND_NOT, compression),
	FIELD(SET_WARN_WEAK, NUMBER, EXPAND_NOT, warn_weak),
	FIELD(SET_TCP_KEEPALIVE, NUMBER, EXPAND_NOT, tcp_keepalive),
	FIELD(SET_NO_LOCALHOST, NUMBER, EXPAND_NOT, no_host_authentication_for_localhost),
#undef FIELD
};

enum { FIELDS = sizeof fields / sizeof *fields };

static bool sshanswer_is_none(const char *s)
{
	return strcasecmp(s, "none") == 0;
}

/* The words of one line. */
static int put_list(struct sshsearch *s, const struct sshsearch_tokens *t, const struct sshfile_line *l,
	enum sshsearch_expand how, char ***out)
{
	size_t n = 0;
	char **list;
	int rc = 0;

	while (l->args[n])
		n++;
	list = calloc(n + 1, sizeof *list);
	if (!list)
		return PSSH_ENOMEM;
	*out = list;
	for (size_t i = 0; !rc && i < n && !sshanswer_is_none(l->args[0]); i++)
		rc = sshsearch_expand(s, t, l, l->args[i], how, &list[i]);
	return rc;
}

static bool same_text(char *const *list, size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], text) == 0)
			return true;
	return false;
}

/* One file from each line; "none" gives an empty list. */
static int put_files(struct sshsearch *s, const struct sshsearch_tokens *t, const struct sshsearch_lines *lines,
	char ***out)
{
	char **list;
	size_t n = 0;
	int rc = 0;

	if (!lines->count)
		return 0;
	list = calloc(lines->count + 1, sizeof *list);
	if (!list)
		return PSSH_ENOMEM;
	*out = list;
	for (size_t i = 0; !rc && i < lines->count; i++) {
		const struct sshfile_line *l = lines->line[i];

		if (sshanswer_is_none(l->args[0]))
			continue;
		rc = sshsearch_expand(s, t, l, l->args[0], EXPAND_PATH, &list[n]);
		if (rc)
			break;
		if (same_text(list, n, list[n])) {
			free(list[n]);
			list[n] = NULL;
		} else {
			n++;
		}
	}
	return rc;
}

static int put_send_env(struct sshsearch *s, char ***out)
{
	char **list;
	size_t room = 1, n = 0;

	for (size_t i = 0; i < s->send_env.count; i++)
		for (char **a = s->send_env.line[i]->args; *a; a++)
			room++;
	if (!s->send_env.count)
		return 0;
	list = calloc(room, sizeof *list);
	if (!list)
		return PSSH_ENOMEM;
	*out = list;
	for (size_t i = 0; i < s->send_env.count; i++) {
		for (char **a = s->send_env.line[i]->args; *a; a++) {
			if (**a == '-') {
				size_t kept = 0;

				for (size_t j = 0; j < n; j++) {
					if (str_glob(*a + 1, list[j]))
						free(list[j]);
					else
						list[kept++] = list[j];
				}
				for (size_t j = kept; j < n; j++)
					list[j] = NULL;
				n = kept;
			} else if (!same_text(list, n, *a) && !(list[n++] = strdup(*a))) {
				return PSSH_ENOMEM;
			}
		}
	}
	return 0;
}

static int put_set_env(const struct sshsearch *s, char ***out)
{
	const struct sshfile_line *l = s->chosen[SET_SET_ENV];
	size_t n = 0;

	if (!l)
		return 0;
	while (l->args[n])
		n++;
	*out = calloc(n + 1, sizeof **out);
	if (!*out)
		return PSSH_ENOMEM;
	n = 0;
	for (char **a = l->args; *a; a++) {
		bool again = false;
		size_t name = strcspn(*a, "=") + 1;

		for (size_t i = 0; i < n; i++)
			again = again || strncmp((*out)[i], *a, name) == 0;
		if (!again && !((*out)[n++] = strdup(*a)))
			return PSSH_ENOMEM;
	}
	return 0;
}

/* A socket's path: "SSH_AUTH_SOCK" and "$NAME" name a variable; "none" stays as it is. */
static int put_socket(struct sshsearch *s, const struct sshsearch_tokens *t, const struct sshfile_line *l, char **out)
{
	const char *text = l->args[0], *value = NULL;

	if (strcasecmp(text, "none") == 0 || strcmp(text, "SSH_AUTH_SOCK") == 0 || (text[0] == '$' && text[1] != '{')) {
		if (strcasecmp(text, "none") != 0)
			value = getenv(text[0] == '$' ? text + 1 : text);
		*out = strdup(value && *value ? value : "none");
		return *out ? 0 : PSSH_ENOMEM;
	}
	return sshsearch_expand(s, t, l, text, EXPAND_PATH, out);
}

static int put_proxy(struct sshsearch *s, const struct sshsearch_tokens *t, struct sshconfig_answer *a)
{
	const struct sshfile_line *l = s->chosen[SET_PROXY];

	if (!l || sshanswer_is_none(l->args[0]))
		return 0;
	return sshsearch_expand(s, t, l, l->args[0], EXPAND_PROXY,
		l->keyword->kind == KEYWORD_JUMP ? &a->proxy_jump : &a->proxy_command);
}

static int put_field(struct sshsearch *s, const struct sshsearch_tokens *t, const struct field *field,
	struct sshconfig_answer *a)
{
	const struct sshfile_line *l = s->chosen[field->setting];
	char *at = (char *)a + field->offset;

	if (field->shape == NUMBER) {
		*(int *)(void *)at = l ? l->number : KEYWORD_UNSET;
		return 0;
	}
	if (!l || (field->shape == NONE_CLEARS && sshanswer_is_none(l->args[0])))
		return 0;
	if (field->shape == LIST)
		return put_list(s, t, l, field->how, (char ***)(void *)at);
	return sshsearch_expand(s, t, l, l->args[0], field->how, (char **)(void *)at);
}

static int sshanswer_put_rest(struct sshsearch *s, const struct sshsearch_tokens *t, struct sshconfig_answer *a)
{
	const struct sshfile_line *l;
	int rc = put_proxy(s, t, a);

	if (!rc)
		rc = put_files(s, t, &s->identities, &a->identity_files);
	if (!rc)
		rc = put_files(s, t, &s->certificates, &a->certificate_files);
	if (!rc)
		rc = put_send_env(s, &a->send_env);
	if (!rc)
		rc = put_set_env(s, &a->set_env);
	if (!rc && (l = s->chosen[SET_IDENTITY_AGENT]) != NULL)
		rc = put_socket(s, t, l, &a->identity_agent);
	l = s->chosen[SET_FORWARD_AGENT];
	if (!rc && l && keyword_forwards_socket(l->args[0]))
		rc = put_socket(s, t, l, &a->forward_agent_socket);
	return rc;
}

int sshsearch_answer(struct sshsearch *s, struct sshconfig_answer *a)
{
	const struct sshfile_line *port = s->chosen[SET_PORT];
	const char *user = s->user_given ? s->user_given : sshsearch_value(s, SET_USER), *keyalias;
	char *own = NULL;
	int rc = 0;
	struct sshsearch_tokens t = {
		.alias = s->alias, .hostname = s->hostname, .config = s->config,
		.user = user ? user : s->config->local_user,
	};

	a->port = s->port_given ? s->port_given : port ? (unsigned)port->number : 0;
	snprintf(t.port, sizeof t.port, "%u", (a->port ? a->port : 22) & 0xffff);
	keyalias = sshsearch_value(s, SET_HOST_KEY_ALIAS);
	if (keyalias) {
		own = strdup(keyalias);
		if (!own)
			return PSSH_ENOMEM;
		sshsearch_lower(own);
	}
	t.keyalias = own ? own : s->alias;
	for (int i = 0; !rc && i < FIELDS; i++)
		rc = put_field(s, &t, &fields[i], a);
	if (!rc)
		rc = sshanswer_put_rest(s, &t, a);
	if (!rc && s->user_given) {
		free(a->user);
		a->user = strdup(s->user_given);
		rc = a->user ? 0 : PSSH_ENOMEM;
	}
	if (!rc && own) {
		free(a->host_key_alias);
		a->host_key_alias = own;
		own = NULL;
	}
	free(own);
	return rc;
}

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void sshconfig_answer_release(struct sshconfig_answer *a)
{
	char *texts[] = {
		a->hostname,
		a->user,
		a->host_key_alias,
		a->proxy_jump,
		a->proxy_command,
		a->identity_agent,
		a->bind_address,
		a->bind_interface,
		a->preferred_authentications,
		a->remote_command,
		a->forward_agent_socket,
		a->kex,
		a->hostkeys,
		a->ciphers,
		a->macs,
		a->pubkey_algorithms,
	};
	char **lists[] = {
		a->identity_files,
		a->certificate_files,
		a->user_known_hosts,
		a->global_known_hosts,
		a->send_env,
		a->set_env,
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		free(texts[i]);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		free_list(lists[i]);
	free(a->warnings);
	*a = (struct sshconfig_answer){ 0 };
}
