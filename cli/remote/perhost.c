/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/perhost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { PERHOST_ENV_MAX = 32000 };

#define PERHOST_VARIABLE "NANOPOD_HOST"

void perhost_init(struct perhost *p)
{
	*p = (struct perhost){ 0 };
	buf_init(&p->env, PERHOST_ENV_MAX);
}

void perhost_release(struct perhost *p)
{
	if (p->env.data)
		explicit_bzero(p->env.data, p->env.len);
	buf_release(&p->env);
}

static size_t perhost_name_length(const char *text)
{
	size_t n = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

	return *text >= '0' && *text <= '9' ? 0 : n;
}

int perhost_env(struct perhost *p, const char *text, struct fail *f)
{
	size_t n = perhost_name_length(text);
	const char *value = text + n + 1;
	int rc;

	if (!n || (text[n] && text[n] != '='))
		return fail_set(f, -EINVAL, "'%s' is neither NAME=VALUE nor NAME", text);
	if (!text[n] && strcmp(text, PERHOST_VARIABLE) == 0) {
		p->variable = true;
		return 0;
	}
	if (!text[n] && !(value = getenv(text)))
		return fail_set(f, -ENOENT, "the variable '%s' is not set here", text);
	rc = buf_addf(&p->env, " %.*s=", (int)n, text);
	rc = rc ? rc : str_quote_sh(&p->env, value);
	return rc ? fail_set(f, rc, "the variables are longer than %d bytes", PERHOST_ENV_MAX) : 0;
}

void perhost_set(struct perhost *p, const char *command, const char *script, size_t script_len)
{
	p->command = command;
	p->script = script;
	p->braces = strstr(command, "{host}");
	if (strstr(command, PERHOST_VARIABLE) ||
		(script && memmem(script, script_len, PERHOST_VARIABLE, strlen(PERHOST_VARIABLE))))
		p->variable = true;
}

bool perhost_differs(const struct perhost *p)
{
	return p->braces || p->variable;
}

static int perhost_expand(const struct perhost *p, const char *s, const char *name, struct buf *out, struct fail *f)
{
	const char *at;
	int rc = 0;

	/* The shell there would read it, so a name from an inventory must not hold a command. */
	if (name && p->braces &&
		name[strspn(name,
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
			"_.:@%+,=/-[]")])
		return fail_set(f, -EINVAL, "the name '%s' cannot stand for {host} in a command; use \"$NANOPOD_HOST\"",
			name);
	while (!rc && name && (at = strstr(s, "{host}"))) {
		bool literal = at > s && at[-1] == '{' && at[6] == '}';

		rc = buf_add(out, s, (size_t)(at - s) - literal);
		rc = rc ? rc : buf_adds(out, literal ? "{host}" : name);
		s = at + 6 + literal;
	}
	rc = rc ? rc : buf_adds(out, s);
	return rc ? fail_set(f, rc, "the command is too long") : 0;
}

int perhost_fill(const struct perhost *p, const char *name, struct buf *out, struct fail *f)
{
	return perhost_expand(p, p->command, name, out, f);
}

int perhost_command(const struct perhost *p, const char *name, struct buf *out, struct fail *f)
{
	bool own = p->variable && name;
	int rc;

	if (!p->env.len && !own)
		return perhost_fill(p, name, out, f);
	/* A script is run by sh whatever the person's shell is, which env suits too. */
	rc = buf_adds(out, p->script ? "exec env" : "export");
	rc = rc ? rc : buf_add(out, buf_text(&p->env), p->env.len);
	if (own) {
		rc = rc ? rc : buf_adds(out, " " PERHOST_VARIABLE "=");
		rc = rc ? rc : str_quote_sh(out, name);
	}
	rc = rc ? rc : buf_adds(out, p->script ? " " : "; ");
	if (rc)
		return fail_set(f, rc, "the command is too long");
	return perhost_expand(p, p->command + (p->script ? strlen("exec ") : 0), name, out, f);
}
