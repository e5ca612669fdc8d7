/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A passphrase costs seconds of processor time, and not the program's thread: it is measured by that
 * time, which a busy machine does not stretch. passphrase.t makes the keys "slow" and "slower".
 */
#include <sys/wait.h>

#include "drive.h"

static int64_t cpu_us(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* Time of this thread, and of all others. */
static int64_t own_us(void)
{
	return cpu_us(CLOCK_THREAD_CPUTIME_ID);
}

static int64_t others_us(void)
{
	return cpu_us(CLOCK_PROCESS_CPUTIME_ID) - own_us();
}

static struct pssh_host *with_key(struct drive *d, const char *name, const char *key)
{
	struct pssh_host *h = host(d, name);

	pssh_host_add_identity(h, key);
	return h;
}

static struct pssh_host *slow_host(struct drive *d, const char *name)
{
	return with_key(d, name, "slow");
}

static void start(struct drive *d)
{
	if (!drive_start(d) || pssh_read_config(d->p, "config") != 0 || pssh_set_prompts(d->p, 1) != 0)
		exit(99);
	d->hold_answers = true;
}

/* A command on these hosts, up to the question. */
static struct pssh_task *ask(struct drive *d, struct pssh_host *const *hosts, int count)
{
	struct pssh_task *t = command(d, "exit 7");
	unsigned before = d->prompts;

	for (int i = 0; i < count; i++)
		pssh_task_add(t, hosts[i]);
	pssh_task_start(t);
	drive_until(d, &d->prompts, before + 1, DRIVE_PATIENCE_MS);
	return t;
}

static int answer(struct drive *d, const char *text)
{
	return pssh_answer(d->p, d->last_prompt, text);
}

/* What the right passphrase costs, in processor time; meanwhile no call takes long. */
static int64_t check_calls(void)
{
	struct drive d;
	struct pssh_host *slow, *quick;
	struct pssh_task *t, *u;
	int64_t longest, others, began;
	bool first = false;
	const struct pssh_event *ev;

	start(&d);
	slow = with_key(&d, "n1", "slower");
	quick = with_key(&d, "n2", env("SSHD_KEY"));
	ends(once(&d, quick, "exit 3"), "exit 3", "a host is connected");
	t = ask(&d, &slow, 1);
	others = others_us();
	began = own_us();
	is_int(answer(&d, "open sesame"), 0, "a passphrase is taken");
	longest = own_us() - began;
	u = command(&d, "exit 3");
	pssh_task_add(u, quick);
	pssh_task_start(u);
	while (!drive_seen(&d, t, slow)->ends) {
		int rc;

		began = own_us();
		rc = pssh_next(d.p, &ev);
		if (own_us() - began > longest)
			longest = own_us() - began;
		if (rc == 1)
			drive_take(&d, ev);
		else
			poll(&(struct pollfd){ pssh_fd(d.p), POLLIN, 0 }, 1, pssh_timeout(d.p));
		first = first || (drive_seen(&d, u, quick)->ends && !drive_seen(&d, t, slow)->started);
	}
	others = others_us() - others;
	ends(drive_seen(&d, t, slow), "exit 7", "it opens the key, which signs in");
	ok(first, "another host's command ended while the passphrase was tried");
	diag("the passphrase: %lld ms of other threads; the longest call: %lld ms", (long long)others / 1000,
		(long long)longest / 1000);
	ok(others > 4 * longest, "no call took a quarter of what the passphrase cost");
	is_int(d.prompts, 1, "there was one question");
	drive_end(&d, "calls");
	return others;
}

static void check_wrong(void)
{
	struct drive d;
	struct pssh_host *hosts[2];
	struct pssh_task *t;

	start(&d);
	hosts[0] = slow_host(&d, "n1");
	hosts[1] = slow_host(&d, "n2");
	t = ask(&d, hosts, 2);
	answer(&d, "wrong");
	is_int(pssh_answer(d.p, d.last_prompt, "open sesame"), PSSH_ENOENT, "a question is answered once");
	drive_until(&d, &d.prompts, 2, DRIVE_PATIENCE_MS);
	is_int(d.prompts, 2, "a wrong passphrase asks again, once for both hosts");
	has_str(d.question, "wrong passphrase; ", "and says so");
	answer(&d, "open sesame");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, hosts[0]), "exit 7", "the right one opens the key");
	ends(drive_seen(&d, t, hosts[1]), "exit 7", "for the other host, too");
	drive_end(&d, "wrong");

	start(&d);
	hosts[0] = slow_host(&d, "n1");
	t = ask(&d, hosts, 1);
	for (unsigned i = 2; i <= 3; i++) {
		answer(&d, "wrong");
		drive_until(&d, &d.prompts, i, DRIVE_PATIENCE_MS);
	}
	answer(&d, "wrong");
	drive_done(&d, 1);
	ends(drive_seen(&d, t, hosts[0]), "PSSH_EAUTH", "three wrong ones end it");
	has_str(drive_seen(&d, t, hosts[0])->text, "'slow' is locked by a passphrase", "with the reason");
	is_int(d.prompts, 3, "without a fourth question");
	drive_end(&d, "three wrong");
}

/* The host that was asked for goes away while its passphrase is tried. */
static void check_gone(void)
{
	struct drive d;
	struct pssh_host *hosts[2];
	struct pssh_task *t, *u;

	start(&d);
	hosts[0] = slow_host(&d, "n1");
	t = ask(&d, hosts, 1);
	hosts[1] = slow_host(&d, "n2");
	u = command(&d, "exit 8");
	pssh_task_add(u, hosts[1]);
	pssh_task_start(u);
	answer(&d, "open sesame");
	pssh_host_close(hosts[0]);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, hosts[0]), "PSSH_ECLOSED", "a host closes while its passphrase is tried");
	pssh_host_free(hosts[0]);
	drive_done(&d, 1);
	ends(drive_seen(&d, u, hosts[1]), "exit 8", "the key opens for another host");
	is_int(d.prompts, 1, "without another question");
	drive_end(&d, "gone");
}

static int64_t leave_while_tried(int forks)
{
	struct drive d;
	struct pssh_host *h;
	struct pssh_task *t;
	int64_t all;
	int status = 0;
	pid_t pid;

	start(&d);
	h = slow_host(&d, "n1");
	t = ask(&d, &h, 1);
	answer(&d, "open sesame");
	if (forks) {
		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			pssh_free(d.p);
			_exit(0);
		}
		ok(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "a child frees its copy meanwhile");
		drive_done(&d, 1);
		ends(drive_seen(&d, t, h), "exit 7", "which the parent does not notice");
	} else {
		is_int(pssh_task_cancel(t, "TERM", 0), 0, "a task is cancelled meanwhile");
		drive_done(&d, 1);
		ends(drive_seen(&d, t, h), "PSSH_ECANCEL", "and ends at once");
	}
	all = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
	drive_end(&d, forks ? "fork" : "cancel");
	return cpu_us(CLOCK_PROCESS_CPUTIME_ID) - all;
}

static void secret_is(char secret[64])
{
	int fd = open("secret", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, secret, 63) <= 0)
		exit(99);
	close(fd);
}

/* Whether a process has these bytes where it writes; -1: its memory is not readable. */
static int has_bytes(int pid, const char *bytes, size_t len)
{
	enum { PART = 1 << 20 };
	char *part = malloc(PART), line[512], path[64];
	unsigned long from, to;
	FILE *maps;
	int mem, found = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	while (maps && mem >= 0 && !found && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx rw", &from, &to) != 2 || !strstr(line, " rw") || to - from > 256ul << 20)
			continue;
		for (; from < to && !found; from += PART - len) {
			size_t want = to - from < PART ? to - from : PART;
			ssize_t n = pread(mem, part, want, (off_t)from);

			found = n > 0 && memmem(part, (size_t)n, bytes, len);
			if (want < PART)
				break;
		}
	}
	if (!maps || mem < 0)
		found = -1;
	if (maps)
		fclose(maps);
	if (mem >= 0)
		close(mem);
	free(part);
	return found;
}

/* A keeper comes of a process whose thread tries a passphrase, which was never written anywhere else in it. */
static void check_keeper(void)
{
	char secret[64] = "";
	struct drive d;
	struct pssh_host *slow, *quick;
	struct pssh_kept *list = NULL;
	size_t count = 0, silent;
	struct pssh_task *t;

	start(&d);
	if (pssh_set_keep(d.p, "kept", 600) != 0)
		exit(99);
	slow = with_key(&d, "n1", "hidden");
	quick = with_key(&d, "n2", env("SSHD_KEY"));
	once(&d, quick, "true");
	t = ask(&d, &slow, 1);
	secret_is(secret);
	answer(&d, secret);
	explicit_bzero(secret, sizeof secret);
	is_int(pssh_keep(d.p), 0, "a connection is left to a keeper while a passphrase is tried");
	for (int i = 0; i < 30 && !count; i++) { /* one that gets no processor for a while does not answer */
		free(list);
		list = NULL;
		if (pssh_keep_list(d.p, &list, &count, &silent) != 0)
			exit(99);
	}
	is_int((long)count, 1, "about one connection");
	secret_is(secret);
	is_int(has_bytes(getpid(), secret, strlen(secret)), 1, "(what is looked for is found where it is)");
	if (count)
		ok(has_bytes(list[0].pid, secret, strlen(secret)) <= 0, "and has not got the passphrase");
	free(list);
	drive_done(&d, 1);
	ends(drive_seen(&d, t, slow), "exit 7", "the passphrase opens its key");
	ends(once(&d, quick, "exit 5"), "exit 5", "and the kept connection is used");
	pssh_keep_stop(d.p, &list, &count, &silent);
	free(list);
	pssh_set_keep(d.p, NULL, 0);
	drive_end(&d, "keeper");
}

/* In a child ASan's memory may be locked for ever, by another thread of its parent that was just taking some. */
#ifdef __SANITIZE_ADDRESS__
enum { FORKS = 0 };
#else
enum { FORKS = 1 };
#endif

int main(void)
{
	int64_t cost, left;

	plan_none;
	cost = check_calls();
	check_wrong();
	check_gone();
	left = leave_while_tried(0);
	for (int i = 0; i < 4 && left >= cost / 16; i++) /* the other thread goes on where this one has no processor */
		left = leave_while_tried(0);
	diag("pssh_free while a passphrase was tried: %lld ms", (long long)left / 1000);
	ok(left < cost / 16, "pssh_free does not wait until it was tried");
	if (FORKS) {
		leave_while_tried(1);
		check_keeper();
	} else {
		skip("a fork while a passphrase is tried: the sanitizer may hang in the child");
	}
	return done();
}
