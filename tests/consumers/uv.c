/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet in libuv's loop, by a poll handle and a timer: uv CONFIG HOST COMMAND. */
#include <pssh.h>
#include <stdio.h>
#include <uv.h>

static uv_poll_t watch;
static uv_timer_t timer;
static struct pssh *p;
static int status = 255;

static void pull(void);

static void on_poll(uv_poll_t *w, int error, int events)
{
	(void)w, (void)error, (void)events;
	pull();
}

static void on_timer(uv_timer_t *t)
{
	(void)t;
	pull();
}

/* After every call on the fleet: take what there is, and say when to come back. */
static void pull(void)
{
	const struct pssh_event *ev;

	while (pssh_next(p, &ev) == 1) {
		if (ev->type == PSSH_EV_STDOUT)
			fwrite(ev->data, 1, ev->len, stdout);
		if (ev->type == PSSH_EV_ERROR)
			fprintf(stderr, "%s\n", ev->text);
		if (ev->type == PSSH_EV_EXIT)
			status = ev->status;
		if (ev->type == PSSH_EV_DONE) {
			uv_poll_stop(&watch);
			uv_timer_stop(&timer);
			return;
		}
	}
	if (pssh_timeout(p) >= 0)
		uv_timer_start(&timer, on_timer, (uint64_t)pssh_timeout(p), 0);
	else
		uv_timer_stop(&timer);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	struct pssh_host *h;
	struct pssh_task *t;

	if (argc != 4 || pssh_new(&p) != 0)
		return 255;
	uv_timer_init(loop, &timer);
	uv_poll_init(loop, &watch, pssh_fd(p));
	uv_poll_start(&watch, UV_READABLE, on_poll);
	if (pssh_read_config(p, argv[1]) != 0 || pssh_host(p, argv[2], &h) != 0 || pssh_exec(p, argv[3], &t) != 0 ||
		pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0) {
		fprintf(stderr, "%s\n", pssh_error(p));
		return 255;
	}
	pull();
	uv_run(loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&watch, NULL);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	pssh_free(p);
	uv_loop_close(loop);
	return status;
}
