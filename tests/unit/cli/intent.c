/* SPDX-License-Identifier: Apache-2.0 */
/* What is about to be bought survives whatever happens to its command, and is found by the next one alone. */
#include "../../lib/tap.h"
#include "../../lib/tool.h"

#include "cli/trade/intent.h"

static size_t seen;

static bool count(void *arg, const struct intent *i)
{
	(void)arg;
	(void)i;
	seen++;
	return true;
}

static size_t each(const char *prefix)
{
	seen = 0;
	intent_each(prefix, count, NULL);
	return seen;
}

static void life(void)
{
	struct intent *i = NULL, *found = NULL;
	char one[INTENT_KEY], two[INTENT_KEY];
	struct fail f = { 0 };
	struct stat st;

	is_int(intent_find("buy\na", &found, &f), 0, "nothing is there yet: no failure");
	ok(!found, "and nothing is found");
	is_int(intent_new("buy\na \\ b", "nanopod buy", 1234, &i, &f), 0, "made %s", f.text);
	is_int(intent_set(i, "body", "{\"a\":\"\\n\"}\nsecond", &f), 0, "a value with all that is hard to write");
	is_int(intent_set(i, "order", "one", &f), 0, "a value");
	is_int(intent_set(i, "order", "two", &f), 0, "and another one instead");
	snprintf(one, sizeof one, "%s", intent_key(i, "order", two));
	is_int(intent_find("buy\na \\ b", &found, &f), 0, "while its command lives");
	ok(!found, "it is not found: it is somebody's own");
	is_int(each("buy"), 0, "nor listed");
	intent_free(i);

	is_int(intent_find("buy\nother", &found, &f), 0, "another command");
	ok(!found, "does not find it");
	is_int(intent_find("buy\na \\ b", &found, &f), 0, "the same command, once that is gone,");
	if (!ok(found != NULL, "finds it"))
		return;
	is_str(intent_get(found, "body"), "{\"a\":\"\\n\"}\nsecond", "values come back as they were");
	is_str(intent_get(found, "order"), "two", "the later one counts");
	ok(!intent_get(found, "nothing"), "and what was never said is not there");
	is_str(intent_key(found, "order", two), one, "the key of a step is the same as before");
	ok(strcmp(intent_key(found, "pool", two), one) != 0, "and another one for another step");
	is_int(intent_begun(found), 1234, "when it began is known");
	is_str(intent_command(found), "nanopod buy", "and what was typed");
	ok(stat(".local/state/nanopod/intents", &st) == 0 && (st.st_mode & 0777) == 0700,
		"the folder is the person's alone");
	is_int(intent_end(found, &f), 0, "ended");
	is_int(intent_find("buy\na \\ b", &found, &f), 0, "then");
	ok(!found, "it is gone");
}

static void torn(void)
{
	struct intent *i = NULL, *found = NULL;
	struct fail f = { 0 };
	char command[512];

	intent_new("buy\ntorn", "x", 5, &i, &f);
	intent_set(i, "pool", "pool_1", &f);
	intent_free(i);
	/* A crash in the middle of a write. */
	snprintf(command, sizeof command,
		"f=$(ls -d .local/state/nanopod/intents/*); printf 'order ordr_ha' >>$f; stat -c %%a $f >mode");
	tool_run("sh", "-c", command);
	intent_find("buy\ntorn", &found, &f);
	if (!ok(found != NULL, "a torn file is found"))
		return;
	is_str(intent_get(found, "pool"), "pool_1", "what was whole is there");
	ok(!intent_get(found, "order"), "what was torn is not");
	intent_set(found, "order", "ordr_whole", &f);
	intent_free(found);
	intent_find("buy\ntorn", &found, &f);
	ok(found && intent_get(found, "order") && strcmp(intent_get(found, "order"), "ordr_whole") == 0,
		"and it can be gone on with");
	intent_end(found, &f);
	tool_output(command, "cat", "mode");
	is_str(command, "600\n", "the file is the person's alone");
}

static void crowd(void)
{
	struct intent *a = NULL, *b = NULL, *found = NULL;
	struct fail f = { 0 };

	intent_new("buy\nsame", "x", 20, &a, &f);
	intent_new("buy\nsame", "x", 10, &b, &f);
	intent_new("sell\nsame", "x", 1, &found, &f);
	intent_free(a);
	intent_free(b);
	intent_free(found);
	is_int(each("buy\n"), 2, "the unfinished ones of a kind are listed");
	intent_find("buy\nsame", &found, &f);
	is_int(found ? intent_begun(found) : -1, 10, "the oldest is gone on with first");
	intent_find("buy\nsame", &a, &f);
	is_int(a ? intent_begun(a) : -1, 20, "another command beside it gets the next");
	intent_end(a, &f);
	intent_end(found, &f);
	tool_run("sh", "-c", "echo rubbish >.local/state/nanopod/intents/0123456789abcdef0123; "
		"mkdir .local/state/nanopod/intents/fedcba98765432100123; echo x >.local/state/nanopod/intents/README");
	is_int(intent_find("buy\nsame", &found, &f), 0, "rubbish in the folder");
	ok(!found, "hinders nobody");
	setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
	ok(intent_new("a", "x", 1, &a, &f) < 0, "where nothing can be written");
	has_str(f.text, "nothing was asked for", "it is said, and nothing was asked for");
	unsetenv("XDG_STATE_HOME");
}

int main(void)
{
	if (!tool_begin())
		return 99;
	life();
	torn();
	crowd();
	tool_end();
	return done();
}
