/* SPDX-License-Identifier: Apache-2.0 */
/* What `nanopod autoscale` says, once, and the commands that it runs. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/autoscale/autoscale.h"
#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/local/daemons.h"

enum { AUTOSCALE_ERRORS = 1 << 20 };

/* ---- What it says ------------------------------------------------------------------------------ */

void autoscale_say(struct autoscale *a, bool bad, const char *fmt, ...)
{
	char text[SCALE_TEXT];
	va_list ap;
	bool again = false;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < a->said_count; i++)
		again |= strcmp(a->said[i], text) == 0;
	for (size_t i = 0; i < a->says_count; i++)
		again |= strcmp(a->says[i], text) == 0;
	if (a->says_count < AUTOSCALE_SAID)
		memcpy(a->says[a->says_count++], text, sizeof text);
	if (bad && signals_asked())
		return; /* what fails now was only cut off */
	if (!again && bad)
		print_warn(a->np, "%s", text);
	else if (!again)
		print_note(a->np, "%s", text);
	fflush(a->np->err);
}

/* ---- Other commands ---------------------------------------------------------------------------- */

void autoscale_word(struct autoscale_words *w, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (w->count + 1 == sizeof w->list / sizeof *w->list || vasprintf(&w->list[w->count], fmt, ap) < 0)
		command_nomem();
	va_end(ap);
	w->list[++w->count] = NULL;
}

void autoscale_words_free(struct autoscale_words *w)
{
	while (w->count)
		free(w->list[--w->count]);
}

void autoscale_words_ways(const struct autoscale *a, struct autoscale_words *w, bool hosts)
{
	static const char *const always[] = { "url", "config", "profile" };
	const struct option *row, *connect = command_connection();
	const char *text;

	for (size_t i = 0; option_typed(a->o, i, &row, &text); i++) {
		bool passed = false;

		for (size_t k = 0; k < sizeof always / sizeof *always; k++)
			passed |= strcmp(row->name, always[k]) == 0;
		for (const struct option *c = connect; hosts && c->name; c++)
			passed |= strcmp(row->name, c->name) == 0;
		if (passed && option_takes_argument(row))
			autoscale_word(w, "--%s=%s", row->name, text);
		else if (passed)
			autoscale_word(w, "--%s", row->name);
	}
}

bool autoscale_words_manager(const struct autoscale *a, struct autoscale_words *w)
{
	char script[AUTOSCALE_PATH], name[SCALE_TEXT];

	snprintf(name, sizeof name, "%s/demand.inc", a->manager->stack);
	if (!stack_find(a->p.folder, name, script, sizeof script))
		return false;
	autoscale_word(w, "run");
	autoscale_word(w, "--hosts=%s", a->controller);
	autoscale_word(w, "--no-label");
	autoscale_word(w, "--timeout=2m");
	autoscale_word(w, "--script=%s", script);
	autoscale_words_ways(a, w, true);
	autoscale_word(w, "--");
	return true;
}

void autoscale_words_provision(const struct autoscale *a, struct autoscale_words *w, const char *verb,
	const char *hosts)
{
	autoscale_word(w, "provision");
	autoscale_word(w, "%s", verb);
	autoscale_word(w, "%s", a->cluster);
	if (hosts)
		autoscale_word(w, "--hosts=%s", hosts);
	autoscale_word(w, "--no-verify");
	autoscale_word(w, "--yes");
	for (size_t i = 0; i < option_count(a->o, "skip-gate"); i++)
		autoscale_word(w, "--skip-gate=%s", option_at(a->o, "skip-gate", i));
	autoscale_words_ways(a, w, true);
}

/* The last line of what it said, without the program's name. */
static void autoscale_why(struct buf *err, char *why)
{
	const char *line = agentd_last_line(err);

	if (strncmp(line, "nanopod: ", 9) == 0)
		line += 9;
	snprintf(why, SCALE_TEXT, "%s", line);
}

/* This program with these words, which ends with this one. */
static struct agentd_call autoscale_call_self(const struct autoscale *a, const struct autoscale_words *w,
	const char *env[2])
{
	env[0] = a->sudo;
	env[1] = NULL;
	return (struct agentd_call){ .program = a->self,
		.words = (const char *const *)w->list,
		.env = env,
		.mortal = true };
}

int autoscale_call(const struct autoscale *a, struct autoscale_words *w, struct buf *out, char *why)
{
	const char *env[2];
	struct agentd_call call = autoscale_call_self(a, w, env);
	struct buf err, none;
	struct fail f = { 0 };
	int status = STATUS_FAILURE, rc;

	buf_init(&err, AUTOSCALE_ERRORS);
	buf_init(&none, AUTOSCALE_ERRORS);
	call.out = out ? out : &none;
	call.err = &err;
	call.deadline_ms = AUTOSCALE_CALL_MS;
	rc = agentd_run(&call, &status, &f);
	if (rc)
		snprintf(why, SCALE_TEXT, "%.199s", f.text);
	else
		autoscale_why(&err, why);
	buf_release(&err);
	buf_release(&none);
	autoscale_words_free(w);
	return rc ? STATUS_FAILURE : status;
}

int autoscale_call_begin(const struct autoscale *a, struct autoscale_words *w, struct agentd_going *going, char *why)
{
	const char *env[2];
	struct agentd_call call = autoscale_call_self(a, w, env);
	struct fail f = { 0 };
	int rc = agentd_begin(&call, going, &f);

	if (rc)
		snprintf(why, SCALE_TEXT, "%.199s", f.text);
	autoscale_words_free(w);
	return rc;
}

bool autoscale_call_over(struct agentd_going *going, bool wait, int *status, char *why)
{
	struct buf err;
	bool over;

	buf_init(&err, AUTOSCALE_ERRORS);
	over = agentd_over(going, wait, status, &err);
	if (over)
		autoscale_why(&err, why);
	buf_release(&err);
	return over;
}
