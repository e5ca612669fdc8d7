/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/dropin/droprun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/remote/group.h"
#include "cli/remote/save.h"

static const size_t droprun_max = (size_t)4 << 30;

/* ---- The task -------------------------------------------------------------------------- */

static const char *droprun_base(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	return path + n;
}

static void droprun_target(struct droprun *r)
{
	const char *mark = strstr(r->target, "{base}"), *base = droprun_base(r->sources[r->step]);
	int n;

	free(r->to);
	if (mark)
		n = asprintf(&r->to, "%.*s%.*s%s", (int)(mark - r->target), r->target, (int)strcspn(base, "/"), base,
			mark + 6);
	else
		n = asprintf(&r->to, "%s", r->target);
	if (n < 0)
		command_nomem();
}

static int droprun_make(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct droprun *r = arg;
	struct pssh *fleet = f->connect->fleet;
	int64_t limit = settings_ms(r->np->settings, SETTING_ID_TIMEOUT);
	struct pssh_task *t;
	int rc;

	if (!r->command)
		droprun_target(r);
	rc = r->command  ? pssh_exec(fleet, r->command, &t)
		: r->put ? pssh_put(fleet, r->sources[r->step], r->to, r->flags, &t)
			 : pssh_get(fleet, r->sources[r->step], r->to, r->flags, &t);
	if (rc)
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	if (r->command)
		rc = pssh_task_set_output(t, r->show->output, (size_t)1 << 20, PSSH_OVERFLOW_DROP);
	if (!rc && r->command)
		rc = pssh_task_set_agent_forward(t, PSSH_FORWARD_CONFIGURED);
	if (!rc && limit)
		rc = pssh_task_set_deadline(t, (unsigned)limit);
	if (!rc && r->tty)
		rc = pssh_task_set_pty(t, getenv("TERM") ? getenv("TERM") : "dumb", 80, 24);
	if (!rc && f->input.open)
		rc = pssh_task_open_input(t);
	if (rc) {
		pssh_task_free(t);
		return print_fail(r->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	}
	*out = t;
	return STATUS_OK;
}

/* The command for one host: what is not %h, %u, %n or %% stays. */
static char *droprun_fill(const struct droprun *r, const struct outcome *o)
{
	struct buf b;
	int rc = 0;

	buf_init(&b, 1 << 20);
	for (const char *s = r->command; *s; s++) {
		if (*s != '%' || !s[1] || !strchr("hun%", s[1])) {
			rc |= buf_addc(&b, *s);
			continue;
		}
		s++;
		rc |= *s == 'h'     ? buf_adds(&b, o->name)
			: *s == 'u' ? buf_adds(&b, pssh_host_user(o->host))
			: *s == 'n' ? buf_addf(&b, "%zu", o->index)
				    : buf_addc(&b, '%');
	}
	if (rc)
		command_nomem();
	return buf_steal(&b);
}

static int droprun_number(const struct fanout *f, const struct outcome *o)
{
	char node[32], nodes[32];
	int rc;

	snprintf(node, sizeof node, "%zu", o->index);
	snprintf(nodes, sizeof nodes, "%zu", f->count);
	rc = pssh_task_set_host_env(f->task, o->host, "PSSH_NODENUM", node);
	rc = rc ? rc : pssh_task_set_host_env(f->task, o->host, "PSSH_NUMNODES", nodes);
	return rc ? rc : pssh_task_set_host_env(f->task, o->host, "PSSH_HOST", o->name);
}

static int droprun_each(void *arg, struct fanout *f, struct outcome *o)
{
	struct droprun *r = arg;
	char *command;
	int rc = 0;

	if (r->templated && strchr(r->command, '%')) {
		command = droprun_fill(r, o);
		rc = pssh_task_set_host_command(f->task, o->host, command);
		free(command);
	}
	if (!rc && r->numbered)
		rc = droprun_number(f, o);
	return rc ? print_fail(r->np, STATUS_FAILURE, NULL, "%s", pssh_error(f->connect->fleet)) : STATUS_OK;
}

/* ---- Hosts ----------------------------------------------------------------------------- */

static void droprun_event(struct droprun *r, const struct pssh_event *ev, struct outcome *o)
{
	bool ended = ev->type == PSSH_EV_EXIT || ev->type == PSSH_EV_SIGNAL || ev->type == PSSH_EV_ERROR;
	bool last = r->command || !outcome_ok(o) || !r->sources[r->step + 1];

	if ((ev->type == PSSH_EV_STDOUT || ev->type == PSSH_EV_STDERR) && r->show->data)
		r->show->data(r, o, ev->type == PSSH_EV_STDERR, ev->data, ev->len);
	if (!ended || !last)
		return;
	r->number++;
	fanout_quiet(&r->fanout);
	if (r->show->end)
		r->show->end(r, o);
}

/* Only hosts that have not failed get the next source. */
static bool droprun_again(struct droprun *r)
{
	bool any = false;

	if (r->command || !r->sources[r->step + 1] || r->fanout.asked)
		return false;
	r->step++;
	for (size_t i = 0; i < r->fanout.count; i++)
		if (outcome_ok(&r->fanout.hosts[i])) {
			r->fanout.hosts[i].state = OUTCOME_WAITING;
			r->fanout.hosts[i].moved = r->fanout.hosts[i].size = 0;
			any = true;
		}
	return any;
}

static int droprun_go(struct droprun *r)
{
	const struct pssh_event *ev;
	enum fanout_turn turn;
	struct outcome *o;
	int status;

	do {
		status = fanout_start(&r->fanout);
		if (status)
			return status;
		while ((turn = fanout_next(&r->fanout, &ev, &o)) != FANOUT_DONE)
			if (turn == FANOUT_EVENT && o)
				droprun_event(r, ev, o);
	} while (droprun_again(r));
	fanout_quiet(&r->fanout);
	status = r->show->done(r);
	if (r->fanout.broken)
		return STATUS_FAILURE;
	return r->fanout.asked ? 128 + (r->fanout.first_signal ? r->fanout.first_signal : SIGINT) : status;
}

int droprun(struct droprun *r, const struct pssh_list *hosts)
{
	struct connect *c;
	int status = connect_open(r->np, &c);

	if (status)
		return status;
	status = fanout_init_up(&r->fanout, r->np, c, hosts);
	if (!status) {
		r->fanout.make = droprun_make;
		r->fanout.each = droprun_each;
		r->fanout.arg = r;
		r->fanout.progress.on = r->fanout.progress.on && r->progress;
		r->fanout.input.open = r->input;
		r->fanout.input.fd = r->input ? STDIN_FILENO : -1;
		r->number = 0;
		if (fold_new(droprun_max, &r->fold) != 0)
			command_nomem();
		status = droprun_go(r);
		fold_free(r->fold);
		free(r->to);
		r->to = NULL;
		fanout_release(&r->fanout);
	}
	connect_close(r->np, c);
	return status;
}

/* The host was reached; a file is the reason. */
static bool droprun_of_files(const struct outcome *o)
{
	return o->state == OUTCOME_ERROR &&
		(o->status == PSSH_EREMOTE || o->status == PSSH_ELOCAL || o->status == PSSH_ENOENT ||
			o->status == PSSH_ECHECKSUM);
}

int droprun_status(const struct outcome *o)
{
	if (droprun_of_files(o))
		return STATUS_FAILURE;
	return o->state == OUTCOME_EXIT ? o->status & 255 : STATUS_TRANSPORT;
}

bool droprun_timed_out(const struct outcome *o)
{
	return o->state == OUTCOME_ERROR && o->status == PSSH_ETIMEOUT && o->begun;
}

int droprun_largest(const struct droprun *r)
{
	int most = 0;

	for (size_t i = 0; i < r->fanout.count; i++)
		if (droprun_status(&r->fanout.hosts[i]) > most)
			most = droprun_status(&r->fanout.hosts[i]);
	return most;
}

/* ---- Output ---------------------------------------------------------------------------- */

void droprun_lines(struct droprun *r, FILE *stream, const char *label, const char *data, size_t len)
{
	bool tty = stream == r->np->err ? r->np->tty_err : r->np->tty_out;
	const char *p = data, *end = data + len;
	struct buf b;
	int rc = 0;

	buf_init(&b, (size_t)1 << 30);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		if (label)
			rc |= buf_addf(&b, "%s: ", label);
		rc |= tty ? group_shown(&b, p, n) : buf_add(&b, p, n);
		rc |= buf_addc(&b, '\n');
		p += nl ? n + 1 : n;
	}
	if (rc)
		command_nomem();
	fanout_quiet(&r->fanout);
	/* Two streams on one terminal keep their order. */
	if (stream == r->np->err)
		fflush(r->np->out);
	fwrite(buf_text(&b), 1, b.len, stream);
	buf_release(&b);
}

void droprun_keep(struct droprun *r, struct outcome *o, bool err, const char *data, size_t len)
{
	if (fold_add(r->fold, err ? &o->err : &o->out, data, len) != 0)
		o->dropped += len;
}

char *droprun_text(struct fold_place place, size_t *len)
{
	struct buf b;

	buf_init(&b, droprun_max);
	if (fold_text(place, &b) != 0 || buf_reserve(&b, 1) != 0)
		command_nomem();
	*len = b.len;
	return buf_steal(&b);
}

/* ---- Files ----------------------------------------------------------------------------- */

int dropdir_open(struct nanopod *np, struct dropdir *d, const char *path)
{
	d->fd = -1;
	d->path = path;
	if (!path)
		return STATUS_OK;
	if (mkdir(path, 0777) == 0 || errno == EEXIST)
		d->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return d->fd >= 0
		? STATUS_OK
		: print_fail(np, STATUS_FAILURE, NULL, "cannot use the folder '%s': %s", path, strerror(errno));
}

/* data NULL: empties the host's file. */
void dropdir_add(struct nanopod *np, const struct dropdir *d, const char *host, const char *data, size_t len)
{
	char *name = d->fd < 0 ? NULL : save_file_name(host, "");
	int fd, rc;

	if (d->fd < 0)
		return;
	if (!name)
		command_nomem();
	fd = openat(d->fd, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (data ? O_APPEND : O_TRUNC), 0666);
	rc = fd < 0 ? -errno : data ? file_write(fd, data, len) : 0;
	if (fd >= 0 && close(fd) != 0 && !rc)
		rc = -errno;
	if (rc)
		print_warn(np, "cannot write '%s/%s': %s", d->path, name, strerror(-rc));
	free(name);
}

void dropdir_close(struct dropdir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	d->fd = -1;
}
