/* SPDX-License-Identifier: Apache-2.0 */
/* Gets whose remote path is a pattern, from a real sftp-server. */
#include "copyway.h"

enum { GLOB = PSSH_COPY_GLOB };

static bool holds(const char *dir, const char *files)
{
	char line[1200];

	snprintf(line, sizeof line, "test \"$(cd '%s' && find . -type f | LC_ALL=C sort | paste -sd ' ')\" = '%s'", dir,
		files);
	return shell(line);
}

static void test_matches(void)
{
	struct way w = { .chunk = 700 };
	struct fail f;

	shell("mkdir -p log/a log/b .h/x; echo 1 >log/1.log; echo 2 >log/2.log; echo 3 >log/3.txt; echo h >log/.4.log;"
	      "echo a >log/a/app; echo b >log/b/other; echo b >log/b/app2; ln -s a log/c; ln -s nowhere log/5.log");
	shell("rm log/5.log");
	is_int(get(&w, "log/*.log", at("out"), GLOB, &f), 0, "a pattern %s", f.text);
	ok(holds("out", "./1.log ./2.log"), "gets what matches, without hidden files");
	is_int(get(&w, "lo[gk]/[!1].t?t", at("out2/"), GLOB, &f), 0, "brackets and questions %s", f.text);
	ok(holds("out2", "./3.txt"), "as a shell knows them");
	is_int(get(&w, "*/b/*2", at("out3"), GLOB, &f), 0, "several parts, from the home directory %s", f.text);
	ok(holds("out3", "./app2"), "match together");
	is_int(get(&w, at("l*/a/app"), at("out3"), GLOB, &f), 0, "an absolute path, a plain last part %s", f.text);
	ok(holds("out3", "./app ./app2"), "too");
	is_int(get(&w, "log/*", at("out4"), GLOB | PSSH_COPY_RECURSIVE, &f), 0, "directories %s", f.text);
	ok(holds("out4", "./1.log ./2.log ./3.txt ./a/app ./b/app2 ./b/other ./c/app"), "come with everything in them");
	is_int(get(&w, "log/*", at("out5"), GLOB, &f), PSSH_EREMOTE, "without being asked for: %s", f.text);
	ok(holds("out5", "./1.log ./2.log ./3.txt"), "the files come");
	is_int(get(&w, "log/*/*", at("out6"), GLOB, &f), PSSH_EREMOTE, "two of one name");
	has_str(f.text, "would both become 'app'", "are told: %s", f.text);
	ok(!shell("test -e out6"), "before anything is got");
	ok(no_parts(), "no temporary file is left");
	shell("rm -rf out*");
}

static void test_misses(void)
{
	struct way w = { 0 };
	struct fail f;

	is_int(get(&w, "log/*.none", at("out"), GLOB, &f), PSSH_ENOENT, "nothing matches");
	has_str(f.text, "no file on the host matches 'log/*.none'", "is told");
	is_int(get(&w, "absent/*", at("out"), GLOB, &f), PSSH_ENOENT, "a directory that is not there");
	has_str(f.text, "cannot list 'absent/' on the host: no such file", "is told: %s", f.text);
	ok(!shell("test -e out"), "nothing is made");
	is_int(get(&w, "log/*.log", at("out"), 0, &f), PSSH_ENOENT, "without the flag it is a name like others");
	shell("echo star >'log/*.log'; echo back >'log/a\\b'; printf x >'log/new\nline'");
	is_int(get(&w, "log/\\*.log", at("out/"), GLOB, &f), 0, "a backslash quotes %s", f.text);
	ok(holds("out", "./*.log"), "a wildcard");
	is_int(get(&w, "log/a\\b", at("out2"), GLOB, &f), 0, "a path without wildcards %s", f.text);
	ok(shell("grep -q back out2"), "is as it is written");
	is_int(get(&w, "log/new*", at("out3/"), GLOB, &f), 0, "a name with a newline %s", f.text);
	ok(shell("cmp -s 'log/new\nline' 'out3/new\nline'"), "arrives under it");
	w = (struct way){ .kill_after = 1 };
	shell("mkdir many; i=0; while [ $i -lt 300 ]; do echo $i >many/f$i; i=$((i+1)); done; echo x >out4");
	is_int(get(&w, "many/*", at("out5"), GLOB, &f), PSSH_ECLOSED, "a server that dies on the way");
	w = (struct way){ 0 };
	is_int(get(&w, "many/*", at("out5"), GLOB, &f), 0, "many %s", f.text);
	ok(shell("diff -r many out5"), "are the same");
	is_int(get(&w, "many/*", at("out4"), GLOB, &f), PSSH_ELOCAL, "a file where the directory should be");
	has_str(f.text, "out4' is not a directory", "is told: %s", f.text);
	shell("rm -rf out* many log");
}

int main(void)
{
	if (!way_begin())
		return 1;
	test_matches();
	test_misses();
	return way_end();
}
