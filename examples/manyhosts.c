/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manyhosts: runs a command on many hosts, a few at a time, and puts the host's name before each line.
 *
 *     cc manyhosts.c $(pkg-config --cflags --libs libpssh) -o manyhosts
 *     ./manyhosts 'n[1-64]!n7' 16 uptime
 *
 * Exits with 0 if the command succeeded everywhere, 1 if it failed on a host, 2 if it did not run.
 */
#include <pssh.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupts;

static void interrupt(int sig)
{
	(void)sig;
	interrupts++;
}

/* An event holds one or more whole lines; only the last line of a stream may lack its newline. */
static void label(FILE *to, const struct pssh_event *ev)
{
	const char *at = ev->data, *end = at + ev->len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);

		fprintf(to, "%s: ", pssh_host_name(ev->host));
		fwrite(at, 1, len, to);
		fputc('\n', to);
		at += len + 1;
	}
}

static int start(struct pssh *p, const struct pssh_list *names, const char *command, struct pssh_task **task)
{
	char path[4096];
	struct pssh_host *host;
	int rc;

	/* Uses the keys and known hosts that this file names; hello.c adds ssh's defaults and the agent. */
	snprintf(path, sizeof path, "%s/.ssh/config", getenv("HOME") ? getenv("HOME") : "");
	rc = pssh_read_config(p, path);
	if (rc == 0 || rc == PSSH_ENOENT)
		rc = pssh_exec(p, command, task);
	for (size_t i = 0; rc == 0 && i < pssh_list_count(names); i++) {
		rc = pssh_host(p, pssh_list_get(names, i), &host);
		if (rc == 0)
			rc = pssh_task_add(*task, host);
	}
	return rc ? rc : pssh_task_start(*task);
}

/* Shows events until all hosts have ended, and adds the hosts that failed to `failed`. */
static int follow(struct pssh *p, struct pssh_task *task, struct pssh_list *failed)
{
	const struct pssh_event *ev = NULL;
	int seen = 0, rc;

	for (;;) {
		/* Look at Ctrl-C before pulling an event, which these calls would make invalid. */
		if (interrupts > seen) { /* the first asks the processes to end, the second stops at once */
			rc = seen++ == 0 ? pssh_task_cancel(task, "TERM", 5000) : pssh_task_stop(task);
			if (rc != 0)
				return rc;
		}
		rc = pssh_wait(p, &ev, 1000);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		if (ev->type == PSSH_EV_DONE)
			return 0;
		if (ev->type == PSSH_EV_STDOUT || ev->type == PSSH_EV_STDERR)
			label(ev->type == PSSH_EV_STDOUT ? stdout : stderr, ev);
		else if (ev->type == PSSH_EV_EXIT && ev->status)
			fprintf(stderr, "%s: exit status %d\n", pssh_host_name(ev->host), ev->status);
		else if (ev->type == PSSH_EV_SIGNAL)
			fprintf(stderr, "%s: ended by SIG%s\n", pssh_host_name(ev->host), ev->text);
		else if (ev->type == PSSH_EV_ERROR)
			fprintf(stderr, "%s: %s (%s)\n", pssh_host_name(ev->host), ev->text, pssh_errname(ev->status));
		if ((ev->type == PSSH_EV_EXIT && ev->status) || ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR)
			pssh_list_add(failed, pssh_host_name(ev->host));
	}
}

static void summary(const struct pssh_list *names, const struct pssh_list *failed)
{
	size_t bad = pssh_list_count(failed), all = pssh_list_count(names);
	char *folded = NULL;

	if (bad && pssh_list_fold(failed, &folded) == 0)
		fprintf(stderr, "%zu of %zu hosts failed: %s\n", bad, all, folded);
	else
		fprintf(stderr, "%zu of %zu hosts failed\n", bad, all);
	free(folded);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = interrupt };
	struct pssh *p = NULL;
	struct pssh_list *names = NULL, *failed = NULL;
	struct pssh_task *task;
	char *end = NULL;
	unsigned long fanout = argc == 4 ? strtoul(argv[2], &end, 10) : 0;
	int status = 2;

	if (argc != 4 || *end || !fanout || fanout > 100000) {
		fprintf(stderr, "usage: manyhosts HOSTS HOW-MANY-AT-A-TIME COMMAND\n");
		return 2;
	}
	sigaction(SIGINT, &sa, NULL);
	if (pssh_new(&p) != 0 || pssh_list_new(&names) != 0 || pssh_list_new(&failed) != 0) {
		fprintf(stderr, "manyhosts: out of memory or descriptors\n");
	} else if (pssh_list_add(names, argv[1]) != 0) {
		fprintf(stderr, "manyhosts: %s\n", pssh_list_error(names));
	} else if (pssh_set_window(p, (unsigned)fanout, (unsigned)fanout) != 0 ||
		   start(p, names, argv[3], &task) != 0 || follow(p, task, failed) != 0) {
		fprintf(stderr, "manyhosts: %s\n", pssh_error(p));
	} else {
		summary(names, failed);
		status = pssh_list_count(failed) ? 1 : 0;
	}
	pssh_list_free(failed);
	pssh_list_free(names);
	pssh_free(p);
	return status;
}
