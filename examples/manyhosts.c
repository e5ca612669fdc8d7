/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manyhosts: one command on many hosts, so many at a time, each line with its host's name.
 *
 *     cc manyhosts.c $(pkg-config --cflags --libs libpssh) -o manyhosts
 *     ./manyhosts 'n[1-64]!n7' 16 uptime
 *
 * Ends with 0 where the command succeeded everywhere, 1 where it did not, 2 where it was not run.
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

/* One event holds whole lines, one or more; only a stream's last may lack its end. */
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

	/* The keys and known hosts that this names are used; see hello.c for ssh's defaults and the agent. */
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

/* Shows what comes until all are at their end; whose command did not succeed goes into `failed`. */
static int follow(struct pssh *p, struct pssh_task *task, struct pssh_list *failed)
{
	const struct pssh_event *ev = NULL;
	int seen = 0, rc;

	while ((rc = pssh_wait(p, &ev, 1000)) >= 0) {
		if (interrupts > seen) { /* the first one asks the processes to end, the next does not wait */
			rc = seen++ == 0 ? pssh_task_cancel(task, "TERM", 5000) : pssh_task_stop(task);
			if (rc != 0)
				return rc;
			continue;
		}
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
	return rc;
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
		fprintf(stderr, "manyhosts: cannot begin\n");
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
