/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over a script that the shell itself has accepted, so it may guess where a script could be wrong. */
#include "cli/cmd/provision/shellcode.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum { DEPTH = 64, WORD = 64 };

/* inside: '"', or '(' and '`' of commands; the last one counts, none is plain code. */
struct shellcode {
	char inside[DEPTH], until[WORD]; /* until: what ends a here-document that begins with the next line */
	int depth;
	bool tabs; /* of "<<-" */
};

static void shellcode_hide(char *from, const char *end)
{
	for (; from < end; from++)
		if (*from != '\n')
			*from = '.';
}

static char shellcode_top(const struct shellcode *s)
{
	return s->depth ? s->inside[s->depth - 1] : '\0';
}

/* Ends what c ends, or begins it. */
static void shellcode_turn(struct shellcode *s, char c, char ended)
{
	if (ended && shellcode_top(s) == ended)
		s->depth--;
	else if (c && s->depth < DEPTH)
		s->inside[s->depth++] = c;
}

/* "<<EOF", "<<-'EOF'"; not "<<<", nor a shift of numbers. */
static void shellcode_document(struct shellcode *s, const char *p)
{
	size_t n = 0;

	s->tabs = *p == '-';
	p += s->tabs;
	p += strspn(p, " \t");
	p += strspn(p, "'\"\\");
	while (n + 1 < WORD && (isalnum((unsigned char)p[n]) || p[n] == '_'))
		n++;
	if (!n || isdigit((unsigned char)*p))
		return;
	memcpy(s->until, p, n);
	s->until[n] = '\0';
}

/* p: the first line of a here-document. The line after it; p where nothing ends it, so it is none. */
static char *shellcode_skip(struct shellcode *s, char *p)
{
	size_t len = strlen(s->until);
	char *line = p;

	while (line) {
		char *text = line + (s->tabs ? strspn(line, "\t") : 0), *end = strchr(line, '\n');

		if (strncmp(text, s->until, len) == 0 && (text[len] == '\n' || !text[len])) {
			shellcode_hide(p, line);
			p = text + len;
			break;
		}
		line = end ? end + 1 : NULL;
	}
	*s->until = '\0';
	return p;
}

/* Code, at p; begins is false within a word. What comes after it. */
static char *shellcode_step(struct shellcode *s, char *p, bool begins)
{
	char *end;

	if (*p == '\'' || (*p == '#' && begins)) {
		end = strchr(p + 1, *p == '#' ? '\n' : '\'');
		end = end ? end : p + strlen(p);
		shellcode_hide(p + 1, end);
		return *end == '\'' ? end + 1 : end;
	}
	if (strncmp(p, "<<", 2) == 0 && p[2] != '<')
		shellcode_document(s, p + 2);
	if (*p == '(')
		shellcode_turn(s, '(', '\0');
	else if (*p == ')')
		shellcode_turn(s, '\0', '(');
	else if (*p == '`')
		shellcode_turn(s, '`', '`');
	else if (*p == '"')
		shellcode_turn(s, '"', '\0');
	return strncmp(p, "<<<", 3) == 0 ? p + 3 : p + 1;
}

/* Text in double quotes, at p. */
static char *shellcode_quoted(struct shellcode *s, char *p)
{
	if (*p == '"')
		s->depth--;
	else if (*p == '`')
		shellcode_turn(s, '`', '\0');
	else if (*p == '(' && p[-1] == '$')
		shellcode_turn(s, '(', '\0');
	else if (*p != '$')
		shellcode_hide(p, p + 1);
	return p + 1;
}

void shellcode_only(char *text)
{
	struct shellcode s = { .depth = 0 };
	bool begins = true;
	char *p = text;

	while (*p) {
		char was = *p;

		if (*p == '\\' && p[1]) {
			p += 2;
			begins = false;
			continue;
		}
		p = shellcode_top(&s) == '"' ? shellcode_quoted(&s, p) : shellcode_step(&s, p, begins);
		begins = strchr(" \t\n;&|(", was) != NULL;
		if (was == '\n' && *s.until)
			p = shellcode_skip(&s, p);
	}
}
