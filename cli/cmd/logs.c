/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod logs: prints logs of nodes in the order of time: consoles as the market keeps them, and over SSH
 * journals, files and commands. With -f it follows over restarts and lost connections; no line is lost, none comes
 * twice.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "cli/frame/json.h"
#include "cli/logs/logtail.h"
#include "cli/nodes/node.h"
#include "cli/nodes/nodestart.h"
#include "cli/frame/print.h"
#include "cli/provision/report/clusterlogs.h"
#include "cli/provision/report/joblogs.h"
#include "cli/provision/report/runlog.h"
#include "cli/remote/script.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "market/when.h"

enum { LINES_FALLBACK = 100, LINES_FILTERED = 10000, COMMAND_MAX = 30000, LINE_ROOM = 3 << 20, YEAR = 365 * 86400 };

struct logs {
	struct nanopod *np;
	const struct options *o;
	struct log_want want;
	struct pssh_list *hosts;
	char **words; /* the wanted logs: words after the node's name, if there was one */
	int word_count;
	struct buf command;        /* after "--" */
	struct market_link *m;
	struct connect *connect;
	struct logtail *tail;
	struct clusterlogs *cluster; /* the first word names a provisioned cluster */
	const char *first;         /* the word that named a node or a reservation */
	size_t width;
	uint64_t seq;
	bool many;                 /* logs of one node */
	struct buf line;
	size_t added, left_out; /* logs to read; those of nodes that are not up */
};

static const struct option options[] = {
	SELECT_OPTIONS,
	{ .name = "follow",
		.letter = 'f',
		.kind = OPTION_FLAG,
		.help = "follow, also over restarts and lost connections" },
	{ .name = "lines",
		.letter = 'n',
		.kind = OPTION_STRING,
		.arg = "N|all",
		.fallback = "100",
		.help = "start with the last N lines of each log" },
	{ .name = "since",
		.kind = OPTION_STRING,
		.arg = "TIME",
		.help = "print only lines since then: '2h' ago, 'today 09:00', a date, @unix" },
	{ .name = "until", .kind = OPTION_STRING, .arg = "TIME", .help = "print only lines until then" },
	{ .name = "priority",
		.letter = 'p',
		.kind = OPTION_ENUM,
		.values = "emerg|alert|crit|err|warning|notice|info|debug",
		.help = "minimum severity, as the journal or the line tells it" },
	{ .name = "failed",
		.kind = OPTION_FLAG,
		.help = "of a cluster, print everything that tells why something failed" },
	{ .name = "timestamps",
		.letter = 't',
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print the time before each line" },
	{ .name = "no-label",
		.kind = OPTION_FLAG,
		.section = "Output",
		.help = "print lines unchanged, without the nodes' names" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod logs train-0", "the end of its console: the boot, and what went wrong" },
	{ "nanopod logs -r train -f", "follow the consoles of all nodes of a reservation" },
	{ "nanopod logs -r train -f journal /var/log/train.log", "follow journals and a file of all nodes" },
	{ "nanopod logs -w 'n[1-8]' --since 2h -p err journal", "errors of the last two hours on plain hosts" },
	{ "nanopod logs train-0 unit:slurmd -o jsonl", "a unit's journal, for programs" },
	{ "nanopod logs -r train -f -- nvidia-smi dmon", "a command's output with the nodes' names" },
	{ "nanopod logs lab -f -p err slurmctld slurmd", "errors of two services of a provisioned cluster" },
	{ "nanopod logs lab -f job/12", "a job's output, from the node that has it" },
	{ 0 },
};

/* ---- What is asked for -------------------------------------------------------------------- */

static int64_t logs_midnight(time_t now)
{
	struct tm t;

	localtime_r(&now, &t);
	t.tm_hour = t.tm_min = t.tm_sec = 0;
	t.tm_isdst = -1;
	return mktime(&t);
}

/* "2h" means two hours ago; anything else is a time, which may be past. */
static int read_time(struct logs *l, const char *name, int64_t *out)
{
	const char *text = option_text(l->o, name);
	int64_t now = time(NULL), seconds;
	struct fail f = { 0 };
	char field[32], iso[WHEN_TEXT], hint[160];

	*out = 0;
	if (!text)
		return STATUS_OK;
	if (when_duration(text, &seconds, &f) == 0) {
		*out = now - seconds;
		return STATUS_OK;
	}
	if (strcmp(text, "now") == 0) {
		*out = now;
		return STATUS_OK;
	}
	/*
	 * when_start() refuses past and far times: for a date pretend that it is years ago, for a time of today
	 * midnight.
	 */
	for (int64_t from = now; (*text == '@' || strchr(text, '-')) && from > 0; from -= YEAR)
		if (when_start(text, from, out, &f) == 0)
			return STATUS_OK;
	if (when_start(text, logs_midnight(now), out, &f) == 0) {
		if (*out > now && isdigit((unsigned char)*text)) /* "18:00" typed in the morning means yesterday's */
			*out -= 86400;
		return STATUS_OK;
	}
	snprintf(field, sizeof field, "--%s", name);
	/* An hour ago. */
	snprintf(hint, sizeof hint, "'2h' is two hours ago; '%s', '@%" PRId64 "' are times", when_iso(now - 3600, iso),
		now - 3600);
	return print_fail_field(l->np, STATUS_USAGE, field, hint, "cannot understand the time '%s'", text);
}

static int read_want(struct logs *l)
{
	static const char *const priorities[] = { "emerg", "alert", "crit", "err", "warning", "notice", "info",
		"debug" };
	const char *lines = option_text(l->o, "lines"), *priority = option_text(l->o, "priority");
	int status;

	l->want = (struct log_want){ .follow = option_given(l->o, "follow"), .lines = LINES_FALLBACK, .priority = -1 };
	if (strcmp(lines, "all") == 0)
		l->want.lines = -1;
	else if (str_to_long(lines, 0, 10000000, &l->want.lines) != 0)
		return print_fail_field(l->np, STATUS_USAGE, "--lines", NULL,
			"'%s' is not a number of lines; 'all' prints all", lines);
	for (int i = 0; priority && i < 8; i++)
		if (strcmp(priorities[i], priority) == 0)
			l->want.priority = i;
	status = read_time(l, "since", &l->want.since);
	status = status ? status : read_time(l, "until", &l->want.until);
	if (!status && l->want.follow && l->want.until)
		return print_fail_field(l->np, STATUS_USAGE, "--until", NULL,
			"--follow and --until exclude each other");
	if (!status && !option_given(l->o, "lines"))
		l->want.lines = l->want.since ? -1 : l->want.priority >= 0 ? LINES_FILTERED : LINES_FALLBACK;
	return status;
}

/* Does the market have a reservation or a node of that name? */
static bool in_market(struct logs *l, const char *name)
{
	bool found = false;

	nodes_guess(l->np, (const char *[]){ name }, 1, true);
	for (size_t i = 0; l->np->nodes && i < l->np->nodes->count && !found; i++)
		found = node_in(&l->np->nodes->list[i], name);
	return found || (l->np->nodes && nodes_of_host(l->np->nodes, name));
}

/* Options that choose hosts choose among a cluster's members. */
static void leave_out(struct logs *l, struct pssh_list *chosen)
{
	struct cluster *c = l->cluster->cluster;

	for (size_t i = 0; i < c->count; i++) {
		l->cluster->left_out[i] = true;
		for (size_t k = 0; k < pssh_list_count(chosen); k++)
			if (strcmp(c->members[i], pssh_list_get(chosen, k)) == 0)
				l->cluster->left_out[i] = false;
	}
}

/*
 * Is the first word a provisioned cluster? Where a reservation has the same name, the other words decide. The
 * cluster's members become the hosts. given: options named hosts.
 */
static int read_cluster(struct logs *l, bool given)
{
	bool failed = option_given(l->o, "failed"), own = failed || given;
	const char *name = l->word_count ? l->words[0] : NULL;
	struct fail f = { 0 };
	int rc = 0;

	if (name && clusterlogs_known(name))
		rc = clusterlogs_open(name, &l->want, &l->cluster, &f);
	if (rc && (rc != -ENOENT || failed)) /* planned but never applied: the name may mean something else */
		return print_fail(l->np, STATUS_FAILURE, NULL, "%s", f.text);
	for (int i = 1; l->cluster && i < l->word_count; i++)
		own |= clusterlogs_word(l->cluster, l->words[i]);
	if (l->cluster && !own && in_market(l, name)) {
		clusterlogs_free(l->cluster);
		l->cluster = NULL;
	}
	if (failed && (!l->cluster || l->word_count > 1 || l->command.len || l->want.follow))
		return print_fail_field(l->np, STATUS_USAGE, "--failed", NULL,
			"'nanopod logs CLUSTER --failed' works only for a provisioned cluster");
	if (!l->cluster)
		return STATUS_OK;
	if (given)
		leave_out(l, l->hosts);
	pssh_list_free(l->hosts);
	select_new(l->np, &l->hosts);
	for (size_t i = 0; i < l->cluster->cluster->count; i++)
		if (!l->cluster->left_out[i] && pssh_list_add(l->hosts, l->cluster->cluster->members[i]) != 0)
			command_nomem();
	l->words++;
	l->word_count--;
	return STATUS_OK;
}

/* Where no option names hosts, the first word is a node or reservation. Words after "--" are a command. */
static int logs_read_words(struct logs *l)
{
	int split = option_split(l->o), status;
	bool given;

	l->words = option_argv(l->o);
	l->word_count = split < 0 ? option_argc(l->o) : split;
	if (split >= 0 && script_join(option_argv(l->o) + split, &l->command) != 0)
		return print_fail(l->np, STATUS_USAGE, NULL, "the command is longer than %d bytes", COMMAND_MAX);
	status = select_options(l->np, l->o, l->hosts, &given);
	status = status ? status : read_cluster(l, given);
	if (status || given || l->cluster)
		return status;
	if (l->word_count == 0)
		return print_fail(l->np, STATUS_USAGE,
			"'nanopod logs NODE', 'nanopod logs -r RESERVATION', 'nanopod logs CLUSTER'", "no node given");
	nodes_guess(l->np, (const char *[]){ l->words[0] }, 1, true);
	if (l->np->nodes && !nodes_of_host(l->np->nodes, l->words[0])) {
		char *group;

		if (asprintf(&group, "@%s", l->words[0]) < 0)
			command_nomem();
		for (size_t i = 0; i < l->np->nodes->count && !given; i++)
			given = node_in(&l->np->nodes->list[i], l->words[0]);
		status = select_add(l->np, l->hosts, given ? group : l->words[0]);
		free(group);
	} else {
		status = select_add(l->np, l->hosts, l->words[0]);
	}
	l->first = *l->words++;
	l->word_count--;
	status = status ? status : select_exclude(l->np, l->o, l->hosts);
	return status ? status : select_nodes(l->np, l->o, l->hosts);
}

/* ---- From where ---------------------------------------------------------------------------- */

static const struct node *logs_node_of(const struct logs *l, const char *name)
{
	return l->np->nodes ? nodes_of_host(l->np->nodes, name) : NULL;
}

/* One of several nodes that is not up does not keep the others' logs back. */
static int logs_leave_out(struct logs *l, const struct node *n)
{
	char room[NODESTART_TEXT];
	const char *why = node_why(n, room);

	if (pssh_list_count(l->hosts) == 1)
		return node_unreachable(l->np, n);
	print_warn(l->np, "cannot reach '%s': %s%s%s", n->name, node_state_told(n), why ? ": " : "", why ? why : "");
	l->left_out++;
	return STATUS_OK;
}

static int logs_add(struct logs *l, const char *name, enum log_kind kind, const char *what)
{
	const struct node *n = logs_node_of(l, name);

	if (kind == LOG_CONSOLE && !n)
		return print_fail(l->np, STATUS_NOTFOUND, "'nanopod logs -w HOST journal' reads its journal",
			"'%s' is not a node of the market, which keeps only consoles of nodes", name);
	if (kind == LOG_CONSOLE && n->status == MODEL_INSTANCE_AWAITING && !l->want.follow)
		print_note(l->np, "'%s' is pending: its console is empty until it starts", n->name);
	if (kind != LOG_CONSOLE && n && !node_reachable(n) && !l->want.follow)
		return logs_leave_out(l, n);
	l->added++;
	return logtail_add(l->tail, name, kind, what, kind == LOG_CONSOLE ? n->id : NULL);
}

/* Perhaps the name of a cluster was mistyped. */
static int no_log(struct logs *l, const struct fail *f)
{
	char *near = l->first && !logs_node_of(l, l->first) ? runlog_near(l->first) : NULL, hint[200];

	snprintf(hint, sizeof hint, "did you mean the cluster '%.63s'? it has more logs", near ? near : "");
	print_fail(l->np, STATUS_USAGE,
		near ? hint : "a cluster has more logs; 'nanopod provision list' lists the clusters known here", "%s",
		f->text);
	free(near);
	return STATUS_USAGE;
}

/* Adds the wanted logs of one host. The default is a node's console, and another host's journal. */
static int logs_add_host(struct logs *l, const char *name)
{
	struct fail f = { 0 };
	enum log_kind kind;
	const char *what;
	int status = STATUS_OK;

	for (int i = 0; !status && i < l->word_count; i++) {
		if (logsource_what(l->words[i], &kind, &what, &f) != 0)
			return no_log(l, &f);
		status = logs_add(l, name, kind, what);
	}
	if (!status && l->command.len)
		status = logs_add(l, name, LOG_COMMAND, buf_text(&l->command));
	if (!status && !l->word_count && !l->command.len)
		status = logs_node_of(l, name) ? logs_add(l, name, LOG_CONSOLE, "")
					       : logs_add(l, name, LOG_JOURNAL, "");
	return status;
}

static bool wants_consoles(const struct logs *l)
{
	bool named = !l->word_count && !l->command.len;

	for (int i = 0; i < l->word_count; i++)
		named |= strcmp(l->words[i], "console") == 0;
	return named && l->np->nodes;
}

static bool wants_ssh(const struct logs *l)
{
	bool plain = l->command.len > 0;

	for (int i = 0; i < l->word_count; i++)
		plain |= strcmp(l->words[i], "console") != 0;
	for (size_t i = 0; i < pssh_list_count(l->hosts); i++)
		plain |= !logs_node_of(l, pssh_list_get(l->hosts, i));
	return plain;
}

/* ---- How it is shown ----------------------------------------------------------------------- */

static void logs_need(int rc)
{
	if (rc == -ENOMEM)
		command_nomem();
}

static const char *when_text(int64_t us, char room[WHEN_TEXT + 16])
{
	char whole[WHEN_TEXT];

	when_iso(us / 1000000, whole);
	snprintf(room, WHEN_TEXT + 16, "%.*s.%06" PRId64 "Z", (int)strcspn(whole, "Z"), whole, us % 1000000);
	return room;
}

static void logs_show_json(struct logs *l, const struct logtail_line *t)
{
	struct json j = json_to(&l->line);
	char room[WHEN_TEXT + 16];

	json_begin_object(&j, NULL);
	json_int(&j, "seq", (int64_t)++l->seq);
	json_text(&j, "time", when_text(t->line->us, room));
	json_text(&j, "node", t->label);
	json_text(&j, "log", logkind_name(t->kind));
	json_text(&j, "what", t->what);
	if (t->line->priority >= 0)
		json_int(&j, "priority", t->line->priority);
	json_bytes(&j, "line", t->line->text, t->line->len);
	json_end(&j);
	logs_need(buf_addc(&l->line, '\n'));
	fwrite(buf_text(&l->line), 1, l->line.len, l->np->out);
}

static void show_label(struct logs *l, const struct logtail_line *t)
{
	static const enum color colors[] = { COLOR_CYAN, COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_MAGENTA };
	FILE *out = l->np->out;
	size_t n = strlen(t->label);

	fputs(print_color(l->np, out, colors[t->number % (sizeof colors / sizeof *colors)]), out);
	print_safe_line(out, t->label);
	if (l->many) {
		const char *what = t->kind == LOG_FILE || *t->what ? t->what : logkind_name(t->kind);

		what = t->kind == LOG_COMMAND && !l->cluster ? "--" : what;
		fputc(' ', out);
		print_safe_line(out, what); /* a name that a program on the node chose */
		n += 1 + strlen(what);
	}
	fputc(':', out);
	fputs(print_color(l->np, out, COLOR_NONE), out);
	for (; n < l->width; n++)
		fputc(' ', out);
	fputc(' ', out);
}

static void show_text(struct logs *l, const struct logtail_line *t)
{
	FILE *out = l->np->out;
	char room[WHEN_TEXT + 16];

	if (!option_given(l->o, "no-label"))
		show_label(l, t);
	if (option_given(l->o, "timestamps") || t->kind == LOG_JOURNAL || t->kind == LOG_FAILED)
		fprintf(out, "%s ", when_text(t->line->us, room));
	if (t->line->priority >= 0 && t->line->priority <= 3)
		fputs(print_color(l->np, out, COLOR_RED), out);
	if (l->np->tty_out)
		print_safe(out, t->line->text, t->line->len);
	else
		fwrite(t->line->text, 1, t->line->len, out);
	if (t->line->priority >= 0 && t->line->priority <= 3)
		fputs(print_color(l->np, out, COLOR_NONE), out);
	fputc('\n', out);
}

static int logs_show(void *arg, const struct logtail_line *t)
{
	struct logs *l = arg;

	buf_clear(&l->line);
	if (l->np->format == FORMAT_JSONL)
		logs_show_json(l, t);
	else
		show_text(l, t);
	return ferror(l->np->out);
}

/* ---- The command --------------------------------------------------------------------------- */

/* Failed steps come first: the times of the rest are of now. */
static void show_step(void *arg, const struct clusterlogs_step *s, const char *text, size_t len)
{
	struct logline line = { .us = s->us, .priority = -1, .len = len, .text = (char *)text };
	struct logs *l = arg;

	logs_show(l, &(struct logtail_line){ s->node, s->step, LOG_FILE, 0, &line });
}

static int pick_all(struct logs *l)
{
	struct clusterlogs *c = l->cluster;
	struct fail f = { 0 };
	int status = STATUS_OK;

	for (int i = 0; !status && i < l->word_count; i++)
		if (strncmp(l->words[i], "job/", 4) == 0)
			status = joblogs_find(l->np, l->connect, c, l->words[i], l->want.follow);
		else if (clusterlogs_add(c, l->words[i], &f) != 0)
			status = print_fail(l->np, f.code == -ENOENT ? STATUS_NOTFOUND : STATUS_USAGE, NULL, "%s",
				f.text);
	for (size_t i = 0; l->command.len && i < c->cluster->count; i++)
		clusterlogs_put(c, i, LOG_COMMAND, buf_text(&l->command), NULL, "--");
	if (!status && option_given(l->o, "failed"))
		clusterlogs_failed(c);
	else if (!status && !l->word_count && !l->command.len)
		clusterlogs_all(c);
	if (!status && option_given(l->o, "failed") &&
		clusterlogs_steps(c->cluster->name, l->want.lines, show_step, l, &f) != 0)
		status = print_fail(l->np, STATUS_FAILURE, NULL, "%s", f.text);
	if (!status && !c->count)
		return print_fail(l->np, STATUS_NOTFOUND, "'nanopod logs CLUSTER journal' reads the journals",
			"no stack of cluster '%s' tells "
			"where it logs, or no node was chosen",
			c->cluster->name);
	return status;
}

/* Adds a member's logs together, so that its lines have one colour. */
static int go_cluster(struct logs *l)
{
	struct clusterlogs *c = l->cluster;
	int status = connect_open(l->np, &l->connect);

	l->many = l->word_count != 1 || l->command.len || strncmp(l->words[0], "job/", 4) == 0;
	for (size_t i = 0; i < pssh_list_count(l->hosts); i++) {
		size_t n = strlen(pssh_list_get(l->hosts, i));

		l->width = n > l->width ? n : l->width;
	}
	status = status ? status : pick_all(l);
	for (size_t i = 1; i < c->count; i++) /* one word may be all logs of a stack */
		l->many |= c->at[i].name && c->at[0].name && strcmp(c->at[i].name, c->at[0].name) != 0;
	if (status)
		return status;
	logtail_new(l->np, l->connect, NULL, &l->want, &l->tail);
	for (size_t m = 0; m < c->cluster->count; m++)
		for (size_t i = 0; i < c->count; i++)
			if (c->at[i].member == m)
				logtail_pick(l->tail,
					&(struct logtail_pick){ c->cluster->members[m], c->at[i].kind, c->at[i].what,
						c->at[i].name, c->at[i].unit,
						strcmp(c->at[i].name ? c->at[i].name : "", "--") != 0,
						c->at[i].optional });
	return logtail_run(l->tail, logs_show, l);
}

static int logs_go(struct logs *l)
{
	int status = STATUS_OK;

	if (wants_consoles(l))
		status = market_sign_in(l->np, NULL, 0, &l->m);
	if (!status && wants_ssh(l))
		status = connect_open(l->np, &l->connect);
	if (status)
		return status;
	logtail_new(l->np, l->connect, l->m, &l->want, &l->tail);
	l->many = l->word_count + (l->command.len > 0) > 1;
	for (size_t i = 0; !status && i < pssh_list_count(l->hosts); i++) {
		size_t n = strlen(pssh_list_get(l->hosts, i));

		l->width = n > l->width ? n : l->width;
		status = logs_add_host(l, pssh_list_get(l->hosts, i));
	}
	if (!status && l->left_out && !l->added)
		return print_fail(l->np, STATUS_CONFLICT, "'--wait' waits for them", "none of the nodes runs");
	status = status ? status : logtail_run(l->tail, logs_show, l);
	return !status && l->left_out ? STATUS_PARTLY : status;
}

static int logs_run(struct nanopod *np, const struct options *o)
{
	struct logs l = { .np = np, .o = o };
	int status;

	buf_init(&l.command, COMMAND_MAX);
	buf_init(&l.line, LINE_ROOM);
	select_new(np, &l.hosts);
	status = read_want(&l);
	status = status ? status : logs_read_words(&l);
	if (!status) {
		select_recognize(np, l.hosts);
		select_tell_end(np, l.hosts);
		status = l.cluster ? go_cluster(&l) : logs_go(&l);
	}
	logtail_free(l.tail);
	clusterlogs_free(l.cluster);
	if (l.connect)
		connect_close(np, l.connect);
	market_sign_out(l.m);
	pssh_list_free(l.hosts);
	buf_release(&l.command);
	buf_release(&l.line);
	return status;
}

const struct command cmd_logs = {
	.name = "logs",
	.args = "[NODE|RESERVATION|CLUSTER] [LOG...] [-- COMMAND...]",
	.summary = "print and follow logs of nodes",
	.examples = examples,
	.description = "Without a LOG prints a node's console, boot included, as the market keeps it, also where "
		       "the node cannot be reached; of a plain host it prints the journal. Merges the lines of all "
		       "logs by their times.\n\nWith -f it continues where it was when a node restarts, a "
		       "connection is lost or a file is rotated: a journal by its cursor, a file by inode and "
		       "offset, a console by its numbers. Commands run again.\n\nOf a cluster made by 'nanopod "
		       "provision' a LOG may also be one that its stacks name (slurmctld, slurmd, k3s ...), "
		       "pod/[NAMESPACE/]NAME or job/ID: nanopod knows which nodes have it and where. Without a LOG "
		       "it prints all of them.",
	.positional = "NODE      a node, a reservation (all of its nodes), or a host that ssh knows; not with -r, -w\n"
		      "CLUSTER   a provisioned cluster, as 'nanopod provision list' lists them\n"
		      "LOG       console, journal, unit:NAME or NAME.service, a file's path, or a cluster's log\n"
		      "COMMAND   command to run there; its output is the log",
	.options = options,
	.formats = "text|jsonl|yaml",
	.flags = COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 0,
	.max_args = -1,
	.complete_first = COMPLETE_HOSTS,
	.complete_rest = COMPLETE_NONE,
	.run = logs_run,
};
