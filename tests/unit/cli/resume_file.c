/* SPDX-License-Identifier: Apache-2.0 */
/* A resume file survives whatever happens to its command, and only one later command finds it. */
#include "../../lib/tap.h"
#include "../../lib/tool.h"

#include "cli/trade/resume_file.h"

static size_t seen;

static bool count(void *arg, const struct resume_file *i)
{
	(void)arg;
	(void)i;
	seen++;
	return true;
}

static size_t each(const char *prefix)
{
	seen = 0;
	resume_file_each(prefix, count, NULL);
	return seen;
}

static void life(void)
{
	struct resume_file *i = NULL, *found = NULL;
	char one[RESUME_FILE_KEY], two[RESUME_FILE_KEY];
	struct fail f = { 0 };
	struct stat st;

	is_int(resume_file_find("buy\na", &found, &f), 0, "nothing is there yet: no failure");
	ok(!found, "and nothing is found");
	is_int(resume_file_new("buy\na \\ b", "nanopod buy", 1234, &i, &f), 0, "made %s", f.text);
	is_int(resume_file_set(i, "body", "{\"a\":\"\\n\"}\nsecond", &f), 0, "a value with all that is hard to write");
	is_int(resume_file_set(i, "order", "one", &f), 0, "a value");
	is_int(resume_file_set(i, "order", "two", &f), 0, "and another one instead");
	snprintf(one, sizeof one, "%s", resume_file_key(i, "order", two));
	is_int(resume_file_find("buy\na \\ b", &found, &f), 0, "while its command lives");
	ok(!found, "it is not found: it is somebody's own");
	is_int(each("buy"), 0, "nor listed");
	resume_file_free(i);

	is_int(resume_file_find("buy\nother", &found, &f), 0, "another command");
	ok(!found, "does not find it");
	is_int(resume_file_find("buy\na \\ b", &found, &f), 0, "the same command, once that is gone,");
	if (!ok(found != NULL, "finds it"))
		return;
	is_str(resume_file_get(found, "body"), "{\"a\":\"\\n\"}\nsecond", "values come back as they were");
	is_str(resume_file_get(found, "order"), "two", "the later one counts");
	ok(!resume_file_get(found, "nothing"), "and what was never said is not there");
	is_str(resume_file_key(found, "order", two), one, "the key of a step is the same as before");
	ok(strcmp(resume_file_key(found, "pool", two), one) != 0, "and another one for another step");
	is_int(resume_file_begun(found), 1234, "when it began is known");
	is_str(resume_file_command(found), "nanopod buy", "and what was typed");
	ok(stat(".local/state/nanopod/intents", &st) == 0 && (st.st_mode & 0777) == 0700,
		"the folder is the person's alone");
	is_int(resume_file_end(found, &f), 0, "ended");
	is_int(resume_file_find("buy\na \\ b", &found, &f), 0, "then");
	ok(!found, "it is gone");
}

static void torn(void)
{
	struct resume_file *i = NULL, *found = NULL;
	struct fail f = { 0 };
	char command[512];

	resume_file_new("buy\ntorn", "x", 5, &i, &f);
	resume_file_set(i, "pool", "pool_1", &f);
	resume_file_free(i);
	/* A crash in the middle of a write. */
	snprintf(command, sizeof command,
		"f=$(ls -d .local/state/nanopod/intents/*); printf 'order ordr_ha' >>$f; stat -c %%a $f >mode");
	tool_run("sh", "-c", command);
	resume_file_find("buy\ntorn", &found, &f);
	if (!ok(found != NULL, "a torn file is found"))
		return;
	is_str(resume_file_get(found, "pool"), "pool_1", "what was whole is there");
	ok(!resume_file_get(found, "order"), "what was torn is not");
	resume_file_set(found, "order", "ordr_whole", &f);
	resume_file_free(found);
	resume_file_find("buy\ntorn", &found, &f);
	ok(found && resume_file_get(found, "order") && strcmp(resume_file_get(found, "order"), "ordr_whole") == 0,
		"and it can be gone on with");
	resume_file_end(found, &f);
	tool_output(command, "cat", "mode");
	is_str(command, "600\n", "the file is the person's alone");
}

static void crowd(void)
{
	struct resume_file *a = NULL, *b = NULL, *found = NULL;
	struct fail f = { 0 };

	resume_file_new("buy\nsame", "x", 20, &a, &f);
	resume_file_new("buy\nsame", "x", 10, &b, &f);
	resume_file_new("sell\nsame", "x", 1, &found, &f);
	resume_file_free(a);
	resume_file_free(b);
	resume_file_free(found);
	is_int(each("buy\n"), 2, "the unfinished ones of a kind are listed");
	resume_file_find("buy\nsame", &found, &f);
	is_int(found ? resume_file_begun(found) : -1, 10, "the oldest is continued first");
	resume_file_find("buy\nsame", &a, &f);
	is_int(a ? resume_file_begun(a) : -1, 20, "another command beside it gets the next");
	resume_file_end(a, &f);
	resume_file_end(found, &f);
	tool_run("sh", "-c",
		"echo rubbish >.local/state/nanopod/intents/0123456789abcdef0123; "
		"mkdir .local/state/nanopod/intents/fedcba98765432100123; echo x >.local/state/nanopod/intents/README");
	is_int(resume_file_find("buy\nsame", &found, &f), 0, "rubbish in the folder");
	ok(!found, "hinders nobody");
	setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
	ok(resume_file_new("a", "x", 1, &a, &f) < 0, "where nothing can be written");
	has_str(f.text, "nothing was sent", "it is said, and nothing was sent");
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
