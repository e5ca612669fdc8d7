/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/view.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/remote/group.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "base/utf8.h"

enum { LABEL_MAX = 40 };
/* Ceilings: labelled text of one event; gathered output. */
static const size_t line_max = (size_t)1 << 30, gather_max = (size_t)4 << 30;

void view_init(struct view *v, struct fanout *f, enum view_kind kind)
{
	*v = (struct view){ .fanout = f, .kind = kind, .labels = true };
	buf_init(&v->line, line_max);
	for (size_t i = 0; i < f->count; i++) {
		size_t n = print_width(f->hosts[i].name);

		if (n > v->width && n <= LABEL_MAX)
			v->width = n;
	}
	if ((kind == VIEW_GATHER || kind == VIEW_JSON || kind == VIEW_ORDER) && fold_new(gather_max, &v->fold) != 0)
		command_nomem();
}

void view_release(struct view *v)
{
	fold_free(v->fold);
	buf_release(&v->line);
}

enum pssh_output view_output(const struct view *v)
{
	bool whole = v->labels || v->fanout->count > 1;

	return (v->kind == VIEW_LINES && whole) || v->kind == VIEW_JSONL ? PSSH_OUTPUT_LINES : PSSH_OUTPUT_CHUNKS;
}

/* Writes the built text at once to its stream. */
static void view_put(struct view *v, FILE *stream)
{
	struct nanopod *np = v->fanout->np;

	fanout_quiet(v->fanout);
	/* Two streams on one terminal keep their order. */
	if (stream == np->err)
		fflush(np->out);
	fwrite(buf_text(&v->line), 1, v->line.len, stream);
	buf_clear(&v->line);
}

static void view_need(int rc)
{
	if (rc)
		command_nomem();
}

/* ---- Lines with labels ----------------------------------------------------------------- */

static void add_label(struct view *v, struct buf *b, const struct outcome *o, bool err)
{
	struct nanopod *np = v->fanout->np;
	FILE *stream = err ? np->err : np->out;
	static const enum color colors[] = { COLOR_CYAN, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_MAGENTA };
	size_t n = print_width(o->name), count = sizeof colors / sizeof *colors;

	view_need(buf_adds(b, print_color(np, stream, err ? COLOR_RED : colors[o->index % count])));
	view_need(buf_adds(b, o->name));
	view_need(buf_addc(b, err ? '!' : ':'));
	view_need(buf_adds(b, print_color(np, stream, COLOR_NONE)));
	for (; n < v->width; n++)
		view_need(buf_addc(b, ' '));
	view_need(buf_addc(b, ' '));
}

/* Without labels each byte passes, so a colour stays until its host turns it off; behind that it must end. */
static void view_unpaint(struct view *v, bool err)
{
	if (!v->painted[err].on)
		return;
	v->painted[err] = (struct painted){ 0 };
	view_need(buf_adds(&v->line, PAINTED_OFF));
	view_put(v, err ? v->fanout->np->err : v->fanout->np->out);
}

static void view_plain(struct view *v, const struct pssh_event *ev, bool err)
{
	FILE *stream = err ? v->fanout->np->err : v->fanout->np->out;

	view_need(buf_add(&v->line, ev->data, ev->len));
	if (v->fanout->count > 1 && ev->len && ev->data[ev->len - 1] != '\n')
		view_need(buf_addc(&v->line, '\n'));
	if (err ? v->fanout->np->tty_err : v->fanout->np->tty_out)
		painted_read(&v->painted[err], buf_text(&v->line), v->line.len);
	view_put(v, stream);
	if (v->fanout->count > 1)
		view_unpaint(v, err);
}

static void view_lines(struct view *v, const struct pssh_event *ev, struct outcome *o, bool err)
{
	struct nanopod *np = v->fanout->np;
	bool harmless = err ? np->tty_err : np->tty_out;
	const char *p = ev->data, *end = ev->data + ev->len;
	struct buf label;

	if (!v->labels) {
		view_plain(v, ev, err);
		return;
	}
	buf_init(&label, 1024);
	add_label(v, &label, o, err);
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) : (size_t)(end - p);

		view_need(buf_add(&v->line, label.data, label.len));
		if (harmless)
			view_need(group_shown(&v->line, p, n));
		else
			view_need(group_last_state(&v->line, p, n));
		view_need(buf_addc(&v->line, '\n'));
		p += nl ? n + 1 : n;
	}
	buf_release(&label);
	view_put(v, err ? np->err : np->out);
}

/* ---- JSON ------------------------------------------------------------------------------ */

/* UTF-8 as text; other bytes in base64 under another key, so that nothing is lost. */
static void json_data(struct json *j, const char *key, const char *key64, const char *data, size_t len)
{
	struct buf b;

	if (utf8_valid(data, len)) {
		json_bytes(j, key, data, len);
		return;
	}
	buf_init(&b, SIZE_MAX / 2);
	view_need(buf_add_base64(&b, data, len));
	json_text(j, key64, buf_text(&b));
	buf_release(&b);
}

/* RFC 3339. Formats it once per millisecond, which many lines share. */
static const char *time_text(struct view *v)
{
	struct timespec now;
	struct tm tm;
	int64_t ms;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (ms != v->time_ms) {
		v->time_ms = ms;
		gmtime_r(&now.tv_sec, &tm);
		n = strftime(v->time, sizeof v->time, "%Y-%m-%dT%H:%M:%S", &tm);
		snprintf(v->time + n, sizeof v->time - n, ".%03ldZ", now.tv_nsec / 1000000);
	}
	return v->time;
}

static struct json view_begin(struct view *v, const char *type, const char *host)
{
	struct json j = json_to(&v->line);

	json_begin_object(&j, NULL);
	json_int(&j, "seq", (int64_t)++v->seq);
	json_text(&j, "time", time_text(v));
	json_text(&j, "type", type);
	if (host)
		json_text(&j, "host", host);
	return j;
}

static void view_finish(struct view *v, struct json *j)
{
	json_end(j);
	view_need(j->error);
	view_need(buf_addc(&v->line, '\n'));
}

static void jsonl_data(struct view *v, const struct pssh_event *ev, struct outcome *o, const char *type)
{
	const char *p = ev->data, *end = ev->data + ev->len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		size_t n = nl ? (size_t)(nl - p) + 1 : (size_t)(end - p);
		struct json j = view_begin(v, type, o->name);

		json_data(&j, "data", "base64", p, n);
		view_finish(v, &j);
		p += n;
	}
	view_put(v, v->fanout->np->out);
}

static void json_outcome(struct json *j, const struct outcome *o)
{
	if (o->state == OUTCOME_EXIT) {
		json_int(j, "status", o->status);
		if (o->text)
			json_text(j, "message", o->text);
	} else if (o->state == OUTCOME_SIGNAL) {
		json_text(j, "signal", o->text);
	} else {
		json_text(j, "code", pssh_errname(o->status));
		json_text(j, "message", o->text);
		json_bool(j, "retryable", pssh_retryable(o->status));
	}
	if (o->cancelled)
		json_bool(j, "cancelled", true);
	if (o->dropped)
		json_int(j, "dropped", (int64_t)o->dropped);
}

static void jsonl_start(struct view *v, const struct pssh_event *ev, const struct outcome *o)
{
	struct json j = view_begin(v, "start", o->name);
	struct pssh_facts f;

	/* A kept connection does not tell; behind a gateway the connection is the gateway's. */
	if (ev->host && pssh_host_facts(ev->host, &f, sizeof f) == 0 && *f.kex) {
		json_text(&j, "kex", f.kex);
		json_text(&j, "hostkey", f.hostkey);
		json_text(&j, "cipher", f.cipher);
	}
	view_finish(v, &j);
	view_put(v, v->fanout->np->out);
}

static void jsonl_end_of_host(struct view *v, const struct outcome *o)
{
	static const char *const types[] = { "waiting", "running", "exit", "signal", "error" };
	struct json j = view_begin(v, types[o->state], o->name);

	json_outcome(&j, o);
	view_finish(v, &j);
	view_put(v, v->fanout->np->out);
}

static void jsonl_done(struct view *v)
{
	struct json j = view_begin(v, "done", NULL);
	size_t ok = 0;

	for (size_t i = 0; i < v->fanout->count; i++)
		ok += outcome_ok(&v->fanout->hosts[i]);
	json_int(&j, "hosts", (int64_t)v->fanout->count);
	json_int(&j, "ok", (int64_t)ok);
	json_int(&j, "failed", (int64_t)(v->fanout->count - ok));
	view_finish(v, &j);
	view_put(v, v->fanout->np->out);
}

static void json_all(struct view *v)
{
	view_need(buf_adds(&v->line, "["));
	for (size_t i = 0; i < v->fanout->count; i++) {
		const struct outcome *o = &v->fanout->hosts[i];
		struct json j = json_to(&v->line);
		struct buf text;

		view_need(buf_adds(&v->line, i ? ",\n" : ""));
		json_begin_object(&j, NULL);
		json_text(&j, "host", o->name);
		json_bool(&j, "ok", outcome_ok(o));
		json_outcome(&j, o);
		buf_init(&text, gather_max);
		view_need(fold_text(o->out, &text));
		json_data(&j, "stdout", "stdout_base64", buf_text(&text), text.len);
		buf_clear(&text);
		view_need(fold_text(o->err, &text));
		json_data(&j, "stderr", "stderr_base64", buf_text(&text), text.len);
		buf_release(&text);
		json_end(&j);
		view_need(j.error);
		view_put(v, v->fanout->np->out);
	}
	view_need(buf_adds(&v->line, "]\n"));
	view_put(v, v->fanout->np->out);
}

/* ---- In the order of the hosts ---------------------------------------------------------- */

static void view_host(struct view *v, struct outcome *o, bool err)
{
	struct fold_place place = err ? o->err : o->out;
	struct buf text;

	if (!fold_length(place))
		return;
	buf_init(&text, gather_max);
	view_need(fold_text(place, &text));
	view_lines(v, &(struct pssh_event){ .data = text.data, .len = text.len }, o, err);
	buf_release(&text);
}

/* Shows the hosts whose turn has come: those before them have ended. */
static void view_in_order(struct view *v, bool all)
{
	for (; v->next < v->fanout->count; v->next++) {
		struct outcome *o = &v->fanout->hosts[v->next];

		if (!all && (!outcome_ended(o) || o->left_out))
			return;
		view_host(v, o, false);
		view_host(v, o, true);
	}
}

/* ---- All kinds ------------------------------------------------------------------------- */

static void view_gather(struct view *v, const struct pssh_event *ev, struct outcome *o, bool err)
{
	if (fold_add(v->fold, err ? &o->err : &o->out, ev->data, ev->len) != 0)
		o->dropped += ev->len;
}

static void view_data(struct view *v, const struct pssh_event *ev, struct outcome *o, bool err)
{
	o->dropped += ev->dropped;
	if (v->kind == VIEW_LINES)
		view_lines(v, ev, o, err);
	else if (v->kind == VIEW_JSONL)
		jsonl_data(v, ev, o, err ? "stderr" : "stdout");
	else if (v->fold)
		view_gather(v, ev, o, err);
}

void view_event(struct view *v, const struct pssh_event *ev, struct outcome *o)
{
	if (!o)
		return;
	switch (ev->type) {
	case PSSH_EV_STDOUT:
	case PSSH_EV_STDERR:
		view_data(v, ev, o, ev->type == PSSH_EV_STDERR);
		break;
	case PSSH_EV_STARTED:
		if (v->kind == VIEW_JSONL)
			jsonl_start(v, ev, o);
		break;
	case PSSH_EV_EXIT:
	case PSSH_EV_SIGNAL:
	case PSSH_EV_ERROR:
		if (v->kind == VIEW_JSONL)
			jsonl_end_of_host(v, o);
		else if (v->kind == VIEW_ORDER)
			view_in_order(v, false);
		break;
	default:
		break;
	}
}

void view_end(struct view *v)
{
	if (v->kind == VIEW_JSONL)
		jsonl_done(v);
	else if (v->kind == VIEW_JSON)
		json_all(v);
	else if (v->kind == VIEW_ORDER)
		view_in_order(v, true);
	else if (v->kind == VIEW_GATHER)
		group_show(v->fanout, v->diff);
	view_unpaint(v, false);
	view_unpaint(v, true);
}
