/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signer: runs a command on one host, and signs in by a key that never comes here: another program signs,
 * as those of tokens and key services do. It reads the data on its standard input and writes the signature
 * to its output; BITS in its environment is the hash, 256, 384 or 512 (0: Ed25519, 1: SHA-1).
 *
 *     cc signer.c $(pkg-config --cflags --libs libpssh) -o signer
 *     ./signer n1 key.pub 'openssl dgst -sha$BITS -sign key.pem' 'echo it works'
 *
 * Exits with the command's exit status, or 255 if it has none.
 */
#include <pssh.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Here it waits for the signature; a program that serves others meanwhile can answer later. */
static int sign(struct pssh *p, const struct pssh_event *ev, const char *signer)
{
	char bits[16], signature[4096];
	size_t len = 0;
	FILE *data = tmpfile(), *said;

	snprintf(bits, sizeof bits, "%d", ev->status);
	if (data && fwrite(ev->data, 1, ev->len, data) == ev->len && fflush(data) == 0 &&
		setenv("BITS", bits, 1) == 0) {
		rewind(data);
		dup2(fileno(data), STDIN_FILENO);
		said = popen(signer, "r");
		len = said ? fread(signature, 1, sizeof signature, said) : 0;
		if (said && pclose(said) != 0)
			len = 0;
	}
	if (data)
		fclose(data);
	return pssh_answer_sign(p, ev->prompt, len ? signature : NULL, len);
}

static int start(struct pssh *p, const char *name, const char *key, const char *command)
{
	char text[16384] = "";
	struct pssh_host *host;
	struct pssh_task *task;
	FILE *f = fopen(key, "r");
	int rc;

	if (f) {
		text[fread(text, 1, sizeof text - 1, f)] = '\0';
		fclose(f);
	}
	if ((rc = pssh_add_signer(p, text)) != 0 || (rc = pssh_like_ssh(p, NULL)) != 0 ||
		(rc = pssh_host(p, name, &host)) != 0 || (rc = pssh_exec(p, command, &task)) != 0)
		return rc;
	rc = pssh_task_add(task, host);
	return rc ? rc : pssh_task_start(task);
}

/* Returns the exit status; 255: the command has none. */
static int follow(struct pssh *p, const char *signer)
{
	const struct pssh_event *ev;
	int status = 255, rc;

	while ((rc = pssh_wait(p, &ev, -1)) >= 0) {
		if (rc == 0)
			continue;
		if (ev->type == PSSH_EV_SIGN && sign(p, ev, signer) != 0)
			break;
		if (ev->type == PSSH_EV_STDOUT || ev->type == PSSH_EV_STDERR)
			fwrite(ev->data, 1, ev->len, ev->type == PSSH_EV_STDOUT ? stdout : stderr);
		else if (ev->type == PSSH_EV_EXIT)
			status = ev->status;
		else if (ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR)
			fprintf(stderr, "signer: %s\n", ev->text);
		else if (ev->type == PSSH_EV_DONE)
			return status;
	}
	fprintf(stderr, "signer: %s\n", pssh_error(p));
	return 255;
}

int main(int argc, char **argv)
{
	struct pssh *p;
	int rc, status = 255;

	if (argc != 5) {
		fprintf(stderr, "usage: signer HOST PUBLIC-KEY SIGNER COMMAND\n");
		return 255;
	}
	rc = pssh_new(&p);
	if (rc != 0) {
		fprintf(stderr, "signer: %s\n", pssh_strerror(rc));
		return 255;
	}
	if (start(p, argv[1], argv[2], argv[4]) == 0)
		status = follow(p, argv[3]);
	else
		fprintf(stderr, "signer: %s\n", pssh_error(p));
	pssh_free(p);
	return fflush(stdout) == 0 ? status : 255;
}
