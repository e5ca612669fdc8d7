/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet as a GSource: glib CONFIG HOST COMMAND. */
#include <glib.h>
#include <pssh.h>
#include <stdio.h>

struct source {
	GSource base;
	struct pssh *p;
	int status;
	GMainLoop *loop;
};

static gboolean source_prepare(GSource *base, gint *timeout)
{
	*timeout = pssh_timeout(((struct source *)base)->p);
	return *timeout == 0;
}

static gboolean source_dispatch(GSource *base, GSourceFunc fn, gpointer arg)
{
	struct source *s = (struct source *)base;
	const struct pssh_event *ev;

	(void)fn, (void)arg;
	while (pssh_next(s->p, &ev) == 1) {
		if (ev->type == PSSH_EV_STDOUT)
			fwrite(ev->data, 1, ev->len, stdout);
		if (ev->type == PSSH_EV_ERROR)
			fprintf(stderr, "%s\n", ev->text);
		if (ev->type == PSSH_EV_EXIT)
			s->status = ev->status;
		if (ev->type == PSSH_EV_DONE)
			g_main_loop_quit(s->loop);
	}
	return G_SOURCE_CONTINUE;
}

static gboolean on_tick(gpointer ticks)
{
	++*(unsigned *)ticks;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	/* Without check(), GLib dispatches when the descriptor is readable or the timeout is over. */
	static GSourceFuncs functions = { .prepare = source_prepare, .dispatch = source_dispatch };
	struct source *s = (struct source *)g_source_new(&functions, sizeof *s);
	struct pssh_host *h;
	struct pssh_task *t;
	unsigned ticks = 0;
	int status;

	s->status = 255;
	s->loop = g_main_loop_new(NULL, FALSE);
	if (argc != 4 || pssh_new(&s->p) != 0)
		return 255;
	if (pssh_read_config(s->p, argv[1]) != 0 || pssh_host(s->p, argv[2], &h) != 0 ||
		pssh_exec(s->p, argv[3], &t) != 0 || pssh_task_add(t, h) != 0 || pssh_task_start(t) != 0) {
		fprintf(stderr, "%s\n", pssh_error(s->p));
		return 255;
	}
	g_source_add_unix_fd(&s->base, pssh_fd(s->p), G_IO_IN);
	g_source_attach(&s->base, NULL);
	g_timeout_add(1, on_tick, &ticks);
	g_main_loop_run(s->loop);
	if (!ticks)
		fprintf(stderr, "the program's own timer never came\n");
	status = ticks ? s->status : 254;
	pssh_free(s->p);
	g_source_destroy(&s->base);
	g_main_loop_unref(s->loop);
	g_source_unref(&s->base);
	return status;
}
