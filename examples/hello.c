/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello: runs a command on one host, like `ssh host command`.
 *
 *     cc hello.c $(pkg-config --cflags --libs libpssh) -o hello
 *     ./hello n1 'echo it works'
 *
 * Exits with the command's exit status, or 255 if it has none.
 */
#include <pssh.h>
#include <stdio.h>

static int start(struct pssh *p, const char *name, const char *command)
{
	struct pssh_host *host;
	struct pssh_task *task;
	int rc;

	/* Settings of the user's ssh, which the library reads only if told to; hosts take them when made. */
	if ((rc = pssh_like_ssh(p, NULL)) != 0 || (rc = pssh_host(p, name, &host)) != 0 ||
		(rc = pssh_exec(p, command, &task)) != 0)
		return rc;
	rc = pssh_task_add(task, host);
	return rc ? rc : pssh_task_start(task);
}

/* Prints events until the task is done. Returns the exit status; 255: the command has none. */
static int follow(struct pssh *p, const char *name)
{
	const struct pssh_event *ev;
	int status = 255, rc;

	/* 0 means no event; here only after a signal, which this program ignores. */
	while ((rc = pssh_wait(p, &ev, -1)) >= 0) {
		if (rc == 0)
			continue;
		switch (ev->type) {
		case PSSH_EV_STDOUT:
			fwrite(ev->data, 1, ev->len, stdout);
			break;
		case PSSH_EV_STDERR:
			fwrite(ev->data, 1, ev->len, stderr);
			break;
		case PSSH_EV_EXIT:
			status = ev->status;
			break;
		case PSSH_EV_SIGNAL:
			fprintf(stderr, "hello: SIG%s ended the command\n", ev->text);
			break;
		case PSSH_EV_ERROR:
			fprintf(stderr, "hello: %s: %s\n", name, ev->text);
			break;
		case PSSH_EV_DONE:
			return status;
		default:
			break;
		}
	}
	fprintf(stderr, "hello: %s\n", pssh_error(p));
	return 255;
}

int main(int argc, char **argv)
{
	struct pssh *p;
	int rc, status = 255;

	if (argc != 3) {
		fprintf(stderr, "usage: hello HOST COMMAND\n");
		return 255;
	}
	rc = pssh_new(&p);
	if (rc != 0) {
		fprintf(stderr, "hello: %s\n", pssh_strerror(rc));
		return 255;
	}
	if (start(p, argv[1], argv[2]) == 0)
		status = follow(p, argv[1]);
	else
		fprintf(stderr, "hello: %s\n", pssh_error(p));
	pssh_free(p);
	return fflush(stdout) == 0 ? status : 255;
}
