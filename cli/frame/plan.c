/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/plan.h"

#include <signal.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/frame/prompt.h"
#include "cli/frame/signals.h"

enum { PLAN_BYTES = 256 << 10 };

static char *plan_text_of(const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		command_nomem();
	return text;
}

void plan_init(struct plan *p, const char *fmt, ...)
{
	va_list ap;

	*p = (struct plan){ 0 };
	va_start(ap, fmt);
	p->title = plan_text_of(fmt, ap);
	va_end(ap);
}

void plan_release(struct plan *p)
{
	free(p->title);
	for (size_t i = 0; i < p->count; i++)
		free(p->lines[i].text);
	free(p->lines);
	*p = (struct plan){ 0 };
}

void plan_add(struct plan *p, const char *label, const char *fmt, ...)
{
	va_list ap;

	p->lines = reallocarray(p->lines, p->count + 1, sizeof *p->lines);
	if (!p->lines)
		command_nomem();
	va_start(ap, fmt);
	p->lines[p->count].label = label;
	p->lines[p->count++].text = plan_text_of(fmt, ap);
	va_end(ap);
}

static void plan_show_json(struct nanopod *np, const struct plan *p)
{
	struct buf b, text;
	struct json j;

	buf_init(&b, PLAN_BYTES);
	buf_init(&text, PLAN_BYTES);
	j = json_to(&b);
	json_begin_object(&j, NULL);
	json_begin_object(&j, "plan");
	json_text(&j, "title", p->title);
	for (size_t i = 0, next; i < p->count; i = next) {
		buf_clear(&text);
		next = i;
		do {
			if (buf_adds(&text, next > i ? ": " : "") || buf_adds(&text, p->lines[next].text))
				command_nomem();
		} while (++next < p->count && !*p->lines[next].label);
		json_text(&j, p->lines[i].label, buf_text(&text));
	}
	json_end(&j);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(np->err, "%s\n", buf_text(&b));
	buf_release(&b);
	buf_release(&text);
}

/* What the person loses or gets back, in bold. */
static bool plan_matters(const char *label)
{
	return strcmp(label, "total") == 0 || strcmp(label, "refund") == 0;
}

void plan_show(struct nanopod *np, const struct plan *p)
{
	size_t width = 0;

	if (np->errors_json) {
		plan_show_json(np, p);
		return;
	}
	for (size_t i = 0; i < p->count; i++)
		if (strlen(p->lines[i].label) > width)
			width = strlen(p->lines[i].label);
	fputs(print_color(np, np->err, COLOR_BOLD), np->err);
	print_wrapped(np->err, p->title, 0, 2, np->tty_err ? print_columns(np->err) : SIZE_MAX);
	fprintf(np->err, "%s\n", print_color(np, np->err, COLOR_NONE));
	for (size_t i = 0; i < p->count; i++) {
		const char *color = plan_matters(p->lines[i].label) ? print_color(np, np->err, COLOR_BOLD) : "";

		fprintf(np->err, "%s  %-*s  ", color, (int)width, p->lines[i].label);
		print_wrapped(np->err, p->lines[i].text, width + 4, width + 4,
			np->tty_err ? print_columns(np->err) : SIZE_MAX);
		fprintf(np->err, "%s\n", *color ? print_color(np, np->err, COLOR_NONE) : "");
	}
	fflush(np->err);
}

/* Also where the command has no such option. */
static bool plan_option(const struct options *o, const char *name)
{
	const struct option *row;
	const char *text;

	for (size_t i = 0; option_typed(o, i, &row, &text); i++)
		if (strcmp(row->name, name) == 0)
			return true;
	return false;
}

int plan_can_ask(struct nanopod *np, const struct options *o)
{
	return plan_option(o, "yes") || plan_option(o, "dry-run") || plan_option(o, "explain") ? 0 : plan_is_heard(np);
}

int plan_is_heard(struct nanopod *np)
{
	struct prompt *p;
	bool possible;

	if (prompt_new(np, &p))
		command_nomem();
	possible = np->tty_in && prompt_possible(p);
	prompt_free(p);
	if (possible)
		return 0;
	return print_fail_field(np, STATUS_USAGE, "--yes", "'-y' answers yes; '--dry-run' only shows the plan",
		"cannot ask for confirmation: standard input is not a terminal");
}

int plan_agree(struct nanopod *np, const struct options *o, const char *question)
{
	struct prompt *p;
	int number = 0;
	bool yes;
	char *line;

	if (plan_option(o, "dry-run"))
		return PLAN_SHOWN;
	if (plan_option(o, "yes") || plan_option(o, "explain"))
		return 0;
	if (prompt_new(np, &p) || signals_begin() || asprintf(&line, "%s [yes/no] ", question) < 0)
		command_nomem();
	yes = prompt_yes(p, line, &number);
	free(line);
	signals_end();
	prompt_free(p);
	if (yes)
		return 0;
	if (number)
		return print_fail(np, number == SIGINT ? STATUS_INT : STATUS_TERM, NULL,
			"interrupted; nothing was changed");
	return print_fail(np, STATUS_FAILURE, NULL, "Cancelled; nothing was changed.");
}

const char *plan_rate(int64_t price, unsigned gpus, char room[PLAN_RATE])
{
	char text[MONEY_TEXT];

	snprintf(room, PLAN_RATE, "$%s per %s-hour", price_about(price, gpus, text), gpus ? "GPU" : "node");
	return room;
}

int64_t plan_burn(int64_t price, int64_t nodes)
{
	int64_t cost;

	return money_cost(price, nodes, 60, &cost) ? INT64_MAX : cost;
}
