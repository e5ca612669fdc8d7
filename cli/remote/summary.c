/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/summary.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/remote/become.h"
#include "cli/remote/group.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodeended.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

enum { CAUSES_SHOWN = 20, NAMES_SHOWN = 400, SUMMARY_INDENT = 4, SUMMARY_HINT_INDENT = 6 };

struct cause {
	char *text;           /* the sentence without the host's name */
	int code;             /* PSSH_E…; 0: the command's own end */
	const char **names;
	size_t count, first;
	const struct outcome *example; /* the first host of it */
};

const char *summary_hint(int code)
{
	switch (code) {
	case PSSH_ERESOLVE:
		return "check the name: 'nanopod nodes' lists nodes, 'nanopod hosts -o wide NAME' shows what a host "
		       "is taken for";
	case PSSH_ECONNECT:
	case PSSH_ECLOSED:
		return "'--retry 3' tries again; 'nanopod hosts -o wide NAME' shows address and port";
	case PSSH_ETIMEOUT:
		return "'--connect-timeout' or '--timeout' allow more time";
	case PSSH_EHOSTNEW:
		return "'--host-key accept-new' accepts and remembers unknown keys; compare the fingerprint where that "
		       "matters";
	case PSSH_EAUTH:
		return "'-l USER' names another user, '-i FILE' a key; 'ssh-add -l' shows what the agent has";
	case PSSH_EALGORITHM:
		return "'nanopod ssh --openssh HOST' runs the system's ssh, which may have one in common";
	case PSSH_EPASSPHRASE:
		return "'ssh-add FILE' unlocks the key once";
	case PSSH_EPROXY:
		return "try the jump host itself: 'nanopod ssh JUMP true'";
	default:
		return NULL;
	}
}

const char *summary_hint_about(struct nanopod *np, const char *host, int code, char room[SELECT_HINT])
{
	if (code == PSSH_ERESOLVE && (node_ended_told(np, host, room, SELECT_HINT) || select_near(np, host, room)))
		return room;
	return summary_hint(code);
}

static const char *summary_hint_for(const struct fanout *f, const struct outcome *o, char room[SELECT_HINT])
{
	const struct node *n = nodes_of_host(f->np->nodes, o->name);

	if (o->state != OUTCOME_ERROR)
		return become_hint(o);
	if (o->status == PSSH_EAGAIN && n && !node_reachable(n))
		return "'--wait' waits for nodes that do not run yet, '--only-ready' leaves them out";
	if (o->status == PSSH_EHOSTNEW && n)
		return "'nanopod replace NODE' makes another one";
	if (o->status == PSSH_EHOSTKEY && n)
		return "the market knows this node's key, and this is another: nothing was sent; 'nanopod "
		       "console NODE' shows "
		       "what its host says, 'nanopod replace NODE' takes another one";
	if (strstr(o->text, "locked by a passphrase"))
		return "'ssh-add FILE' unlocks it for all";
	if (o->status == PSSH_EAUTH && strstr(o->text, "libssh2 cannot"))
		return "'nanopod ssh --openssh HOST' runs the system's ssh, which may be able to";
	if (o->status == PSSH_ETIMEOUT && o->begun)
		return "'--timeout' allows more time";
	return summary_hint_about(f->np, o->name, o->status, room);
}

/* Length of a host's own name or address at s, or 0. */
static size_t own_text(const struct outcome *o, const char *s)
{
	const char *own[] = { o->name, outcome_address(o), outcome_fingerprint(o) };

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (own[i] && *own[i] && str_starts(s, own[i]))
			return strlen(own[i]);
	return 0;
}

/*
 * The cause of a failure. own: with the host's name and address; else with `*` for them, so that hosts share a cause.
 */
static char *cause_of(const struct outcome *o, bool own)
{
	struct buf b;
	size_t n;

	buf_init(&b, 65536);
	if (o->state == OUTCOME_EXIT) {
		buf_addf(&b, "%s%s%d", o->text ? o->text : "", o->text ? ": exit status " : "exit status ", o->status);
	} else if (o->state == OUTCOME_SIGNAL) {
		buf_addf(&b, "ended by SIG%s", o->text);
	} else {
		for (const char *s = o->text; *s;) {
			if ((n = own ? 0 : own_text(o, s)) != 0)
				buf_addc(&b, '*');
			else
				group_harmless(&b, s, 1);
			s += n ? n : 1;
		}
		if (!b.len)
			buf_adds(&b, pssh_strerror(o->status));
	}
	return buf_steal(&b);
}

/* Where sentences still differ, in addresses and the like, the code is the cause. */
static int by_cause(const void *x, const void *y)
{
	const struct cause *a = x, *b = y;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return (a->first > b->first) - (a->first < b->first);
}

static struct cause *summary_find(struct cause *causes, size_t *count, const char *text, int code)
{
	struct cause *same_code = NULL;

	for (size_t i = 0; i < *count; i++) {
		/* Changed keys are one cause, though each is on another line of a file. */
		if (causes[i].code == code && (code == PSSH_EHOSTKEY || strcmp(causes[i].text, text) == 0))
			return &causes[i];
		if (code && causes[i].code == code)
			same_code = &causes[i];
	}
	if (*count < CAUSES_SHOWN || !same_code) {
		if (*count == CAUSES_SHOWN * 2)
			return &causes[*count - 1];
		causes[*count] = (struct cause){ .text = strdup(text), .code = code };
		if (!causes[*count].text)
			command_nomem();
		return &causes[(*count)++];
	}
	free(same_code->text);
	same_code->text = strdup(pssh_strerror(code));
	if (!same_code->text)
		command_nomem();
	return same_code;
}

static size_t sort_causes(const struct fanout *f, struct cause *causes)
{
	size_t count = 0;

	for (size_t i = 0; i < f->count; i++) {
		const struct outcome *o = &f->hosts[i];
		struct cause *c;
		char *text;

		if (!outcome_ended(o) || outcome_ok(o))
			continue;
		text = cause_of(o, false);
		if (!text)
			command_nomem();
		c = summary_find(causes, &count, text, o->state == OUTCOME_ERROR ? o->status : 0);
		free(text);
		if (!c->names && !(c->names = calloc(f->count, sizeof *c->names)))
			command_nomem();
		if (!c->count) {
			c->first = i;
			c->example = o;
		}
		c->names[c->count++] = o->name;
	}
	qsort(causes, count, sizeof *causes, by_cause);
	return count;
}

/*
 * Names in commas, for a terminal: the list may continue on the next line where one name ends; a range so long that no
 * line has room for it, where a number ends. free() it.
 */
static char *summary_breakable(const struct nanopod *np, char *names)
{
	size_t cells = print_columns(np->err) - SUMMARY_INDENT, piece = 0;
	struct buf b;
	bool inside = false;

	if (!np->tty_err || print_width(names) <= cells)
		return names;
	buf_init(&b, NAMES_SHOWN * 8);
	for (const char *s = names; *s; s++) {
		inside = *s == '[' || (inside && *s != ']');
		piece++;
		buf_addc(&b, *s);
		if (*s == ',' && (!inside || piece + strcspn(s + 1, ",]") >= cells)) {
			buf_addc(&b, ' ');
			piece = 0;
		}
	}
	free(names);
	return buf_steal(&b);
}

static void show_cause(const struct fanout *f, const struct cause *c)
{
	char room[SELECT_HINT];
	struct nanopod *np = f->np;
	char *names = select_fold_names(c->names, c->count, NAMES_SHOWN);
	bool changed = c->code == PSSH_EHOSTKEY && c->count > 1 && !nodes_of_host(np->nodes, c->example->name);
	const char *hint = changed ? "where a host was reinstalled, 'ssh-keygen -R HOST' forgets its old key; if not, "
				     "somebody may be in between"
				   : summary_hint_for(f, c->example, room);
	char *own = c->count == 1 ? cause_of(c->example, true) : changed ? strdup(pssh_strerror(c->code)) : NULL;
	const char *text = own ? own : c->text;
	size_t columns = np->tty_err ? print_columns(np->err) : SIZE_MAX, last;
	char *rest;

	names = summary_breakable(np, names);
	if (asprintf(&rest, "(%zu): %s", c->count, names) < 0)
		command_nomem();
	fprintf(np->err, "  %s", print_color(np, np->err, COLOR_RED));
	last = print_wrapped(np->err, text, 2, SUMMARY_INDENT, columns);
	fprintf(np->err, "%s ", print_color(np, np->err, COLOR_NONE));
	print_rest(np, np->err, rest, last + 1, SUMMARY_INDENT);
	if (hint) {
		fprintf(np->err, "%*s", SUMMARY_HINT_INDENT, "");
		print_rest(np, np->err, hint, SUMMARY_HINT_INDENT, SUMMARY_HINT_INDENT);
	}
	free(rest);
	free(own);
	free(names);
}

/* The host was reached but ran out of time, so 255 would be wrong. */
static bool ran_out(const struct outcome *o)
{
	return o->state == OUTCOME_ERROR && o->status == PSSH_ETIMEOUT && o->begun;
}

static void summary_show_one(struct fanout *f)
{
	const struct outcome *o = &f->hosts[0];
	int status = ran_out(o) ? STATUS_UNREACHABLE : STATUS_TRANSPORT;
	char room[SELECT_HINT];

	if (o->state == OUTCOME_ERROR && strstr(o->text, o->name))
		print_fail(f->np, status, summary_hint_for(f, o, room), "%s", o->text);
	else if (o->state == OUTCOME_ERROR)
		print_fail(f->np, status, summary_hint_for(f, o, room), "%s: %s", o->name,
			*o->text ? o->text : pssh_strerror(o->status));
	else if (o->state == OUTCOME_SIGNAL)
		print_note(f->np, "%s: SIG%s ended the command", o->name, o->text);
	else if (o->text)
		print_fail(f->np, STATUS_FAILURE, summary_hint_for(f, o, room), "%s: %s", o->name, o->text);
}

/* "3 of 5 hosts failed, 2 were not begun"; free() it. NULL: all are well. */
static char *summary_count(const struct fanout *f)
{
	size_t failed = 0, unbegun = 0;
	char *text, more[64] = "";

	for (size_t i = 0; i < f->count; i++) {
		failed += !outcome_ok(&f->hosts[i]) && !f->hosts[i].unbegun;
		unbegun += f->hosts[i].unbegun;
	}
	if (!failed && !unbegun)
		return NULL;
	if (unbegun)
		snprintf(more, sizeof more, ", %zu %s not begun", unbegun, unbegun == 1 ? "was" : "were");
	if (asprintf(&text, "%zu of %zu hosts failed%s", failed, f->count, more) < 0)
		command_nomem();
	return text;
}

static void summary_show_many(struct fanout *f, const char *counts, const char *again)
{
	struct cause *causes;
	size_t count;

	if (f->np->errors_json) {
		print_fail(f->np, STATUS_PARTLY, again, "%s", counts);
		return;
	}
	causes = calloc(CAUSES_SHOWN * 2 + 1, sizeof *causes);
	if (!causes)
		command_nomem();
	print_note(f->np, "%s:", counts);
	count = sort_causes(f, causes);
	for (size_t i = 0; i < count; i++) {
		show_cause(f, &causes[i]);
		free(causes[i].names);
		free(causes[i].text);
	}
	free(causes);
	if (again) {
		fputs("  repeat only these: ", f->np->err);
		print_rest(f->np, f->np->err, again, strlen("  repeat only these: "), SUMMARY_INDENT);
	}
}

void summary_show(struct fanout *f, const char *again)
{
	char *counts;

	fanout_quiet(f);
	fflush(f->np->out);
	/* The hosts were stopped here; print_finish() says why where a person should know. */
	if (f->broken)
		return;
	counts = summary_count(f);
	if (counts && f->count == 1)
		summary_show_one(f);
	else if (counts)
		summary_show_many(f, counts, again);
	free(counts);
}

int summary_status(const struct fanout *f, bool largest)
{
	int most = 0;

	if (f->broken)
		return f->reader_gone ? STATUS_PIPE : STATUS_FAILURE;
	if (f->asked)
		return 128 + (f->first_signal ? f->first_signal : SIGINT);
	if (f->count == 1 && ran_out(&f->hosts[0]))
		return STATUS_UNREACHABLE;
	for (size_t i = 0; i < f->count; i++)
		if (outcome_status(&f->hosts[i]) > most)
			most = outcome_status(&f->hosts[i]);
	if (f->count == 1 || largest || most == 0)
		return most;
	return STATUS_PARTLY;
}
