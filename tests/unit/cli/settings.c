/* SPDX-License-Identifier: Apache-2.0 */
/* Which source of a setting wins, whom is believed, and what is said about the rest. */
#include "../../lib/tap.h"

#include <sys/stat.h>
#include <unistd.h>

#include "cli/frame/settings.h"

static char home[256], own_file[512];

static void write_file(const char *path, mode_t mode, const char *text)
{
	FILE *f = fopen(path, "w");

	if (!f || fputs(text, f) < 0 || fclose(f) || chmod(path, mode)) {
		perror(path);
		exit(99);
	}
}

static struct settings *load(const char *file, const char *profile, struct fail *f)
{
	struct settings *s = NULL;

	if (settings_new(&s))
		exit(99);
	if (settings_load(s, file, profile, f)) {
		settings_free(s);
		return NULL;
	}
	return s;
}

static void order(void)
{
	struct settings *s = load(NULL, NULL, NULL);
	struct fail f = { 0 };

	is_int(settings_int(s, SETTING_ID_FANOUT), 128, "a default");
	is_int(settings_layer(s, SETTING_ID_FANOUT), LAYER_DEFAULT, "comes from there");
	ok(!settings_text(s, SETTING_ID_USER) && settings_int(s, SETTING_ID_PORT) == 0, "what has none is not set");
	settings_free(s);

	write_file(own_file, 0600,
		"fanout: 1\nuser: me\ntimeout: 1.5h\nidentity: [~/a, /b]\ngroups: {web: 'n[1-4]', gpu: [g1, g2]}\n"
		"profiles:\n  prod: {user: ops, fanout: 7}\n  other: {fanot: 1}\n");
	s = load(NULL, NULL, &f);
	is_int(settings_int(s, SETTING_ID_FANOUT), 1, "a person's file is over the default");
	is_int(settings_ms(s, SETTING_ID_TIMEOUT), 5400000, "a duration");
	is_int((intmax_t)settings_count(s, SETTING_ID_IDENTITY), 2, "a list");
	ok(settings_item(s, SETTING_ID_IDENTITY, 0)[0] == '/', "~ is the home directory");
	is_str(settings_group(s, "gpu"), "g1,g2", "a group of a list");
	is_str(settings_group(s, "web"), "n[1-4]", "a group of a text");
	ok(!settings_group(s, "nobody"), "no other group");
	has_str(settings_where(s, SETTING_ID_FANOUT), "config.yaml:1", "with file and line");

	write_file(".nanopod.yaml", 0644,
		"fanout: 2\nssh-config: /tmp/evil\nhost-key: accept-new\ngroups: {web: w1}\n");
	settings_free(s);
	s = load(NULL, NULL, &f);
	is_int(settings_int(s, SETTING_ID_FANOUT), 2, "a directory's file is over the person's");
	lacks_str(settings_text(s, SETTING_ID_SSH_CONFIG), "evil", "but may not choose the ssh_config");
	is_str(settings_text(s, SETTING_ID_HOST_KEY), "ask", "nor weaken the check of host keys");
	has_str(settings_warning(s, 0), "'ssh-config' in .nanopod.yaml:2 is ignored", "which is said");
	is_str(settings_group(s, "web"), "w1", "its groups count");

	setenv("NANOPOD_FANOUT", "3", 1);
	setenv("NANOPOD_IDENTITY", "x,y,z", 1);
	settings_free(s);
	s = load(NULL, NULL, &f);
	is_int(settings_int(s, SETTING_ID_FANOUT), 3, "the environment is over files");
	is_str(settings_where(s, SETTING_ID_FANOUT), "NANOPOD_FANOUT", "by its variable");
	is_int((intmax_t)settings_count(s, SETTING_ID_IDENTITY), 3, "a list in the environment");

	is_int(settings_set(s, SETTING_ID_FANOUT, LAYER_FLAG, "4", "--fanout", &f), 0, "a flag");
	is_int(settings_set(s, SETTING_ID_IDENTITY, LAYER_FLAG, "k1", "--identity", &f), 0, "a flag of a list");
	is_int(settings_set(s, SETTING_ID_IDENTITY, LAYER_FLAG, "k2", "--identity", &f), 0, "again");
	is_int(settings_int(s, SETTING_ID_FANOUT), 4, "a flag is over all");
	is_int((intmax_t)settings_count(s, SETTING_ID_IDENTITY), 2, "a flag's list replaces the others'");
	settings_clear(s, LAYER_FLAG);
	is_int(settings_int(s, SETTING_ID_FANOUT), 3, "and gone again");
	settings_free(s);
	unsetenv("NANOPOD_FANOUT");
	unsetenv("NANOPOD_IDENTITY");
	unlink(".nanopod.yaml");
}

static void profiles(void)
{
	struct fail f = { 0 };
	struct settings *s = load(NULL, "prod", &f);

	is_str(settings_text(s, SETTING_ID_USER), "ops", "a profile's value");
	is_int(settings_int(s, SETTING_ID_FANOUT), 7, "is over the same file's");
	is_str(settings_profile(s), "prod", "its name is known");
	is_str(settings_profile_name(s, 1), "other", "and the other's");
	settings_free(s);
	ok(!load(NULL, "prdo", &f), "an unknown profile is refused");
	is_str(f.text, "cannot use profile 'prdo': no settings file has it (did you mean 'prod'?)", "with the nearest");
	ok(!load(NULL, "other", &f), "a mistake in the profile in force is told");
	has_str(f.text, "unknown setting 'fanot'; did you mean 'fanout'?", "with its place");
	setenv("NANOPOD_PROFILE", "prod", 1);
	s = load(NULL, NULL, &f);
	is_str(settings_profile(s), "prod", "the environment may choose it");
	settings_free(s);
	unsetenv("NANOPOD_PROFILE");
}

static void refused(void)
{
	static const struct { const char *text, *why;
	} cases[] = {
		{ "fanout: 0\n", "line 1, column 1: cannot set 'fanout': '0' is not between 1 and 65536" },
		{ "timeout: 90\n", "'90' has no unit" },
		{ "fanot: 1\n", "unknown setting 'fanot'; did you mean 'fanout'?" },
		{ "fanout: [1, 2]\n", "expected a text, not a list" },
		{ "user: -oProxyCommand=x\n", "begins with '-'" },
		{ "user: \"a\\eb\"\n", "a control character" },
		{ "groups: [a]\n", "expected 'name: value' lines, not a list" },
		{ "groups: {'a b': n1}\n", "is not a group name" },
		{ "host-key: never\n", "is not one of ask|strict|accept-new" },
		{ "profiles: {p: 3}\n", "expected 'name: value' lines, not a text" },
	};
	struct fail f = { 0 };

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_file(own_file, 0600, cases[i].text);
		ok(!load(NULL, NULL, &f), "case %zu is refused", i);
		has_str(f.text, cases[i].why, "case %zu is explained", i);
	}
	write_file(own_file, 0620, "fanout: 1\n");
	ok(!load(NULL, NULL, &f), "a file that the group may write is refused");
	has_str(f.text, "'chmod 600", "with what mends it");
	write_file(own_file, 0600, "fanout: 1\n");
	ok(!load("/nonexistent", NULL, &f), "--config of a file that is not there is refused");
	ok(!load("/dev/null", NULL, &f), "and so is what is no file");
	setenv("NANOPOD_TIMEOUT", "soon", 1);
	ok(!load(NULL, NULL, &f), "a mistake in the environment is refused");
	has_str(f.text, "cannot set 'timeout' by NANOPOD_TIMEOUT: 'soon'", "by its name");
	unsetenv("NANOPOD_TIMEOUT");
}

static void directory(void)
{
	struct fail f = { 0 };
	struct settings *s;

	write_file(".nanopod.yaml", 0666, "fanout: 9\n");
	s = load(NULL, NULL, &f);
	is_int(settings_int(s, SETTING_ID_FANOUT), 1, "a directory's file that everybody may write is ignored");
	has_str(settings_warning(s, 0), "everybody may write it", "which is said");
	settings_free(s);
	chmod(".nanopod.yaml", 0644);
	if (geteuid() == 0 && chown(".nanopod.yaml", 12345, 12345) == 0) {
		s = load(NULL, NULL, &f);
		is_int(settings_int(s, SETTING_ID_FANOUT), 1, "a directory's file of somebody else is ignored");
		settings_free(s);
		ok(chown(own_file, 12345, 12345) == 0 && !load(NULL, NULL, &f),
			"a person's file of somebody else is refused");
		has_str(f.text, "belongs to another user", "and it says so");
	} else {
		skip("only root can give files away");
	}
	unlink(".nanopod.yaml");
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[400];

	plan_none;
	snprintf(home, sizeof home, "%s/nanopod-settings.XXXXXX", tmp && *tmp && strlen(tmp) < 150 ? tmp : "/tmp");
	if (!mkdtemp(home) || chdir(home))
		return 99;
	setenv("HOME", home, 1);
	setenv("XDG_CONFIG_HOME", home, 1);
	for (int i = 0; i < SETTING_IDS; i++) {
		settings_env((enum setting)i, path, sizeof path);
		unsetenv(path);
	}
	unsetenv("NANOPOD_PROFILE");
	unsetenv("NANOPOD_CONFIG");
	snprintf(path, sizeof path, "%s/nanopod", home);
	snprintf(own_file, sizeof own_file, "%s/nanopod/config.yaml", home);
	if (mkdir(path, 0700))
		return 99;
	order();
	profiles();
	refused();
	directory();
	unlink(own_file);
	rmdir(path);
	return chdir("/") || rmdir(home) ? 99 : done();
}
