/* SPDX-License-Identifier: Apache-2.0 */
/* Linked with libpssh.a, whose inner names must not meet the program's: static CONFIG HOST COMMAND. */
#include <pssh.h>
#include <stdio.h>

int loop_new(void);
int buf_init(void);
int bcrypt_pbkdf(void);
int table_init(void);

int loop_new(void)
{
	return 1;
}
int buf_init(void)
{
	return 2;
}
int bcrypt_pbkdf(void)
{
	return 3;
}
int table_init(void)
{
	return 4;
}

int main(int argc, char **argv)
{
	const struct pssh_event *ev;
	struct pssh *p;
	struct pssh_host *h;
	struct pssh_task *t;
	int status = 255, rc;

	if (argc != 4 || loop_new() + buf_init() + bcrypt_pbkdf() + table_init() != 10 || pssh_new(&p) != 0)
		return 255;
	if (pssh_read_config(p, argv[1]) != 0 || pssh_host(p, argv[2], &h) != 0 || pssh_exec(p, argv[3], &t) != 0 ||
		pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0) {
		fprintf(stderr, "%s\n", pssh_error(p));
		return 255;
	}
	while ((rc = pssh_wait(p, &ev, -1)) >= 0 && (rc == 0 || ev->type != PSSH_EV_DONE)) {
		if (rc && ev->type == PSSH_EV_STDOUT)
			fwrite(ev->data, 1, ev->len, stdout);
		if (rc && ev->type == PSSH_EV_ERROR)
			fprintf(stderr, "%s\n", ev->text);
		if (rc && ev->type == PSSH_EV_EXIT)
			status = ev->status;
	}
	pssh_free(p);
	return status;
}
