/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that are refused before anything is sent: two hosts at one place, a host without a file of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/tap.h"
#include "pssh/pssh.h"

static struct pssh *p;

static struct pssh_host *host(const char *spec)
{
	struct pssh_host *h = NULL;

	pssh_host(p, spec, &h);
	return h;
}

static int start_get(const char *local, const char *a, const char *b)
{
	struct pssh_task *t;
	int rc = pssh_get(p, "x", local, 0, &t);

	if (rc == 0 && (rc = pssh_task_add(t, host(a))) == 0 && (rc = pssh_task_add(t, host(b))) == 0)
		rc = pssh_task_start(t);
	pssh_task_free(t);
	return rc;
}

static void test_gets(void)
{
	struct pssh_task *t;

	is_int(start_get("dir/", "n1", "n2"), PSSH_EINVAL, "two hosts, one place");
	has_str(pssh_error(p), "write {host}", "the way out is told: %s", pssh_error(p));
	is_int(start_get("{host}", "a@n1", "b@n1:2222"), PSSH_EINVAL, "two hosts of one name");
	has_str(pssh_error(p), "'a@n1' and 'b@n1:2222'", "are told: %s", pssh_error(p));
	is_int(start_get("{host}", "n1.invalid", "n2.invalid"), 0, "two names");
	pssh_get(p, "x", "y", 0, &t);
	pssh_task_add(t, host("n1.invalid"));
	is_int(pssh_task_start(t), 0, "one host needs no {host}");
	is_int(pssh_task_add(t, host("n2.invalid")), PSSH_EINVAL, "a second one that joins does");
	pssh_task_free(t);
}

static void test_puts(const char *dir)
{
	struct pssh_task *t;
	char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/n1", dir);
	f = fopen(path, "w");
	if (f)
		fclose(f);
	snprintf(path, sizeof path, "%s/{host}", dir);
	is_int(pssh_put(p, path, "x", 0, &t), PSSH_ENOENT, "without the flag it is a name like others");
	is_int(pssh_put(p, path, "x", PSSH_COPY_PER_HOST, &t), 0, "a file for each host");
	is_int(pssh_task_add(t, host("root@n1")), 0, "this one has its file");
	is_int(pssh_task_add(t, host("n2")), PSSH_ENOENT, "this one does not");
	has_str(pssh_error(p), "/n2'", "which is told: %s", pssh_error(p));
	is_int((int)pssh_task_left(t), 1, "and is not in the task");
	pssh_task_free(t);
	snprintf(path, sizeof path, "%s/n1", dir);
	unlink(path);
}

int main(void)
{
	char dir[] = "/tmp/copytask-XXXXXX";

	if (!mkdtemp(dir) || pssh_new(&p) != 0)
		return 1;
	test_gets();
	test_puts(dir);
	rmdir(dir);
	pssh_free(p);
	return done();
}
