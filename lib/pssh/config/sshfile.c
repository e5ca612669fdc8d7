/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ssh_config(5) line by line, with the quirks of OpenSSH's reader: '=' after the keyword,
 * quotes and backslashes, a comment wherever a word may begin.
 */
#include "pssh/config/sshfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/str.h"
#include "base/arena.h"
#include "pssh/pssh_types.h"
#include "pssh/config/sshword.h"

enum {
	DEPTH_MAX = 16, FILES_MAX = 10000, LINE_MAX_BYTES = 1 << 20, FILE_MAX_BYTES = 16 << 20,
	READING_MAX_BYTES = 64 << 20, WORDS_MAX = 65536,
};

struct reader {
	struct sshfile_reading *reading;
	const struct sshfile_reading *earlier;
	struct sshfile *file;
	struct sshfile_block *block;
	int depth;
	unsigned at;
	struct fail *f;
};

static int sshfile_read_file(struct reader *up, const char *path, struct sshfile **out);

static int sshfile_no_memory(struct fail *f)
{
	return fail_set(f, PSSH_ENOMEM, "out of memory");
}

static int sshfile_syntax(const struct reader *r, const char *keyword, const char *why)
{
	return fail_set(r->f, PSSH_ESYNTAX, "cannot use '%.200s', line %u: '%.60s': %s", r->file->path, r->at, keyword,
		why);
}

/* ---- Words ----------------------------------------------------------------------------- */

static int split_value(struct reader *r, const char *keyword, const char *value, char ***out)
{
	struct arena *arena = r->reading->arena;
	char *words = arena_get(arena, strlen(value) + 1);
	size_t count = 0, cap = 0;
	char **args = NULL;
	const char *s = value + strspn(value, " \t");

	if (!words)
		return sshfile_no_memory(r->f);
	do {
		if (count + 1 >= cap) {
			char **more = arena_get(arena, (cap = cap ? cap * 4 : 4) * sizeof *more);

			if (!more)
				return sshfile_no_memory(r->f);
			if (count)
				memcpy(more, args, count * sizeof *more);
			args = more;
		}
		if (!*s || *s == '#')
			break;
		if (count == WORDS_MAX)
			return sshfile_syntax(r, keyword, "too many words");
		args[count++] = words;
		s = sshword_unquote(s, words);
		if (!s)
			return sshfile_syntax(r, keyword, "a quote is not closed");
		words += strlen(words) + 1;
		s += strspn(s, " \t");
	} while (1);
	*out = args;
	return 0;
}

/* ---- Blocks ---------------------------------------------------------------------------- */

static struct sshconfig_warning *sshfile_warn(struct reader *r, const char *keyword, const char *why)
{
	struct sshconfig_warning *w = arena_get(r->reading->arena, sizeof *w);

	if (!w)
		return NULL;
	*w = (struct sshconfig_warning){ .file = r->file->path, .line = r->at, .keyword = keyword, .why = why };
	*r->reading->warnings_tail = w;
	r->reading->warnings_tail = &w->next;
	return w;
}

static struct sshfile_block *new_block(struct reader *r, int kind)
{
	struct sshfile_block *b = arena_get(r->reading->arena, sizeof *b);

	if (!b)
		return NULL;
	b->kind = kind;
	b->index = r->file->blocks++;
	b->tail = &b->lines;
	r->block = b;
	return b;
}

static void file_general(struct sshfile *file, struct sshfile_block *b)
{
	*file->general_tail = b;
	file->general_tail = &b->next;
}

static int file_under_name(struct reader *r, const char *name, struct sshfile_block *b)
{
	struct sshfile_hit *first = table_get(&r->file->names, name), *hit;

	if (first && first->last->block == b)
		return 0;
	hit = arena_get(r->reading->arena, sizeof *hit);
	if (!hit)
		return sshfile_no_memory(r->f);
	hit->block = b;
	if (first) {
		first->last->next = hit;
		first->last = hit;
		return 0;
	}
	hit->last = hit;
	return table_set(&r->file->names, name, hit) == 0 ? 0 : sshfile_no_memory(r->f);
}

static int begin_host(struct reader *r, char **patterns)
{
	struct sshfile_block *b = new_block(r, BLOCK_HOST);
	bool plain = true;
	int rc = 0;

	if (!b)
		return sshfile_no_memory(r->f);
	b->patterns = patterns;
	for (int i = 0; patterns[i]; i++)
		plain = plain && !strpbrk(patterns[i], "*?") && patterns[i][0] != '!';
	if (!plain)
		file_general(r->file, b);
	for (int i = 0; plain && !rc && patterns[i]; i++)
		rc = file_under_name(r, patterns[i], b);
	return rc;
}

static const struct {
	const char *word;
	enum sshfile_test test;
	bool has_value;
} tests[] = {
	{ "all", TEST_ALL, false }, { "final", TEST_FINAL, false }, { "canonical", TEST_FINAL, false },
	{ "host", TEST_HOST, true }, { "originalhost", TEST_ORIGINALHOST, true }, { "user", TEST_USER, true },
	{ "localuser", TEST_LOCALUSER, true }, { "tagged", TEST_TAGGED, true }, { "exec", TEST_EXEC, true },
};

/* Reads the next criterion of a Match line: 1 with *c set, 0 at the end, or a code. */
static int next_criterion(struct reader *r, char **s, struct sshfile_criterion *c)
{
	char *word = sshword_cut(s), *value;
	size_t i;

	if (!word)
		return sshfile_syntax(r, "Match", "a quote is not closed");
	if (!*word || *word == '#')
		return 0;
	*c = (struct sshfile_criterion){ .negated = *word == '!' };
	for (i = 0; i < sizeof tests / sizeof *tests; i++)
		if (strcasecmp(tests[i].word, word + c->negated) == 0)
			break;
	if (i == sizeof tests / sizeof *tests)
		return fail_set(r->f, PSSH_ESYNTAX, "cannot use '%.200s', line %u: 'Match': unknown criterion '%.60s'",
			r->file->path, r->at, word);
	c->test = tests[i].test;
	if (strcasecmp(tests[i].word, "final") == 0)
		r->reading->wants_final = true;
	if (!tests[i].has_value)
		return 1;
	value = sshword_cut(s);
	if (!value || !*value || *value == '#')
		return fail_set(r->f, PSSH_ESYNTAX, "cannot use '%.200s', line %u: 'Match': '%s' needs a value",
			r->file->path, r->at, tests[i].word);
	c->value = arena_text(r->reading->arena, value, strlen(value));
	if (c->test == TEST_EXEC)
		c->warning = sshfile_warn(r, "Match exec",
			"the command is not run, and the block never matches");
	return c->value && (c->test != TEST_EXEC || c->warning) ? 1 : sshfile_no_memory(r->f);
}

static int begin_match(struct reader *r, char *value)
{
	struct sshfile_block *b = new_block(r, BLOCK_MATCH);
	struct sshfile_criterion one, **tail, *c;
	int count = 0, rc;

	if (!b)
		return sshfile_no_memory(r->f);
	tail = &b->criteria;
	while ((rc = next_criterion(r, &value, &one)) > 0) {
		c = arena_get(r->reading->arena, sizeof *c);
		if (!c)
			return sshfile_no_memory(r->f);
		*c = one;
		*tail = c;
		tail = &c->next;
		count++;
		if (c->test != TEST_ALL)
			continue;
		if (count > 2 || (*value && *value != '#'))
			return sshfile_syntax(r, "Match", "'all' cannot stand with other criteria");
		break;
	}
	if (rc < 0)
		return rc;
	if (!count)
		return sshfile_syntax(r, "Match", "needs criteria, or 'all'");
	file_general(r->file, b);
	return 0;
}

/* ---- Include --------------------------------------------------------------------------- */

static int sshfile_anchor(struct reader *r, const char *arg, char **out)
{
	struct buf path;
	int rc = 0;

	if (*arg == '~' && !r->reading->user_file)
		return sshfile_syntax(r, "Include", "'~' has no meaning in a system file");
	buf_init(&path, 65536);
	if (*arg == '~' && (!arg[1] || arg[1] == '/')) {
		*out = str_expand_home(arg);
		return *out ? 0 : sshfile_no_memory(r->f);
	}
	if (*arg != '/' && *arg != '~') {
		char *base = r->reading->user_file ? str_expand_home("~/.ssh/") : strdup("/etc/ssh/");

		rc = base ? buf_adds(&path, base) : -ENOMEM;
		free(base);
	}
	if (!rc)
		rc = buf_adds(&path, arg);
	if (!rc && !(*out = buf_steal(&path)))
		rc = -ENOMEM;
	buf_release(&path);
	return !rc ? 0 : rc == -EFBIG ? sshfile_syntax(r, "Include", "the path is too long") : sshfile_no_memory(r->f);
}

static int include_one(struct reader *r, const char *path, struct sshfile_link ***tail)
{
	struct sshfile_link *link = arena_get(r->reading->arena, sizeof *link);
	int rc;

	if (!link)
		return sshfile_no_memory(r->f);
	rc = sshfile_read_file(r, path, &link->file);
	if (rc == PSSH_ENOENT) /* a dangling link, or removed since the glob */
		return 0;
	if (rc)
		return rc;
	**tail = link;
	*tail = &link->next;
	return 0;
}

static int sshfile_include(struct reader *r, struct sshfile_line *line)
{
	struct sshfile_link **tail = &line->included;
	int rc = 0;

	for (int i = 0; !rc && line->args[i]; i++) {
		char *path;
		glob_t g = { 0 };
		int found;

		rc = sshfile_anchor(r, line->args[i], &path);
		if (rc)
			return rc;
		found = glob(path, GLOB_TILDE, NULL, &g);
		if (found == GLOB_NOSPACE)
			rc = sshfile_no_memory(r->f);
		else if (found && found != GLOB_NOMATCH)
			rc = sshfile_syntax(r, "Include", "a directory cannot be read");
		for (size_t j = 0; !rc && !found && j < g.gl_pathc; j++)
			rc = include_one(r, g.gl_pathv[j], &tail);
		globfree(&g);
		free(path);
	}
	return rc;
}

/* ---- Lines ----------------------------------------------------------------------------- */

static bool sshfile_ignores(const struct sshfile_reading *g, const char *keyword)
{
	for (size_t i = 0; i < g->ignored_count; i++)
		if (sshword_match(keyword, g->ignored[i], true) == 1)
			return true;
	return false;
}

static bool is_ignored(const struct reader *r, const char *keyword)
{
	char lower[128];
	size_t len = strlen(keyword);

	if (len >= sizeof lower)
		return false;
	for (size_t i = 0; i <= len; i++)
		lower[i] = (char)tolower((unsigned char)keyword[i]);
	for (const struct sshfile_reading *g = r->earlier; g; g = g->next)
		if (sshfile_ignores(g, lower))
			return true;
	return sshfile_ignores(r->reading, lower);
}

static int ignore_unknown(struct reader *r, const char *patterns)
{
	struct sshfile_reading *g = r->reading;
	const char **more;

	for (size_t i = 0; i < g->ignored_count; i++)
		if (strcmp(g->ignored[i], patterns) == 0)
			return 0;
	more = arena_get(g->arena, (g->ignored_count + 1) * sizeof *more);
	if (!more)
		return sshfile_no_memory(r->f);
	if (g->ignored_count)
		memcpy(more, g->ignored, g->ignored_count * sizeof *more);
	more[g->ignored_count++] = patterns;
	g->ignored = more;
	return 0;
}

static int sshfile_unknown(const struct reader *r, const char *keyword)
{
	const char *near = keyword_nearest(keyword);

	if (near)
		return fail_set(r->f, PSSH_ESYNTAX,
			"cannot use '%.200s', line %u: unknown keyword '%.60s'; did you mean '%s'?", r->file->path,
			r->at, keyword, near);
	return fail_set(r->f, PSSH_ESYNTAX, "cannot use '%.200s', line %u: unknown keyword '%.60s'; "
		"put 'IgnoreUnknown %.60s' before it to skip it", r->file->path, r->at, keyword, keyword);
}

/* Adds a setting to the current block. */
static int sshfile_add_line(struct reader *r, const struct keyword *k, char **args, int number)
{
	struct sshfile_line *line = arena_get(r->reading->arena, sizeof *line);

	if (!line)
		return sshfile_no_memory(r->f);
	*line = (struct sshfile_line){ .keyword = k,
		.args = args,
		.number = number,
		.at = r->at,
		.path = r->file->path };
	if (k->kind == KEYWORD_WARN && !(line->warning = sshfile_warn(r, k->name, k->why)))
		return sshfile_no_memory(r->f);
	*r->block->tail = line;
	r->block->tail = &line->next;
	return k->kind == KEYWORD_INCLUDE ? sshfile_include(r, line) : 0;
}

static int take_value(struct reader *r, const struct keyword *k, char *value)
{
	char **args;
	const char *why;
	int number, rc = split_value(r, k->name, value, &args);

	if (rc)
		return rc;
	if (k->kind == KEYWORD_REST || k->kind == KEYWORD_JUMP) {
		size_t skip = strspn(value, SSHWORD_SPACE "="), len = strlen(value) - skip;

		if (k->kind == KEYWORD_JUMP) {
			len = strcspn(value + skip, "#");
			while (len && strchr(SSHWORD_SPACE, value[skip + len - 1]))
				len--;
		}
		args = arena_get(r->reading->arena, 2 * sizeof *args);
		if (!args || !(args[0] = arena_text(r->reading->arena, value + skip, len)))
			return sshfile_no_memory(r->f);
	}
	if (k->kind == KEYWORD_MATCH)
		return begin_match(r, value);
	if (!args[0])
		return sshfile_syntax(r, k->name, "needs a value");
	why = keyword_check(k, args, &number);
	if (why)
		return sshfile_syntax(r, k->name, why);
	if (k->kind == KEYWORD_HOST)
		return begin_host(r, args);
	if (k->kind == KEYWORD_IGNORE_UNKNOWN)
		return ignore_unknown(r, args[0]);
	if (k->kind == KEYWORD_QUIET || (k->kind == KEYWORD_WARN && keyword_is_harmless(k, args[0])))
		return 0;
	return sshfile_add_line(r, k, args, number);
}

static int sshfile_take_line(struct reader *r, char *line)
{
	size_t len = strlen(line);
	const struct keyword *k;
	char *word, **args;

	while (len && strchr(SSHWORD_SPACE "\f", line[len - 1]))
		line[--len] = '\0';
	line += strspn(line, SSHWORD_SPACE);
	if (!*line || *line == '#')
		return 0;
	word = sshword_cut(&line);
	if (!word)
		return sshfile_syntax(r, "\"", "a quote is not closed");
	for (char *p = word; *p; p++)
		if ((unsigned char)*p < ' ')
			return sshfile_syntax(r, "?", "a control character in a keyword");
	k = keyword_find(word);
	if (!k && !is_ignored(r, word))
		return sshfile_unknown(r, word);
	if (!*line)
		return sshfile_syntax(r, word, "needs a value");
	return k ? take_value(r, k, line) : split_value(r, word, line, &args);
}

/* ---- Files ----------------------------------------------------------------------------- */

/* Refuses files that others can write to: they could make this user run anything. */
static int sshfile_check_owner(const struct reader *r, int fd, const char *path)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return fail_errno(r->f, PSSH_ELOCAL, errno, "cannot read '%s'", path);
	if ((st.st_uid != 0 && st.st_uid != getuid()) || (st.st_mode & 022))
		return fail_set(r->f, PSSH_ELOCAL,
			"cannot use '%.200s': others can write to it; 'chmod go-w' and 'chown' it", path);
	return 0;
}

static bool needs_check(const struct reader *r, const char *path)
{
	char *usual;
	bool same;

	if (r->depth)
		return true;
	usual = r->reading->user_file ? str_expand_home("~/.ssh/config") : NULL;
	same = usual && strcmp(usual, path) == 0;
	free(usual);
	return same;
}

static int sshfile_slurp(const struct reader *r, const char *path, struct buf *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;

	if (fd < 0)
		return fail_errno(r->f, errno == ENOENT ? PSSH_ENOENT : PSSH_ELOCAL, errno, "cannot read '%.200s'",
			path);
	rc = needs_check(r, path) ? sshfile_check_owner(r, fd, path) : 0;
	if (!rc) {
		rc = buf_read_fd(text, fd);
		if (rc == -EISDIR && r->depth) /* "Include config.d/…" may match directories; ssh skips them */
			rc = 0;
		else if (rc == -ENOMEM)
			rc = sshfile_no_memory(r->f);
		else if (rc == -EFBIG)
			rc = fail_set(r->f, PSSH_ESYNTAX, "cannot use '%.200s': it is larger than 16 MiB", path);
		else if (rc)
			rc = fail_errno(r->f, PSSH_ELOCAL, -rc, "cannot read '%.200s'", path);
	}
	close(fd);
	return rc;
}

static int sshfile_take_text(struct reader *r, struct buf *text)
{
	char *line = text->data, *end = line ? line + text->len : NULL;
	int rc = 0;

	while (!rc && line && line < end) {
		char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len;

		if (!stop)
			stop = end;
		*stop = '\0';
		len = (size_t)(stop - line);
		r->at++;
		if (memchr(line, '\0', len))
			rc = fail_set(r->f, PSSH_ESYNTAX,
				"cannot use '%.200s', line %u: a NUL byte; is this a text file?", r->file->path, r->at);
		else if (len > LINE_MAX_BYTES)
			rc = fail_set(r->f, PSSH_ESYNTAX, "cannot use '%.200s', line %u: longer than 1 MiB",
				r->file->path, r->at);
		else
			rc = sshfile_take_line(r, line);
		line = stop + 1;
	}
	return rc;
}

static struct sshfile *new_file(struct reader *r, const char *path)
{
	struct sshfile *file = arena_get(r->reading->arena, sizeof *file);

	if (!file || !(file->path = arena_text(r->reading->arena, path, strlen(path))))
		return NULL;
	table_init(&file->names);
	file->general_tail = &file->general;
	file->next = r->reading->files;
	r->reading->files = file;
	r->file = file;
	if (!new_block(r, BLOCK_ALWAYS))
		return NULL;
	file_general(file, r->block);
	return file;
}

static int sshfile_read_file(struct reader *up, const char *path, struct sshfile **out)
{
	struct sshfile_reading *g = up->reading;
	struct reader r = *up;
	struct buf text;
	int rc;

	r.depth = up->file ? up->depth + 1 : 0;
	r.at = 0;
	if (r.depth > DEPTH_MAX)
		return sshfile_syntax(up, "Include", "files include one another more than 16 deep");
	if (++g->file_count > FILES_MAX)
		return sshfile_syntax(up, "Include", "more than 10,000 files");
	buf_init(&text, FILE_MAX_BYTES);
	rc = sshfile_slurp(&r, path, &text);
	g->bytes += text.len;
	if (!rc && g->bytes > READING_MAX_BYTES)
		rc = sshfile_syntax(up, "Include", "more than 64 MiB in all");
	if (!rc && !new_file(&r, path))
		rc = sshfile_no_memory(r.f);
	if (!rc)
		rc = sshfile_take_text(&r, &text);
	buf_release(&text);
	if (!rc)
		*out = r.file;
	return rc;
}

int sshfile_read(const char *path, bool user_file, const struct sshfile_reading *earlier,
	struct sshfile_reading **out, struct fail *f)
{
	struct sshfile_reading *g = calloc(1, sizeof *g);
	struct reader r = { .reading = g, .earlier = earlier, .f = f };
	int rc;

	if (!g || !(g->arena = arena_new())) {
		free(g);
		return sshfile_no_memory(f);
	}
	g->user_file = user_file;
	g->warnings_tail = &g->warnings;
	rc = sshfile_read_file(&r, path, &g->top);
	if (rc) {
		sshfile_free(g);
		return rc;
	}
	*out = g;
	return 0;
}

void sshfile_free(struct sshfile_reading *g)
{
	if (!g)
		return;
	for (struct sshfile *file = g->files; file; file = file->next)
		table_release(&file->names);
	arena_free(g->arena);
	free(g);
}
