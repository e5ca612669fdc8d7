/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the steps of a stack.yaml with their scripts, and checks that they fit together. */
#include "cli/provision/model/stack_part.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/command.h"
#include "cli/provision/model/stack_value.h"

enum { SCRIPT_BYTES = 256 * 1024, TIMEOUT_DEFAULT = 600, TIMEOUT_MAX = 7 * 86400 };

static char *copy_part(const char *text, size_t len)
{
	char *out = strndup(text, len);

	if (!out)
		command_nomem();
	return out;
}

/* ---- What comes first ------------------------------------------------------------------ */

/* "STEP", "STEP@ROLE", "STACK.STEP@ROLE" */
static int stack_step_add_need(struct stack_reading *r, const struct conf *at, const char *text, bool must,
	struct stack_step *step)
{
	const char *role = strchr(text, '@'), *dot = strchr(text, '.'), *name = text;
	size_t len = role ? (size_t)(role - text) : strlen(text);
	struct stack_need *need = &step->needs[step->need_count];

	if (step->need_count == STACK_NEEDS)
		return conf_fail(r->file, at, r->f, "the step '%s' waits for more than %d others", step->name,
			STACK_NEEDS);
	if (dot && dot < text + len)
		name = dot + 1;
	*need = (struct stack_need){ .must = must, .step = copy_part(name, len - (size_t)(name - text)) };
	step->need_count++;
	if (name > text)
		need->stack = copy_part(text, (size_t)(dot - text));
	if (role)
		need->role = copy_part(role + 1, strlen(role + 1));
	if (!stack_word(need->step) || (need->stack && !stack_word(need->stack)) ||
		(need->role && !stack_word(need->role)))
		return conf_fail(r->file, at, r->f,
			"'%.64s' is not a step: expected STEP, STEP@ROLE, STEP@all or STACK.STEP@ROLE", text);
	if (need->stack && strcmp(need->stack, r->s->name) == 0) {
		free(need->stack);
		need->stack = NULL;
	}
	return 0;
}

static int read_needs(struct stack_reading *r, const struct conf *map, const char *key, bool must,
	struct stack_step *step)
{
	const struct conf *at = conf_get(map, key);
	char **words = NULL;
	int rc = stack_get_words(r, map, key, &words);

	for (size_t i = 0; words && words[i] && !rc; i++)
		rc = stack_step_add_need(r, at->type == CONF_LIST ? &at->items[i] : at, words[i], must, step);
	stack_free_words(words);
	return rc;
}

static int check_need(struct stack_reading *r, const struct conf *at, const struct stack_step *step,
	const struct stack_need *need)
{
	const char *words[STACK_STEPS];

	if (need->stack) {
		char **known = r->s->needs_stacks;

		while (*known && strcmp(*known, need->stack) != 0)
			known++;
		if (need->must && !*known && strcmp(need->stack, "base") != 0)
			return conf_fail(r->file, at, r->f,
				"the step '%s' needs '%s.%s', but the stack lacks 'needs: [%s]'", step->name,
				need->stack, need->step, need->stack);
		return 0;
	}
	if (!stack_step(r->s, need->step)) {
		for (size_t i = 0; i < r->s->step_count; i++)
			words[i] = r->s->steps[i].name;
		return stack_unknown(r, at, "step", need->step, words, r->s->step_count);
	}
	if (need->role && strcmp(need->role, "all") != 0 && !stack_role(r->s, need->role)) {
		for (size_t i = 0; i < r->s->role_count; i++)
			words[i] = r->s->roles[i].name;
		return stack_unknown(r, at, "role", need->role, words, r->s->role_count);
	}
	if (!need->role && strcmp(need->step, step->name) == 0)
		return conf_fail(r->file, at, r->f, "the step '%s' waits for itself", step->name);
	return 0;
}

/* A step that takes a file needs the step that gives it, in any stack. */
static int check_taken(struct stack_reading *r, const struct conf *at, struct stack_step *step)
{
	const struct stack_step *giver = NULL;
	char text[128];

	if (!step->takes)
		return 0;
	for (size_t i = 0; i < r->s->step_count && !giver; i++)
		if (r->s->steps[i].gives && strcmp(r->s->steps[i].gives, step->takes) == 0)
			giver = &r->s->steps[i];
	if (!giver)
		return conf_fail(r->file, at, r->f, "the step '%s' takes '%s', which no step gives", step->name,
			step->takes);
	if (giver == step)
		return conf_fail(r->file, at, r->f, "the step '%s' takes what it gives itself", step->name);
	for (size_t i = 0; i < step->need_count; i++) {
		struct stack_need *need = &step->needs[i];

		if (!need->stack && need->role && strcmp(need->step, giver->name) == 0) {
			need->must = true;
			return 0;
		}
	}
	snprintf(text, sizeof text, "%s@all", giver->name);
	return stack_step_add_need(r, at, text, true, step);
}

/* ---- Scripts --------------------------------------------------------------------------- */

/* found: its path; NULL: in the stack's folder. */
static int stack_step_add_file(struct stack_reading *r, const struct conf *at, const char *name, const char *found,
	struct buf *out)
{
	char path[PATH_MAX];
	struct buf text;
	int rc;

	if ((size_t)snprintf(path, sizeof path, "%s/%s", r->s->dir, name) >= sizeof path)
		return conf_fail(r->file, at, r->f, "the path of '%s' is too long", name);
	buf_init(&text, SCRIPT_BYTES);
	rc = buf_read_file(&text, found ? found : path);
	if (rc == -EFBIG)
		rc = conf_fail(r->file, at, r->f, "'%s' is larger than %d bytes", name, SCRIPT_BYTES);
	else if (rc)
		rc = conf_fail(r->file, at, r->f, "cannot read '%s' beside it: %s", name, strerror(-rc));
	else if (text.len && memchr(text.data, '\0', text.len))
		rc = conf_fail(r->file, at, r->f, "'%s' has a zero byte in it", name);
	else if (buf_adds(out, buf_text(&text)) || (text.len && text.data[text.len - 1] != '\n' && buf_addc(out, '\n')))
		rc = conf_fail(r->file, at, r->f,
			"the script of the step and what it includes are larger than %d bytes", SCRIPT_BYTES);
	buf_release(&text);
	return rc;
}

static bool include_ok(const char *name)
{
	size_t len = strlen(name);
	char stem[64];

	if (len < 5 || len >= sizeof stem || strcmp(name + len - 4, ".inc") != 0)
		return false;
	snprintf(stem, sizeof stem, "%.*s", (int)(len - 4), name);
	return stack_word(stem);
}

/* A file that is not in the stack's folder is in a common one. */
static int add_include(struct stack_reading *r, const struct conf *at, const char *name, struct buf *out)
{
	char path[PATH_MAX], common[80];

	snprintf(common, sizeof common, "common/%s", name);
	if (((size_t)snprintf(path, sizeof path, "%s/%s", r->s->dir, name) < sizeof path && access(path, F_OK) == 0) ||
		!stack_find(r->s->folders, common, path, sizeof path))
		return stack_step_add_file(r, at, name, NULL, out);
	return stack_step_add_file(r, at, name, path, out);
}

static int read_script(struct stack_reading *r, const struct conf *at, struct stack_step *step)
{
	char **words = NULL, name[80];
	struct buf out;
	int rc = stack_get_words(r, at, "include", &words);

	if (rc)
		return rc;
	buf_init(&out, SCRIPT_BYTES);
	for (size_t i = 0; words && words[i] && !rc; i++) {
		if (!include_ok(words[i]))
			rc = conf_fail(r->file, conf_get(at, "include"), r->f,
				"'%.64s' cannot be included: expected NAME.inc", words[i]);
		rc = rc ? rc : add_include(r, conf_get(at, "include"), words[i], &out);
	}
	snprintf(name, sizeof name, "%s.sh", step->name);
	rc = rc ? rc : stack_step_add_file(r, conf_get(at, "name"), name, NULL, &out);
	step->script = copy_part(buf_text(&out), out.len);
	buf_release(&out);
	stack_free_words(words);
	return rc;
}

/* ---- A step ---------------------------------------------------------------------------- */

static int stack_step_read_roles(struct stack_reading *r, const struct conf *map, struct stack_step *step)
{
	const struct conf *at = conf_get(map, "roles");
	const char *known[STACK_ROLES];
	char **words = NULL;
	int rc = stack_get_words(r, map, "roles", &words);

	for (size_t i = 0; i < r->s->role_count; i++)
		known[i] = r->s->roles[i].name;
	for (size_t i = 0; words && words[i] && !rc; i++) {
		const struct stack_role *role = stack_role(r->s, words[i]);

		if (role)
			step->roles |= 1u << (role - r->s->roles);
		else
			rc = stack_unknown(r, at->type == CONF_LIST ? &at->items[i] : at, "role", words[i], known,
				r->s->role_count);
	}
	stack_free_words(words);
	return rc;
}

static int unknown_setting(struct stack_reading *r, const struct conf *at, const char *typed)
{
	const char *known[STACK_SETTINGS];

	for (size_t i = 0; i < r->s->setting_count; i++)
		known[i] = r->s->settings[i].key;
	return stack_unknown(r, at, "setting", typed, known, r->s->setting_count);
}

/* Checks "accounting=yes" or "accounting!=no": the setting exists and can have that value. */
static int check_when(struct stack_reading *r, const struct conf *map, struct stack_step *step)
{
	const struct conf *at = conf_get(map, "when");
	const struct stack_setting *setting;
	struct fail why = { 0 };
	char key[64], *value = NULL;
	size_t len;
	int rc = 0;

	if (!step->when)
		return 0;
	len = strcspn(step->when, "!=");
	if (!str_starts(step->when + len, "=") && !str_starts(step->when + len, "!="))
		return conf_fail(r->file, at, r->f,
			"'%.64s' is not a condition: expected SETTING=VALUE or SETTING!=VALUE", step->when);
	snprintf(key, sizeof key, "%.*s", (int)len, step->when);
	setting = stack_setting(r->s, key);
	if (!setting)
		return unknown_setting(r, at, key);
	len += step->when[len] == '!' ? 2 : 1;
	if (stack_value(setting, step->when + len, &value, &why))
		return conf_fail(r->file, at, r->f, "%s", why.text);
	if (strcmp(value, step->when + len) != 0)
		rc = conf_fail(r->file, at, r->f, "'%.64s' is never true: scripts see '%s'", step->when, value);
	free(value);
	return rc;
}

static int read_facts(struct stack_reading *r, const struct conf *map, struct stack_step *step)
{
	const struct conf *at = conf_get(map, "facts");
	int rc = stack_get_words(r, map, "facts", &step->facts);

	for (size_t i = 0; step->facts && step->facts[i] && !rc; i++) {
		const char *word = step->facts[i];

		if (!*word || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			rc = conf_fail(r->file, at->type == CONF_LIST ? &at->items[i] : at, r->f,
				"'%.64s' is not the name of a fact: small letters, digits and _", word);
	}
	return rc;
}

static int read_step(struct stack_reading *r, const struct conf *at)
{
	static const char *const keys[] = {
		"name",
		"help",
		"roles",
		"when",
		"needs",
		"after",
		"facts",
		"gives",
		"takes",
		"upload",
		"wave",
		"quorum",
		"only-verify",
		"timeout",
		"include",
		NULL,
	};
	struct stack_step *step = &r->s->steps[r->s->step_count];
	int rc = conf_expect(r->file, at, CONF_MAP, r->f);

	if (!rc && r->s->step_count == STACK_STEPS)
		rc = conf_fail(r->file, at, r->f, "more than %d steps", STACK_STEPS);
	if (rc)
		return rc;
	r->s->step_count++;
	rc = conf_known(r->file, at, keys, r->f);
	rc = rc ? rc : stack_get_word(r, at, "name", &step->name);
	if (rc || !step->name)
		return rc ? rc : conf_fail(r->file, at, r->f, "a step without a name");
	if (stack_step(r->s, step->name) != step)
		return conf_fail(r->file, at, r->f, "the step '%s' is defined twice", step->name);
	step->timeout_s = TIMEOUT_DEFAULT;
	rc = stack_get_text(r, at, "help", &step->help);
	rc = rc ? rc : stack_step_read_roles(r, at, step);
	rc = rc ? rc : stack_get_text(r, at, "when", &step->when);
	rc = rc ? rc : check_when(r, at, step);
	rc = rc ? rc : read_needs(r, at, "needs", true, step);
	rc = rc ? rc : read_needs(r, at, "after", false, step);
	rc = rc ? rc : read_facts(r, at, step);
	rc = rc ? rc : stack_get_word(r, at, "gives", &step->gives);
	rc = rc ? rc : stack_get_word(r, at, "takes", &step->takes);
	rc = rc ? rc : stack_get_word(r, at, "upload", &step->upload);
	rc = rc ? rc : stack_get_number(r, at, "wave", INT_MAX, &step->wave);
	rc = rc ? rc : stack_get_flag(r, at, "quorum", &step->quorum);
	rc = rc ? rc : stack_get_flag(r, at, "only-verify", &step->only_verify);
	rc = rc ? rc : stack_get_number(r, at, "timeout", TIMEOUT_MAX, &step->timeout_s);
	return rc ? rc : read_script(r, at, step);
}

static int check_step(struct stack_reading *r, const struct conf *at, size_t which)
{
	struct stack_step *step = &r->s->steps[which];
	const struct stack_setting *uploaded = step->upload ? stack_setting(r->s, step->upload) : NULL;
	int rc = 0;

	if (step->upload && !uploaded)
		return unknown_setting(r, conf_get(at, "upload"), step->upload);
	if (uploaded && uploaded->type != STACK_FILE)
		return conf_fail(r->file, conf_get(at, "upload"), r->f, "the setting '%s' must have the type file",
			step->upload);
	for (size_t i = 0; step->gives && i < which; i++)
		if (r->s->steps[i].gives && strcmp(r->s->steps[i].gives, step->gives) == 0)
			return conf_fail(r->file, at, r->f, "'%s' gives '%s', which '%s' gives too", step->name,
				step->gives, r->s->steps[i].name);
	for (size_t i = 0; i < step->need_count && !rc; i++)
		rc = check_need(r, at, step, &step->needs[i]);
	return rc ? rc : check_taken(r, at, step);
}

int stack_read_steps(struct stack_reading *r, const struct conf *list)
{
	int rc = list ? conf_expect(r->file, list, CONF_LIST, r->f) : 0;

	if (!list || (!rc && list->count == 0))
		return fail_set(r->f, -EINVAL, "cannot read '%s': a stack without steps", r->file->name);
	for (size_t i = 0; i < list->count && !rc; i++)
		rc = read_step(r, &list->items[i]);
	for (size_t i = 0; i < list->count && !rc; i++)
		rc = check_step(r, &list->items[i], i);
	return rc;
}
