/* SPDX-License-Identifier: Apache-2.0 */
/* `nanopod provision stack check`: what is wrong in the files of stacks, by file and line, before a node sees them. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cli/local/daemons.h"
#include "cli/cmd/provision/provision.h"
#include "cli/cmd/provision/shellcode.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "conf/conf.h"

enum { SCRIPT_MAX = 1 << 20, SAID_MAX = 64 << 10, TOKEN_MAX = 80, FUNCTIONS_MAX = 512, SHELL_MS = 20000 };

static const struct column problem_columns[] = {
	{ "stack", COLUMN_ID, "the stack" },
	{ "file", 0, "a file of it" },
	{ "line", COLUMN_RIGHT | COLUMN_RAW, "the line, from 1" },
	{ "problem", COLUMN_TEXT, "what is wrong there" },
	{ 0 },
};

/* The stack that is checked, and what is known for all. */
struct stackcheck {
	struct rows *rows;
	const char *folders, *name;
	const struct stack *s; /* NULL: it cannot be read */
	char dir[PATH_MAX];
	char *sh;                           /* the program; NULL: there is none, and no syntax is checked */
	char *functions[FUNCTIONS_MAX + 1]; /* of lib.sh, then of the file that is looked at; ends with NULL */
	size_t library, function_count;     /* how many are of lib.sh; of both */
	size_t found;
};

static void stackcheck_say(struct stackcheck *c, const char *file, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void stackcheck_say(struct stackcheck *c, const char *file, unsigned line, const char *fmt, ...)
{
	char text[600], number[16];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	snprintf(number, sizeof number, "%u", line);
	rows_add(c->rows, (const char *[]){ c->name, file, line ? number : NULL, text });
	c->found++;
}

/* ---- stack.yaml -------------------------------------------------------------------------------- */

/* "cannot read 'FILE': line 3, column 5: WHY", as conf_fail() says it, in its parts. */
static void say_unread(struct stackcheck *c, const char *text)
{
	const char *at = strstr(text, "': line "), *why = at ? strstr(at, ", column ") : NULL;
	char *end = NULL;

	why = why ? strstr(why, ": ") : NULL;
	if (why)
		stackcheck_say(c, "stack.yaml", (unsigned)strtoul(at + 8, &end, 10), "%s", why + 2);
	else
		stackcheck_say(c, "stack.yaml", 0, "%s", text);
}

/* A stack that it names: its line, unless some folder has one. must: also one that is nowhere is wrong. */
static struct stack *other_stack(struct stackcheck *c, const struct conf *at, const char *name, bool must)
{
	struct fail f = { 0 };
	struct stack *s = NULL;

	if (stack_read(c->folders, name, &s, &f) == 0)
		return s;
	if (must || f.code != -ENOENT)
		stackcheck_say(c, "stack.yaml", at->line, "%s", f.text);
	return NULL;
}

/* Lists and texts alike. */
static const struct conf *stackcheck_item(const struct conf *at, size_t i)
{
	if (!at || at->type == CONF_NULL)
		return NULL;
	if (at->type != CONF_LIST)
		return i ? NULL : at;
	return i < at->count ? &at->items[i] : NULL;
}

static void stackcheck_needed(struct stackcheck *c, const struct conf *root, const char *key, bool must)
{
	const struct conf *at;

	for (size_t i = 0; (at = stackcheck_item(conf_get(root, key), i)); i++)
		stack_free(other_stack(c, at, at->text, must));
}

/* A need of another stack's step: does that stack have the step, and the role? */
static void check_foreign(struct stackcheck *c, const struct conf *at, const struct stack_need *need)
{
	struct stack *s = other_stack(c, at, need->stack, false);
	const char *words[STACK_STEPS];
	const char *near;

	if (s && !stack_step(s, need->step)) {
		for (size_t i = 0; i < s->step_count; i++)
			words[i] = s->steps[i].name;
		near = stack_nearest(need->step, words, s->step_count);
		stackcheck_say(c, "stack.yaml", at->line, "the stack '%s' has no step '%s'%s%s%s", need->stack,
			need->step, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	} else if (s && need->role && strcmp(need->role, "all") != 0 && !stack_role(s, need->role)) {
		stackcheck_say(c, "stack.yaml", at->line, "the stack '%s' has no role '%s'", need->stack, need->role);
	}
	stack_free(s);
}

static void stackcheck_steps(struct stackcheck *c, const struct conf *list)
{
	for (size_t i = 0; i < c->s->step_count && list && i < list->count; i++) {
		const struct stack_step *step = &c->s->steps[i];
		const struct conf *at = &list->items[i];
		bool want = provision_has(step, "want");

		for (size_t k = 0; k < step->need_count; k++)
			if (step->needs[k].stack)
				check_foreign(c, at, &step->needs[k]);
		if (!step->only_verify && !want && !provision_has(step, "apply"))
			stackcheck_say(c, "stack.yaml", at->line,
				"the step '%s' does nothing: '%s.sh' defines neither want() nor apply()", step->name,
				step->name);
		else if (!step->only_verify && !want && !step->gives && !provision_has(step, "check"))
			stackcheck_say(c, "stack.yaml", at->line,
				"'%s.sh' has apply() but no check(), so no plan shows what it would change; "
				"want() stands for both",
				step->name);
	}
}

static void check_table(struct stackcheck *c)
{
	struct conf_file *file;
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof path, "%s/stack.yaml", c->dir) >= sizeof path || conf_read(path, &file, NULL))
		return;
	stackcheck_needed(c, &file->root, "needs", true);
	stackcheck_needed(c, &file->root, "after", false);
	stackcheck_steps(c, conf_get(&file->root, "steps"));
	conf_free(file);
}

/* ---- Scripts: their shell -------------------------------------------------------------------- */

/* "PATH: 3: Syntax error: …" of dash, "PATH: line 3: …" of others. */
static void say_syntax(struct stackcheck *c, const char *name, const char *path, const char *said)
{
	size_t len = strlen(path);
	char *end;
	unsigned long line;

	if (strncmp(said, path, len) == 0 && said[len] == ':')
		said += len + 1;
	said += strspn(said, " ");
	if (str_starts(said, "line "))
		said += 5;
	line = strtoul(said, &end, 10);
	if (end == said || *end != ':')
		end = (char *)(uintptr_t)said, line = 0;
	else
		end += 1 + strspn(end + 1, " ");
	stackcheck_say(c, name, (unsigned)line, "%.*s", (int)strcspn(end, "\n"), end);
}

static bool syntax_holds(struct stackcheck *c, const char *name, const char *path)
{
	const char *const words[] = { "-n", path, NULL };
	struct agentd_call call = { .program = c->sh, .words = words, .deadline_ms = SHELL_MS };
	struct buf out, err;
	int status = 0;
	struct fail f = { 0 };

	if (!c->sh)
		return true;
	buf_init(&out, SAID_MAX);
	buf_init(&err, SAID_MAX);
	call.out = &out;
	call.err = &err;
	if (agentd_run(&call, &status, &f) == 0 && status)
		say_syntax(c, name, path, buf_text(&err));
	buf_release(&out);
	buf_release(&err);
	return status == 0;
}

/* ---- Scripts: their words -------------------------------------------------------------------- */

static size_t token_len(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

static void learn_function(struct stackcheck *c, const char *name, size_t len)
{
	if (c->function_count == FUNCTIONS_MAX)
		return;
	c->functions[c->function_count] = strndup(name, len);
	if (!c->functions[c->function_count])
		command_nomem();
	c->functions[++c->function_count] = NULL;
}

/* Functions that begin a line: "np_file() {". */
static void learn_functions(struct stackcheck *c, const char *text)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		size_t n;

		line += *line == '\n';
		n = token_len(line);
		if (n && n < TOKEN_MAX && str_starts(line + n, "()"))
			learn_function(c, line, n);
	}
}

static void forget_functions(struct stackcheck *c, size_t keep)
{
	while (c->function_count > keep)
		free(c->functions[--c->function_count]);
	c->functions[c->function_count] = NULL;
}

/* Does a command begin at p, in the line that begins at line? */
static bool is_command(const char *line, const char *p)
{
	static char then[] = "then", or_else[] = "else", doing[] = "do", cond[] = "if", elif[] = "elif",
		    loop[] = "while", until[] = "until";
	char *const words[] = { then, or_else, doing, cond, elif, loop, until, NULL };
	const char *end = p, *word;
	char room[TOKEN_MAX];

	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	if (end == line)
		return true;
	if (strchr(";&|(`", end[-1]) || (end < p && strchr("{!", end[-1])))
		return true;
	for (word = end; word > line && islower((unsigned char)word[-1]);)
		word--;
	if (word == end || end == p || (size_t)(end - word) >= sizeof room)
		return false;
	snprintf(room, sizeof room, "%.*s", (int)(end - word), word);
	return str_among(words, room) && (word == line || strchr(" \t;(", word[-1]));
}

static void check_call(struct stackcheck *c, const char *file, unsigned line, const char *name)
{
	const char *near;

	if (str_among(c->functions, name))
		return;
	near = stack_nearest(name, (const char *const *)(uintptr_t)c->functions, c->function_count);
	stackcheck_say(c, file, line, "no function '%s'%s%s%s", name, near ? "; did you mean '" : "", near ? near : "",
		near ? "'?" : "; nanopod-stacks(7) lists all");
}

/* Is it a setting, or a member of one that is a map? */
static void check_setting(struct stackcheck *c, const char *file, unsigned line, const char *name)
{
	char keys[STACK_SETTINGS][TOKEN_MAX];
	const char *words[STACK_SETTINGS];
	size_t n = c->s->setting_count;
	const char *near;

	if (str_starts(name, "people")) /* the cluster file's users */
		return;
	for (size_t i = 0; i < n; i++) {
		const struct stack_setting *s = &c->s->settings[i];
		size_t len;

		snprintf(keys[i], sizeof keys[i], "%s", s->key);
		for (char *p = keys[i]; (p = strchr(p, '-'));)
			*p = '_';
		words[i] = keys[i];
		len = strlen(keys[i]);
		if (strcmp(name, keys[i]) == 0 ||
			(s->type == STACK_MAP && strncmp(name, keys[i], len) == 0 && name[len] == '_'))
			return;
	}
	near = stack_nearest(name, words, n);
	stackcheck_say(c, file, line, "no setting '%s'%s%s%s", name, near ? "; did you mean '" : "", near ? near : "",
		near ? "'?" : " in stack.yaml");
}

/* "$S_text" or "${S_text"; not "${S_text:-…", which the script can do without, nor "S_users_$name". */
static bool is_setting(const char *name, size_t len, const char *line, const char *p)
{
	bool braces = p > line + 1 && p[-1] == '{' && p[-2] == '$';

	if (!str_starts(name, "S_") || !name[2] || name[strlen(name) - 1] == '_')
		return false;
	return braces ? p[len] != '-' && !str_starts(p + len, ":-") : p > line && p[-1] == '$';
}

/* A line's calls of np_… and its $S_…; a comment has none. code: the line without what is no code. */
static void check_line(struct stackcheck *c, const char *file, unsigned number, const char *line, const char *code)
{
	const char *p = line + strspn(line, " \t");
	char name[TOKEN_MAX];

	if (*p == '#')
		return;
	while (*p) {
		size_t n = token_len(p);

		if (!n) {
			p++;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)(n < TOKEN_MAX ? n : TOKEN_MAX - 1), p);
		if (str_starts(code + (p - line), "np_") && p[n] != '=' && !str_starts(p + n, "()") &&
			is_command(code, code + (p - line)))
			check_call(c, file, number, name);
		else if (is_setting(name, n, line, p))
			check_setting(c, file, number, name + 2);
		p += n;
	}
}

static void stackcheck_words(struct stackcheck *c, const char *name, struct buf *text)
{
	char *copy = strdup(buf_text(text)), *code = copy;
	unsigned number = 0;

	if (!copy)
		command_nomem();
	shellcode_only(copy);
	for (char *rest = text->data, *line; (line = strsep(&rest, "\n"));)
		check_line(c, name, ++number, line, strsep(&code, "\n"));
	free(copy);
}

/* ---- A stack ------------------------------------------------------------------------------------- */

static bool is_script(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && (strcmp(name + len - 3, ".sh") == 0 || (len > 4 && strcmp(name + len - 4, ".inc") == 0));
}

static bool read_script_of(const struct stackcheck *c, const char *name, char path[PATH_MAX], struct buf *text)
{
	buf_init(text, SCRIPT_MAX);
	return (size_t)snprintf(path, PATH_MAX, "%s/%s", c->dir, name) < PATH_MAX && buf_read_file(text, path) == 0;
}

static int stackcheck_order(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int stackcheck_picks(const struct dirent *e)
{
	return is_script(e->d_name);
}

/* All scripts of the folder, those of no step too. What they call is in lib.sh, or in what some step includes. */
static void check_scripts(struct stackcheck *c)
{
	struct dirent **files = NULL;
	char path[PATH_MAX];
	struct buf text;
	int n = scandir(c->dir, &files, stackcheck_picks, stackcheck_order);

	for (size_t i = 0; c->s && i < c->s->step_count; i++)
		learn_functions(c, c->s->steps[i].script);
	for (int i = 0; i < n; i++) {
		if (read_script_of(c, files[i]->d_name, path, &text) && syntax_holds(c, files[i]->d_name, path) && c->s)
			stackcheck_words(c, files[i]->d_name, &text);
		buf_release(&text);
		free(files[i]);
	}
	free(files);
	forget_functions(c, c->library);
}

static void learn_library(struct stackcheck *c)
{
	char path[PATH_MAX];
	struct buf text;

	buf_init(&text, SCRIPT_MAX);
	if (stack_find(c->folders, "common/lib.sh", path, sizeof path) && buf_read_file(&text, path) == 0)
		learn_functions(c, buf_text(&text));
	buf_release(&text);
	c->library = c->function_count;
}

static void stackcheck_stack(struct stackcheck *c)
{
	char file[PATH_MAX], path[PATH_MAX];
	struct fail f = { 0 };
	struct stack *s = NULL;

	snprintf(file, sizeof file, "%s/stack.yaml", c->name);
	(void)stack_find(c->folders, file, path, sizeof path);
	snprintf(c->dir, sizeof c->dir, "%.*s", (int)(strlen(path) - strlen("/stack.yaml")), path);
	if (stack_read(c->folders, c->name, &s, &f))
		say_unread(c, f.text);
	c->s = s;
	if (s)
		check_table(c);
	check_scripts(c);
	c->s = NULL;
	stack_free(s);
}

static int check_known(struct nanopod *np, const char *folders, const char *name)
{
	char **names = stack_names(folders);
	bool known = str_among(names, name);
	const char *near;
	size_t count = 0;
	int status = STATUS_OK;

	while (names[count])
		count++;
	near = known ? NULL : stack_nearest(name, (const char *const *)(uintptr_t)names, count);
	if (!known)
		status = print_fail(np, STATUS_NOTFOUND, near ? NULL : "'nanopod provision stack new NAME' makes one",
			"no stack '%.64s'%s%s%s", name, near ? "; did you mean '" : "", near ? near : "",
			near ? "'?" : "");
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
	return status;
}

int provision_stackcheck(struct nanopod *np, const struct options *o, char **words)
{
	char folders[PROVISION_PATH];
	struct fail f = { 0 };
	struct stackcheck c = { .folders = folders };
	char **names = NULL;
	int status = STATUS_OK;

	if (stack_folders(folders, sizeof folders, &f))
		return print_fail(np, STATUS_FAILURE, NULL, "%s", f.text);
	for (char **w = words; *w && !status; w++)
		status = check_known(np, folders, *w);
	if (status || !(c.rows = rows_new(np, o, problem_columns, &status)))
		return status;
	c.sh = agentd_find("sh", NULL);
	learn_library(&c);
	names = *words ? NULL : stack_names(folders);
	for (char **n = names ? names : words; *n; n++) {
		c.name = *n;
		stackcheck_stack(&c);
	}
	for (char **n = names; n && *n; n++)
		free(*n);
	free(names);
	forget_functions(&c, 0);
	free(c.sh);
	if (!c.found && rows_none(c.rows)) {
		rows_drop(c.rows);
		print_note(np,
			"nothing wrong; 'nanopod provision stack test %s -w HOST' tries it on a node that may be lost",
			*words && !words[1] ? *words : "STACK");
		return STATUS_OK;
	}
	status = rows_end(c.rows);
	return status ? status : c.found ? STATUS_CHECK : STATUS_OK;
}
