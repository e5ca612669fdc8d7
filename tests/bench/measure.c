/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command costs with everything that it starts: wall time, processor time, and the most
 * memory of the whole process tree at once. Processes that it leaves behind are counted when they
 * end before the command does, and are ended after it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TREE = 16384 };

struct sample { long rss, own, processes; };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void nap(double s)
{
	struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	nanosleep(&t, NULL);
}

static void die(const char *what)
{
	fprintf(stderr, "measure: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* The processes that pid's threads started, added to tree. */
static long add_children(long pid, long *tree, long n)
{
	char path[64];
	struct dirent *d;
	DIR *threads;
	long child;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%ld/task", pid);
	threads = opendir(path);
	while (threads && (d = readdir(threads))) {
		char file[400];

		if (d->d_name[0] == '.')
			continue;
		snprintf(file, sizeof file, "%s/%s/children", path, d->d_name);
		f = fopen(file, "re");
		while (f && n < TREE && fscanf(f, "%ld", &child) == 1)
			tree[n++] = child;
		if (f)
			fclose(f);
	}
	if (threads)
		closedir(threads);
	return n;
}

/* Kilobytes resident, and those of them that no file and no other process shares. */
static void add_memory(long pid, struct sample *s)
{
	static long page;
	long rss = 0, shared = 0;
	char path[64];
	FILE *f;

	if (!page)
		page = sysconf(_SC_PAGESIZE) / 1024;
	snprintf(path, sizeof path, "/proc/%ld/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fscanf(f, "%*d %ld %ld", &rss, &shared) == 2) {
		s->rss += rss * page;
		s->own += (rss - shared) * page;
		s->processes++;
	}
	fclose(f);
}

static void sample_tree(struct sample *most)
{
	static long tree[TREE];
	struct sample s = { 0, 0, 0 };
	long n = add_children(getpid(), tree, 0);

	for (long i = 0; i < n; i++) {
		add_memory(tree[i], &s);
		n = add_children(tree[i], tree, n);
	}
	if (s.rss > most->rss)
		most->rss = s.rss;
	if (s.own > most->own)
		most->own = s.own;
	if (s.processes > most->processes)
		most->processes = s.processes;
}

static void end_tree(void)
{
	static long tree[TREE];
	long n;

	for (int tries = 0; tries < 50; tries++) {
		n = add_children(getpid(), tree, 0);
		for (long i = 0; i < n; i++) {
			n = add_children(tree[i], tree, n);
			kill((pid_t)tree[i], tries < 20 ? SIGTERM : SIGKILL);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (!n)
			return;
		nap(0.02);
	}
}

static int run_once(char **command, double limit, struct sample *most, double *wall)
{
	double start = now(), next = start, spent;
	int status = 0, over = 0;
	pid_t pid, done;

	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		execvp(command[0], command);
		die(command[0]);
	}
	for (;;) {
		done = waitpid(-1, &status, WNOHANG);
		if (done == pid)
			break;
		if (done > 0)
			continue;
		if (now() - start > limit) {
			over = 1;
			break;
		}
		/* Looking costs time on a machine that is to be left alone: a tenth of it at most. */
		if (most && now() >= next) {
			spent = now();
			sample_tree(most);
			spent = now() - spent;
			next = now() + (spent * 10 > 0.02 ? spent * 10 : 0.02);
		}
		nap(most ? 0.002 : 0.0002);
	}
	*wall = now() - start;
	end_tree();
	return over ? 124 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	struct sample most = { 0, 0, 0 };
	double limit = 600, wall = 0, one = 0;
	int opt, times = 1, rc = 0;
	const char *path = NULL;
	struct rusage u;
	FILE *out;

	while ((opt = getopt(argc, argv, "+o:t:n:")) != -1) {
		switch (opt) {
		case 'o': path = optarg; break;
		case 't': limit = strtod(optarg, NULL); break;
		case 'n': times = (int)strtol(optarg, NULL, 10); break;
		default: optind = argc; break;
		}
	}
	if (optind >= argc || times < 1 || limit <= 0) {
		fputs("usage: measure [-o FILE] [-t SECONDS] [-n TIMES] COMMAND [ARGUMENT...]\n"
			"writes wall= and cpu= (seconds), rss_kib= own_kib= procs= (most at once), rc=; with -n the\n"
			"command is repeated, and the times are those of one\n", stderr);
		return 2;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < times && rc == 0; i++) {
		rc = run_once(argv + optind, limit, times == 1 ? &most : NULL, &one);
		wall += one;
	}
	getrusage(RUSAGE_CHILDREN, &u);
	/* Exact for a single process, where sampling may have missed the peak. */
	if (u.ru_maxrss > most.rss)
		most.rss = u.ru_maxrss;
	out = path ? fopen(path, "we") : stderr;
	if (!out)
		die(path);
	fprintf(out, "wall=%.5f cpu=%.5f rss_kib=%ld own_kib=%ld procs=%ld rc=%d\n", wall / times,
		(seconds(u.ru_utime) + seconds(u.ru_stime)) / times, most.rss, most.own, most.processes, rc);
	return rc;
}
