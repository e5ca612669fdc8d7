/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of host names: lib/pssh/names/hosts.c, hostrange.c and hostfold.c. */
#include <sys/stat.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "base/buf.h"
#include "base/clock.h"
#include "pssh/pssh.h"

static struct pssh_list *list_new(void)
{
	struct pssh_list *l;

	if (pssh_list_new(&l) != 0)
		abort();
	return l;
}

/* The names of a list with commas between. */
static char *joined(const struct pssh_list *l)
{
	struct buf b;

	buf_init(&b, 1 << 28);
	for (size_t i = 0; i < pssh_list_count(l); i++)
		buf_addf(&b, "%s%s", i ? "," : "", pssh_list_get(l, i));
	return buf_steal(&b);
}

static void expands(const char *text, const char *want)
{
	struct pssh_list *l = list_new();
	int rc = pssh_list_add(l, text);
	char *got = joined(l);

	is_str(rc ? pssh_list_error(l) : got, want, "'%.60s'", text);
	free(got);
	pssh_list_free(l);
}

static void folds(const char *text, const char *want)
{
	struct pssh_list *l = list_new();
	char *got = NULL;

	if (pssh_list_add(l, text) != 0 || pssh_list_fold(l, &got) != 0)
		got = strdup(pssh_list_error(l));
	is_str(got, want, "'%.60s' folds", text);
	free(got);
	pssh_list_free(l);
}

static void refuses(const char *text, int code, const char *part)
{
	struct pssh_list *l = list_new();

	pssh_list_add(l, "was,here");
	is_int(pssh_list_add(l, text), code, "refuses '%.60s'", text);
	has_str(pssh_list_error(l), part, "and says why: %.120s", pssh_list_error(l));
	is_int(pssh_list_count(l), 2, "and changes nothing");
	pssh_list_free(l);
}

static void test_expand(void)
{
	expands("", "");
	expands(" , ,\n", "");
	expands("a", "a");
	expands("a,b c\td\ne,,f", "a,b,c,d,e,f");
	expands("n[1-3]", "n1,n2,n3");
	expands("n[08-11]", "n08,n09,n10,n11");
	expands("n[098-101]x", "n098x,n099x,n100x,n101x");
	expands("n[98-101]", "n98,n99,n100,n101");
	expands("n[0-2]", "n0,n1,n2");
	expands("n[00-02]", "n00,n01,n02");
	expands("n[01-03,7,010]", "n01,n02,n03,n7,n010");
	expands("n[ 1-2 , 5 ]", "n1,n2,n5");
	expands("n[1 - 3 , 5]", "n1,n2,n3,n5");
	expands("n[1 - 9 / 4]", "n1,n5,n9");
	expands("n[1-9/4]", "n1,n5,n9");
	expands("r[1-2]n[1-3]", "r1n1,r1n2,r1n3,r2n1,r2n2,r2n3");
	expands("[1-2][3-4]", "13,14,23,24");
	expands("b,a,b,a", "b,a");
	expands("user@h[1-2]:2222", "user@h1:2222,user@h2:2222");
	expands("[::1]:22", "[::1]:22");
	expands("root@[fe80::1%eth0]:22,x", "root@[fe80::1%eth0]:22,x");
	expands("::1", "::1");
	expands("ssh://u@h:22", "ssh://u@h:22");
	expands("ssh://u@[::1]:22,ssh://u@h[1-2]", "ssh://u@[::1]:22,ssh://u@h1,ssh://u@h2");
	expands("ssh://u@h:22/", "ssh://u@h:22/");
	expands("DOM\\joe@h", "DOM\\joe@h");
	expands("10.0.0.[1-3]", "10.0.0.1,10.0.0.2,10.0.0.3");
	expands("x[1-9]!x[3,5]", "x1,x2,x4,x6,x7,x8,x9");
	expands("x[1-4]!x1!x2,x2", "x3,x4,x2");
	expands("x[1-4],-x[2-3]", "x1,x4");
	expands("-x2,x[1-3]", "x1,x3");
	expands("x[1-3] !x2", "x1,x3");
	expands("a-b-c,a-1", "a-b-c,a-1");
	expands("n[000000000000000001-000000000000000002]", "n000000000000000001,n000000000000000002");
}

static void test_refused(void)
{
	refuses("n[", PSSH_ESYNTAX, "position 2: ']' is missing");
	refuses("ok,n[1-", PSSH_ESYNTAX, "position 5");
	refuses("n]", PSSH_ESYNTAX, "cannot have ']'");
	refuses("n[]", PSSH_ESYNTAX, "a number expected");
	refuses("n[1-]", PSSH_ESYNTAX, "after '-'");
	refuses("n[,]", PSSH_ESYNTAX, "a number expected");
	refuses("n[1,]", PSSH_ESYNTAX, "a number expected");
	refuses("n[a-c]", PSSH_ESYNTAX, "position 3: a number expected");
	refuses("n[1-3x]", PSSH_ESYNTAX, "'x' in a range");
	refuses("n[5-1]", PSSH_ESYNTAX, "'5-1' runs backwards");
	refuses("n[010-20]", PSSH_ESYNTAX, "padded differently");
	refuses("n[1-010]", PSSH_ESYNTAX, "padded differently");
	refuses("n[1-5/0]", PSSH_ESYNTAX, "a step of 1");
	refuses("n[1-[2-3]]", PSSH_ESYNTAX, "after '-'");
	refuses("n[1-99999999999]", PSSH_EINVAL, "1,000,000");
	refuses("n[1-9999999999999999999999]", PSSH_ESYNTAX, "18 digits");
	refuses("r[1-1001]n[1-1000]", PSSH_EINVAL, "1,000,000");
	refuses("n[1-999999]", PSSH_EINVAL, "1,000,000 names in one list");
	refuses("[1-99999][1-99999][1-99999][1-99999][1-99999]", PSSH_EINVAL, "1,000,000");
	refuses("[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]", PSSH_ESYNTAX, "too many brackets");
	refuses("a*", PSSH_ESYNTAX, "cannot have '*'");
	refuses("a;rm", PSSH_ESYNTAX, "cannot have ';'");
	refuses("a\001", PSSH_ESYNTAX, "control character");
	refuses("-", PSSH_ESYNTAX, "a name expected");
	refuses("--help", PSSH_ESYNTAX, "cannot begin with '-'");
	refuses("a!", PSSH_ESYNTAX, "a name expected");
	refuses("!", PSSH_ESYNTAX, "a name expected");
	refuses("n[1 2]", PSSH_ESYNTAX, "'2' in a range");
	refuses("/0$/", PSSH_ESYNTAX, "position 1: a name cannot have '/'");
	refuses("foo[0-20],/[1-9]$/", PSSH_ESYNTAX, "position 11: a name cannot have '/'");
	refuses("foo[0-20],-/[1-9]$/", PSSH_ESYNTAX, "a name cannot have '/'");
	refuses("a/b", PSSH_ESYNTAX, "cannot have '/'");
	refuses("root@n$", PSSH_ESYNTAX, "cannot have '$'");
	refuses("~root", PSSH_ESYNTAX, "cannot have '~'");
	refuses("n\\1", PSSH_ESYNTAX, "cannot have '\\'");
	refuses("n[1-2]#1", PSSH_ESYNTAX, "cannot have '#'");
	refuses("ssh://h/a", PSSH_ESYNTAX, "cannot have '/'");
	refuses("[::1$]:22", PSSH_ESYNTAX, "cannot have '$'");
	refuses("^list", PSSH_ESYNTAX, "cannot have '^'");
	refuses("@all", PSSH_ENOENT, "no groups are configured");
}

static void test_large(void)
{
	struct pssh_list *l = list_new();
	int64_t began = clock_ms();

	is_int(pssh_list_add(l, "n[1-1000000]"), 0, "a million names");
	is_int(pssh_list_count(l), 1000000, "are all there");
	is_str(pssh_list_get(l, 999999), "n1000000", "to the last");
	ok(!pssh_list_get(l, 1000000), "and no further");
	is_int(pssh_list_add(l, "n[1-1000000]"), 0, "the same again is nothing new");
	is_int(pssh_list_add(l, "m"), PSSH_EINVAL, "one more is too many");
	is_int(pssh_list_drop(l, "n[2-1000000/2]"), 0, "half of them go");
	is_int(pssh_list_count(l), 500000, "and half stay");
	diag("%d ms", (int)(clock_ms() - began));
	pssh_list_free(l);
}

static void test_drop(void)
{
	struct pssh_list *l = list_new();
	char *got;

	pssh_list_add(l, "a,n[1-5],b");
	is_int(pssh_list_drop(l, "n[2-3],zzz"), 0, "drops");
	got = joined(l);
	is_str(got, "a,n1,n4,n5,b", "what is there");
	free(got);
	is_int(pssh_list_drop(l, "n["), PSSH_ESYNTAX, "refuses what it cannot read");
	is_int(pssh_list_add(l, "n2,-b"), 0, "an added text can take away too");
	got = joined(l);
	is_str(got, "a,n1,n4,n5,n2", "and a dropped name may come back, at the end");
	free(got);
	pssh_list_free(l);
}

/* ---- Groups ---------------------------------------------------------------------------- */

static int resolve(void *arg, const char *group, struct pssh_list *into)
{
	++*(int *)arg;
	if (strcmp(group, "web") == 0)
		return pssh_list_add(into, "w[1-3]");
	if (strcmp(group, "all") == 0)
		return pssh_list_add(into, "@web,db1");
	if (strcmp(group, "loop") == 0)
		return pssh_list_add(into, "@back");
	if (strcmp(group, "back") == 0)
		return pssh_list_add(into, "x,@loop");
	if (strcmp(group, "broken") == 0)
		return pssh_list_add(into, "n[5-1]");
	if (strncmp(group, "rack", 4) == 0)
		return pssh_list_add(into, group);
	if (strncmp(group, "deep", 4) == 0) {
		long level = strtol(group + 4, NULL, 10);
		char next[64];

		snprintf(next, sizeof next, "@deep%ld,@deep%ldx", level + 1, level + 1);
		return pssh_list_add(into, next);
	}
	return PSSH_ENOENT;
}

static void grouped(const char *text, int code, const char *want)
{
	struct pssh_list *l = list_new();
	int asked = 0, rc;
	char *got;

	pssh_list_set_resolver(l, resolve, &asked);
	rc = pssh_list_add(l, text);
	got = joined(l);
	is_int(rc, code, "'%s'", text);
	if (rc)
		has_str(pssh_list_error(l), want, "says why: %s", pssh_list_error(l));
	else
		is_str(got, want, "gives the members");
	ok(asked > 0, "the resolver was asked");
	free(got);
	pssh_list_free(l);
}

static void test_groups(void)
{
	grouped("@web", 0, "w1,w2,w3");
	grouped("a,@all,b", 0, "a,w1,w2,w3,db1,b");
	grouped("@all!@web", 0, "db1");
	grouped("@all,-@web", 0, "db1");
	grouped("@rack[1-3]", 0, "rack1,rack2,rack3");
	grouped("@nope", PSSH_ENOENT, "there is no group '@nope'");
	grouped("a,@loop", PSSH_EINVAL, "'@loop' contains itself");
	grouped("@broken", PSSH_ESYNTAX, "group '@broken': cannot use 'n[5-1]'");
	grouped("@deep1", PSSH_EINVAL, "32 deep");
}

/* ---- Files ----------------------------------------------------------------------------- */

static void test_files(void)
{
	char path[] = "/tmp/nanopod-hosts-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = "# all\nn[1-2] n3,n4 # more\r\n\n  user@x:22\n-n2\nlast";
	struct pssh_list *l = list_new();
	char *got;

	if (fd < 0 || write(fd, text, sizeof text - 1) < 0)
		abort();
	is_int(pssh_list_add_file(l, path), 0, "a file");
	got = joined(l);
	is_str(got, "n1,n3,n4,user@x:22,last", "names, comments, exclusions");
	free(got);
	if (dup2(fd, 0) != 0 || lseek(0, 0, SEEK_SET) != 0)
		abort();
	pssh_list_drop(l, "n1,last");
	is_int(pssh_list_add_file(l, "-"), 0, "standard input");
	is_int(pssh_list_count(l), 5, "gives the same");
	if (lseek(fd, 0, SEEK_END) < 0 || write(fd, "\nbad[\n", 6) != 6)
		abort();
	is_int(pssh_list_add_file(l, path), PSSH_ESYNTAX, "a bad line");
	has_str(pssh_list_error(l), "line 7, position 4", "is named: %s", pssh_list_error(l));
	if (ftruncate(fd, 0) != 0 || pwrite(fd, "a\nb\0c\n", 6, 0) != 6)
		abort();
	is_int(pssh_list_add_file(l, path), PSSH_ESYNTAX, "a NUL byte");
	has_str(pssh_list_error(l), "line 2", "is found: %s", pssh_list_error(l));
	unlink(path);
	is_int(pssh_list_add_file(l, path), PSSH_ENOENT, "a missing file");
	is_int(pssh_list_add_file(l, "/"), PSSH_ELOCAL, "a folder");
	is_int(pssh_list_count(l), 5, "none of which changes the list");
	close(fd);
	pssh_list_free(l);
}

static void include_write(const char *dir, const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f) != 0)
		abort();
}

/* pdsh's files may name others. */
static void test_includes(void)
{
	static const char *const names[] = { "a", "b", "sub/c", "circle", "missing", "two", "many" };
	char dir[] = "/tmp/nanopod-hosts-XXXXXX", path[200];
	struct pssh_list *l = list_new();
	char *got;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof path, "%s/sub", dir);
	if (mkdir(path, 0700) != 0)
		abort();
	include_write(dir, "a", "n1\n#include b\n # include nothing\n#includes nothing\nn9\n");
	include_write(dir, "b", "n2\n  #include  sub/c  \r\n");
	include_write(dir, "sub/c", "n3 # a\n-n9\n");
	include_write(dir, "circle", "#include circle\n");
	include_write(dir, "missing", "n1\n#include nowhere\n");
	include_write(dir, "two", "#include a b\n");
	include_write(dir, "many", "#include b\n#include many\n#include many\n");
	snprintf(path, sizeof path, "%s/a", dir);
	is_int(pssh_list_add_file(l, path), 0, "a file that includes others");
	got = joined(l);
	is_str(got, "n1,n2,n3", "has their names, and their exclusions count in the whole");
	free(got);
	snprintf(path, sizeof path, "%s/circle", dir);
	is_int(pssh_list_add_file(l, path), PSSH_EINVAL, "a circle");
	has_str(pssh_list_error(l), "16 deep", "is one: %s", pssh_list_error(l));
	snprintf(path, sizeof path, "%s/many", dir);
	is_int(pssh_list_add_file(l, path), PSSH_EINVAL, "a circle that doubles");
	snprintf(path, sizeof path, "%s/missing", dir);
	is_int(pssh_list_add_file(l, path), PSSH_ENOENT, "a file that is not there");
	has_str(pssh_list_error(l), "line 2", "is named with its line: %s", pssh_list_error(l));
	has_str(pssh_list_error(l), "/nowhere'", "and with its path");
	snprintf(path, sizeof path, "%s/two", dir);
	is_int(pssh_list_add_file(l, path), PSSH_ESYNTAX, "two names");
	is_int(pssh_list_count(l), 3, "none of which changes the list");
	pssh_list_free(l);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof path, "%s/sub", dir);
	rmdir(path);
	rmdir(dir);
}

/* ---- Folding --------------------------------------------------------------------------- */

static void test_fold(void)
{
	folds("", "");
	folds("a", "a");
	folds("n1", "n1");
	folds("n1,n2", "n[1-2]");
	folds("n3,n1,n2,n7", "n[1-3,7]");
	folds("n[08-11]", "n[08-11]");
	folds("n[01-100]", "n[01-100]");
	folds("n[1-9],n010", "n[1-9,010]");
	folds("n1,n01", "n[1,01]");
	folds("b,a2,a1", "b,a[1-2]");
	folds("r[1-4]n[1-16]", "r[1-4]n[1-16]");
	folds("r[1-4]n[1-16]!r2n3", "r[1,3-4]n3,r[1-4]n[1-2,4-16]");
	folds("r[01-02]c[1-2]n[1-3].dc1", "r[01-02]c[1-2]n[1-3].dc1");
	folds("10.0.[0-3].[1-254]", "10.0.[0-3].[1-254]");
	folds("user@h1:2222,user@h2:2222", "user@h[1-2]:2222");
	folds("h1:22,h1:23", "h1:22,h1:23");
	folds("u1@h,u2@h", "u1@h,u2@h");
	folds("[::1]:22,[::2]:22", "[::1]:22,[::2]:22");
	folds("fe80::1,fe80::2", "fe80::1,fe80::2");
	folds("ssh://u@h1:22,ssh://u@h2:22", "ssh://u@h[1-2]:22");
	folds("n1-x,n2-x,n1-y", "n[1-2]-x,n1-y");
	folds("n1234567890123456789,n1234567890123456790", "n1234567890123456789,n1234567890123456790");
	folds("a1b1,a2b2", "a1b1,a2b2");
	/* A number of another family, which shows no padding there. */
	folds("c10,n[08-10]", "c10,n[08-10]");
	/* Those of more digits read the same padded or not. */
	folds("n[85-99,000,100-115]", "n[85-115,000]");
	folds("n[8-9,000,10-99,100-115,0010,1000-1003]", "n[8-115,000,0010,1000-1003]");
	folds("n[01-12,100-999,1000-1002]", "n[01-12,100-1002]");
	folds("n[0-1,010]", "n[0-1,010]");
	folds("n[7884-7888],c[0040,7883-7886]", "n[7884-7888],c[0040,7883-7886]");
}

static unsigned seed = 12345;

static unsigned dice(unsigned n)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % n;
}

static void random_name(char *to, size_t size)
{
	static const char *const forms[] = {
		"n%u", "n%02u", "n%03u", "r%un%u", "r%02un%u", "%u.%u.0.%u", "u%u@h%u:%u", "a%ub%02uc%u", "[::%u]:%u",
		"ssh://x@h%u:%u/", "x%u-%u-%u-%u-%u", "%u", "%u%%a%u",
	};
	const char *form = forms[dice(sizeof forms / sizeof *forms)];
	unsigned most = dice(4) ? 6 : 120;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(to, size, form, dice(most), dice(most), dice(most), dice(most), dice(most));
#pragma GCC diagnostic pop
}

/* Whether expand(fold(l)) has exactly the names of l. */
static bool round_trip(const struct pssh_list *l, char **folded)
{
	struct pssh_list *again = list_new();
	size_t count = pssh_list_count(l);
	bool good = pssh_list_fold(l, folded) == 0 && pssh_list_add(again, *folded) == 0 &&
		pssh_list_count(again) == count;

	for (size_t i = 0; good && i < count; i++) {
		size_t before = pssh_list_count(again);

		good = pssh_list_add(again, pssh_list_get(l, i)) == 0 && pssh_list_count(again) == before;
	}
	pssh_list_free(again);
	return good;
}

static void test_property(void)
{
	int bad = 0, longer = 0;

	for (int round = 0; round < 600; round++) {
		struct pssh_list *l = list_new();
		char name[128], *folded = NULL, *plain;

		for (unsigned i = dice(60); i; i--) {
			random_name(name, sizeof name);
			pssh_list_add(l, name);
		}
		if (!round_trip(l, &folded)) {
			plain = joined(l);
			diag("'%s' folds to '%s'", plain, folded ? folded : "(nothing)");
			free(plain);
			bad++;
		}
		plain = joined(l);
		longer += folded && strlen(folded) > strlen(plain) + pssh_list_count(l);
		free(plain);
		free(folded);
		pssh_list_free(l);
	}
	is_int(bad, 0, "600 random lists: expand(fold(list)) is the list");
	is_int(longer, 0, "and none is longer than its names by more than a byte each");
}

static void fold_speed(const char *text, size_t names, const char *want)
{
	struct pssh_list *l = list_new();
	char *folded = NULL;
	int ms;

	pssh_list_add(l, text);
	is_int(pssh_list_count(l), names, "'%s'", text);
	ms = tap_cpu_ms();
	pssh_list_fold(l, &folded);
	ms = tap_cpu_ms() - ms;
	if (want)
		is_str(folded, want, "folds back");
	ok(ms < 5000, "in %d ms of a processor", ms);
	free(folded);
	pssh_list_free(l);
}

int main(void)
{
	plan_none;
	test_expand();
	test_refused();
	test_large();
	test_drop();
	test_groups();
	test_files();
	test_includes();
	test_fold();
	test_property();
	fold_speed("n[1-100000]", 100000, "n[1-100000]");
	fold_speed("r[1-100]n[1-1000]", 100000, "r[1-100]n[1-1000]");
	fold_speed("n[1-199999/2]", 100000, NULL);
	fold_speed("a[1-10]b[1-10]c[1-10]d[1-100]", 100000, "a[1-10]b[1-10]c[1-10]d[1-100]");
	return done();
}
