/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod cp: files to many hosts, or from many hosts, over the same connections. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/cmd/cp_local.h"
#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/remote/fanout.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"
#include "cli/remote/summary.h"
#include "cli/tree/treecopy.h"

/* One word of the command line. */
struct place {
	char *hosts;       /* expression; "": the selection; NULL: a local file */
	const char *path;  /* never empty: "." stands for the home directory */
};

/* One source and where it goes: a task. */
struct step {
	const char *from;
	char *to;
};

struct copy {
	struct nanopod *np;
	const struct options *o;
	struct place *places;
	size_t count;            /* with the target, which is the last */
	bool put;
	bool one; /* one_host() of all words */
	struct fanout fanout;
	const struct step *step;
	uint64_t unchanged; /* files of the steps before this one */
	uint64_t seq;
};

static const struct option options[] = {
	SELECT_OPTIONS_BUT(0),
	{ .name = "recursive", .letter = 'r', .kind = OPTION_FLAG, .help = "copy directories with everything in them" },
	{ .name = "preserve", .letter = 'p', .kind = OPTION_FLAG, .help = "keep modes and times" },
	{ .name = "update",
		.letter = 'u',
		.kind = OPTION_FLAG,
		.help = "leave files alone that have the source's size and time; keep times" },
	{ .name = "resume", .kind = OPTION_FLAG, .help = "continue an interrupted copy that used --resume" },
	{ .name = "checksum", .kind = OPTION_FLAG, .help = "compare SHA-256 of both sides afterwards" },
	{ .name = "tree",
		.kind = OPTION_FLAG,
		.help = "hosts pass a large file on to each other; they need an ssh client" },
	{ .name = "streams",
		.kind = OPTION_INT,
		.arg = "N",
		.min = 1,
		.max = PSSH_STREAMS,
		.help = "connections to each host for files of 16 MiB and more (default: 1)" },
	{ .name = "fanout",
		.letter = 'f',
		.kind = OPTION_INT,
		.arg = "N",
		.min = 1,
		.max = 65536,
		.setting = "fanout",
		.help = "copy to N hosts at a time (default: to all, opening 128 connections at a time)" },
	{ .name = "timeout",
		.kind = OPTION_DURATION,
		.may_none = true,
		.setting = "timeout",
		.help = "timeout for each host" },
	{ .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .help = "print only failures" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod cp a b 'n[1-64]:/dir/'", "two files to 64 hosts" },
	{ "nanopod cp -r site/ 'web[1-4]:/srv/site'", "a directory" },
	{ "nanopod cp 'n[1-64]:/var/log/syslog' './logs/{host}'", "one file from each host, under its name" },
	{ "nanopod cp 'n[1-64]:/var/log/syslog' logs/", "as logs/n1/syslog, logs/n2/syslog …" },
	{ "nanopod cp 'n[1-64]:/var/log/*.log' logs/", "what matches on each host, as logs/n1/a.log …" },
	{ "nanopod cp './conf/{host}.yaml' 'n[1-3]:/etc/app.yaml'", "to each host a file of its own" },
	{ "nanopod cp -r -u site/ 'web[1-4]:/srv/'", "only what has changed since the last time" },
	{ "nanopod cp --reservation train model.bin :/data/", "to every node of a reservation" },
	{ "nanopod cp --resume --checksum model.bin 'g[1-8]:/data/'", "continue after an interruption, and verify" },
	{ "nanopod cp --streams 4 model.bin far.example.com:/data/", "over a long way, on four connections" },
	{ "nanopod cp --tree model.tar 'n[1-64]:/data/'", "a large file, from host to host" },
	{ 0 },
};

/* ---- Words ----------------------------------------------------------------------------- */

/* The ':' that ends the hosts: outside brackets and before any slash, as in scp. */
static const char *remote_colon(const char *text)
{
	int depth = 0;

	for (const char *s = text; *s; s++) {
		if (*s == '[')
			depth++;
		else if (*s == ']' && depth)
			depth--;
		else if (*s == '/' && !depth)
			return NULL;
		else if (*s == ':' && !depth)
			return s;
	}
	return NULL;
}

static void cp_place_parse(struct place *p, const char *text)
{
	const char *colon = remote_colon(text);

	*p = (struct place){ .path = text };
	if (!colon)
		return;
	p->hosts = strndup(text, (size_t)(colon - text));
	if (!p->hosts)
		command_nomem();
	p->path = colon[1] ? colon + 1 : ".";
}

static int check_sides(struct copy *c)
{
	bool target = c->places[c->count - 1].hosts != NULL;

	for (size_t i = 0; i + 1 < c->count; i++) {
		const char *word = option_argv(c->o)[i];

		if (c->places[i].hosts && target)
			return print_fail(c->np, STATUS_USAGE,
				"copy it here first, or run 'scp' on a host by 'nanopod run'",
				"both '%s' and the target are on hosts", word);
		if (!c->places[i].hosts && !target)
			return print_fail(c->np, STATUS_USAGE,
				"a place on a host has a colon: 'nanopod cp FILE HOST:/dir/'",
				"neither '%s' nor the target '%s' names a host", word, option_argv(c->o)[c->count - 1]);
	}
	c->put = target;
	if (!target && option_given(c->o, "tree"))
		return print_fail_field(c->np, STATUS_USAGE, "--tree", NULL, "'--tree' copies to hosts only");
	if (option_given(c->o, "streams") && option_given(c->o, "tree"))
		return print_fail_field(c->np, STATUS_USAGE, "--streams", "leave out '--streams'",
			"'--tree' uses one connection to each host");
	for (size_t i = 0; target && i + 1 < c->count && option_given(c->o, "tree"); i++)
		if (strstr(c->places[i].path, "{host}"))
			return print_fail_field(c->np, STATUS_USAGE, "--tree", "leave out '--tree'",
				"'%s' is a file for each host, and '--tree' sends one file to all",
				option_argv(c->o)[i]);
	if (target && strstr(c->places[c->count - 1].path, "{host}"))
		return print_fail(c->np, STATUS_USAGE,
			"leave it out; 'nanopod cp {host}.conf HOSTS:PATH' sends each host its own file",
			"'{host}' in the target '%s' works only for copies from hosts",
			option_argv(c->o)[c->count - 1]);
	return STATUS_OK;
}

/* Sources in one directory need different names. */
static int cp_names(struct copy *c)
{
	int status = STATUS_OK;

	for (size_t i = 0; !status && i + 1 < c->count; i++)
		for (size_t k = 0; !status && k < i; k++)
			if (c->put || strcmp(c->places[i].hosts, c->places[k].hosts) == 0)
				status = cp_local_twice(c->np, c->places[k].path, c->places[i].path);
	return status;
}

/* Finds mistakes in local files before connecting to anything; hosts NULL: those that are the same for all hosts. */
static int check_sources(struct copy *c, const struct pssh_list *hosts)
{
	int status = STATUS_OK;

	for (size_t i = 0; c->put && !status && i + 1 < c->count; i++)
		if ((hosts != NULL) == (strstr(c->places[i].path, "{host}") != NULL))
			status = cp_local_check(c->np, c->places[i].path, option_given(c->o, "recursive"), hosts);
	return status;
}

/* The hosts of a word, or of -w and the shell's selection for ":path". */
static int cp_hosts_of(struct copy *c, const struct place *p, struct pssh_list *into)
{
	struct connect_warm *warm = c->np->shell;
	bool given = false;
	int status = select_inventories(c->np, c->o);

	if (!status && *p->hosts) {
		status = select_meant(c->np, into, p->hosts, false);
		status = status ? status : select_nodes(c->np, c->o, into);
	} else if (!status) {
		status = select_options(c->np, c->o, into, &given);
		if (!status && !given && warm && warm->selection)
			status = select_add(c->np, into, warm->selection);
		else if (!status && !given)
			status = print_fail(c->np, STATUS_USAGE,
				"name hosts by '-w HOSTS', '--reservation NAME' or HOSTS:PATH",
				"no hosts given for ':%s'", p->path);
	}
	for (size_t i = 0; !status && i < option_count(c->o, "exclude"); i++)
		status = select_drop(c->np, into, option_at(c->o, "exclude", i));
	if (!status && pssh_list_count(into) == 0)
		status = print_fail(c->np, STATUS_USAGE, NULL, "'%s' names no host", p->hosts);
	return status;
}

/* ---- Where a get goes ------------------------------------------------------------------ */

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool ends_in_slash(const char *path)
{
	size_t n = strlen(path);

	return n && path[n - 1] == '/';
}

/*
 * One host under its own name. A group, reservation, range or selection is many, even if it means one host today: the
 * same command puts files in the same places, and fails with the same status, when there are more.
 */
static bool one_host(const struct copy *c, const struct pssh_list *all)
{
	size_t first = c->put ? c->count - 1 : 0, end = c->put ? c->count : c->count - 1;
	bool one = pssh_list_count(all) == 1;

	for (size_t i = first; one && i < end; i++)
		one = strcmp(c->places[i].hosts, pssh_list_get(all, 0)) == 0;
	return one;
}

/*
 * From one host: as cp does. From many "{host}" must tell their files apart, or a directory gets one directory
 * for each; anything else would write all files over one another.
 */
static int get_target(struct copy *c, const struct pssh_list *all, char **out)
{
	const char *path = c->places[c->count - 1].path;
	bool many = !c->one, dir = ends_in_slash(path) || is_dir(path);
	const char *hint = "write '{host}' where each host's name goes, or end the target in '/'";

	if (many && !dir && !strstr(path, "{host}") && pssh_list_count(all) > 1)
		return print_fail(c->np, STATUS_USAGE, hint, "'%s' would be one file for %zu hosts", path,
			pssh_list_count(all));
	if (many && !dir && !strstr(path, "{host}"))
		return print_fail(c->np, STATUS_USAGE, hint, "'%s' would be one file, and '%s' can be on several hosts",
			path, option_argv(c->o)[0]);
	if (many && !strstr(path, "{host}")) {
		if (asprintf(out, "%s%s{host}/", path, ends_in_slash(path) ? "" : "/") < 0)
			command_nomem();
	} else if (asprintf(out, "%s%s", path, c->count > 2 && !ends_in_slash(path) ? "/" : "") < 0) {
		command_nomem();
	}
	return many ? cp_local_apart(c->np, all, *out) : STATUS_OK;
}

/* ---- The tasks ------------------------------------------------------------------------- */

static unsigned flags_of(const struct options *o)
{
	return (option_given(o, "recursive") ? PSSH_COPY_RECURSIVE : 0) |
		(option_given(o, "preserve") ? PSSH_COPY_PRESERVE : 0) |
		(option_given(o, "update") ? PSSH_COPY_UPDATE : 0) |
		(option_given(o, "resume") ? PSSH_COPY_RESUME : 0) |
		(option_given(o, "checksum") ? PSSH_COPY_CHECKSUM : 0) | PSSH_COPY_SPARSE | PSSH_COPY_PER_HOST |
		PSSH_COPY_GLOB;
}

static int cp_make(void *arg, struct fanout *f, struct pssh_task **out)
{
	struct copy *c = arg;
	struct pssh *fleet = f->connect->fleet;
	int64_t limit = settings_ms(c->np->settings, SETTING_ID_TIMEOUT);
	struct pssh_task *t;
	int rc = c->put ? pssh_put(fleet, c->step->from, c->step->to, flags_of(c->o), &t) :
		pssh_get(fleet, c->step->from, c->step->to, flags_of(c->o), &t);

	if (rc)
		return print_fail(c->np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	if (limit)
		rc = pssh_task_set_deadline(t, (unsigned)limit);
	if (option_given(c->o, "streams"))
		rc = pssh_task_set_streams(t, (unsigned)option_int(c->o, "streams"));
	*out = t;
	return STATUS_OK;
}

static void cp_tell(struct copy *c, const struct outcome *o)
{
	struct nanopod *np = c->np;
	struct json j;
	struct buf b;

	if (np->format != FORMAT_JSONL)
		return;
	buf_init(&b, 1 << 20);
	j = json_to(&b);
	json_begin_object(&j, NULL);
	json_int(&j, "seq", (int64_t)++c->seq);
	json_text(&j, "type", o->state == OUTCOME_ERROR ? "error" : "exit");
	json_text(&j, "host", o->name);
	json_text(&j, "source", c->step->from);
	json_text(&j, "target", c->step->to);
	if (o->state == OUTCOME_ERROR) {
		json_text(&j, "code", pssh_errname(o->status));
		json_text(&j, "message", o->text);
		json_bool(&j, "retryable", pssh_retryable(o->status));
	} else {
		json_int(&j, "status", o->status);
		json_int(&j, "bytes", (int64_t)o->moved);
		json_int(&j, "unchanged", (int64_t)o->unchanged);
	}
	json_end(&j);
	fanout_quiet(&c->fanout);
	fprintf(np->out, "%s\n", buf_text(&b));
	buf_release(&b);
}

static void cp_tell_tree(void *arg, const struct outcome *o)
{
	cp_tell(arg, o);
}

static int cp_do_tree(struct copy *c)
{
	struct tree_order order = {
		.from = c->step->from,
		.to = c->step->to,
		.preserve = option_given(c->o, "preserve"),
		.resume = option_given(c->o, "resume"),
		.quiet = option_given(c->o, "quiet"),
		.limit_ms = (unsigned)settings_ms(c->np->settings, SETTING_ID_TIMEOUT),
		.tell = cp_tell_tree,
		.arg = c,
	};

	return tree_copy(&c->fanout, &order);
}

static int cp_do_step(struct copy *c)
{
	struct fanout *f = &c->fanout;
	const struct pssh_event *ev;
	struct outcome *o;
	enum fanout_turn turn;
	int status = fanout_start(f);

	while (!status && (turn = fanout_next(f, &ev, &o)) != FANOUT_DONE)
		if (turn == FANOUT_EVENT && o &&
			(ev->type == PSSH_EV_EXIT || ev->type == PSSH_EV_ERROR || ev->type == PSSH_EV_SIGNAL))
			cp_tell(c, o);
	return status;
}

/* Only hosts that have not failed take part in the next step. */
static bool next_round(struct copy *c)
{
	struct fanout *f = &c->fanout;
	bool any = false;

	for (size_t i = 0; i < f->count; i++) {
		struct outcome *o = &f->hosts[i];

		if (!outcome_ok(o))
			continue;
		o->state = OUTCOME_WAITING;
		o->earlier += o->moved;
		c->unchanged += o->unchanged;
		o->moved = o->size = o->unchanged = 0;
		any = true;
	}
	return any && !f->asked;
}

static void cp_report(struct copy *c, int64_t began)
{
	struct fanout *f = &c->fanout;
	char a[32], b[32], t[32], same[64] = "";
	int64_t took = clock_ms() - began;
	uint64_t moved = 0, unchanged = c->unchanged;
	size_t ok = 0;

	for (size_t i = 0; i < f->count; i++)
		if (outcome_ok(&f->hosts[i])) {
			moved += f->hosts[i].earlier + f->hosts[i].moved;
			unchanged += f->hosts[i].unchanged;
			ok++;
		}
	fanout_quiet(f);
	if (!ok || option_given(c->o, "quiet") || c->np->format != FORMAT_TEXT)
		return;
	if (option_given(c->o, "update"))
		snprintf(same, sizeof same, "; unchanged: %llu", (unsigned long long)unchanged);
	print_note(c->np, "copied %s in %s (%s/s) %s %zu host%s%s", progress_bytes(moved, a, sizeof a),
		progress_time(took, t, sizeof t),
		progress_bytes(moved * 1000 / (uint64_t)(took > 0 ? took : 1), b, sizeof b), c->put ? "to" : "from", ok,
		ok == 1 ? "" : "s", same);
}

/* A host was reached, so files there or here are the reason. */
static bool files_failed(const struct outcome *o)
{
	return o->state == OUTCOME_ERROR &&
		(o->status == PSSH_EREMOTE || o->status == PSSH_ELOCAL || o->status == PSSH_ENOENT ||
			o->status == PSSH_ECHECKSUM || o->status == PSSH_EUNSUPPORTED || o->status == PSSH_EINVAL);
}

static int exit_status(const struct copy *c)
{
	const struct fanout *f = &c->fanout;
	int status = summary_status(f, false);

	if (status && !f->asked && !f->broken && !c->one)
		return STATUS_PARTLY;
	if (status != STATUS_TRANSPORT || !files_failed(&f->hosts[0]))
		return status;
	return f->hosts[0].status == PSSH_ENOENT ? STATUS_NOTFOUND : STATUS_FAILURE;
}

/* Runs several copies one after the other on the same hosts. */
static int cp_on_hosts(struct copy *c, const struct pssh_list *hosts, const struct step *steps, size_t count)
{
	struct connect *connect;
	int64_t began = clock_ms();
	int status = connect_open(c->np, &connect);

	if (status)
		return status;
	status = fanout_init_up(&c->fanout, c->np, connect, hosts);
	if (status) {
		connect_close(c->np, connect);
		return status;
	}
	c->fanout.make = cp_make;
	c->fanout.arg = c;
	if (option_given(c->o, "quiet"))
		c->fanout.progress.on = false;
	else
		select_tell_end(c->np, hosts);
	for (size_t i = 0; !status && i < count && (i == 0 || next_round(c)); i++) {
		c->step = &steps[i];
		status = option_given(c->o, "tree") ? cp_do_tree(c) : cp_do_step(c);
	}
	if (!status) {
		cp_report(c, began);
		summary_show(&c->fanout, NULL);
		if (c->fanout.asked && option_given(c->o, "resume") && !c->np->errors_json)
			print_note(c->np, "repeat the command to continue where this one stopped");
		status = exit_status(c);
	}
	fanout_release(&c->fanout);
	connect_close(c->np, connect);
	return status;
}

static int cp_put(struct copy *c)
{
	const struct place *target = &c->places[c->count - 1];
	struct step *steps = calloc(c->count, sizeof *steps);
	struct pssh_list *hosts;
	char *to = NULL;
	int status;

	select_new(c->np, &hosts);
	/* Several sources need a directory as target. */
	if (!steps || asprintf(&to, "%s%s", target->path, c->count > 2 && !ends_in_slash(target->path) ? "/" : "") < 0)
		command_nomem();
	for (size_t i = 0; i + 1 < c->count; i++)
		steps[i] = (struct step){ c->places[i].path, to };
	status = cp_hosts_of(c, target, hosts);
	c->one = one_host(c, hosts);
	if (!status)
		status = check_sources(c, hosts);
	if (!status)
		status = cp_on_hosts(c, hosts, steps, c->count - 1);
	free(to);
	free(steps);
	pssh_list_free(hosts);
	return status;
}

/* Copies sources on the same hosts over the same connections, one after the other. */
static int cp_get(struct copy *c)
{
	struct step *steps = calloc(c->count, sizeof *steps);
	struct pssh_list *all, *hosts = NULL;
	char *to = NULL;
	int status = STATUS_OK, worst = STATUS_OK;
	bool some = false, whole;

	if (!steps)
		command_nomem();
	select_new(c->np, &all);
	for (size_t i = 0; !status && i + 1 < c->count; i++)
		if (!i || strcmp(c->places[i].hosts, c->places[i - 1].hosts) != 0)
			status = cp_hosts_of(c, &c->places[i], all);
	c->one = one_host(c, all);
	if (!status)
		status = get_target(c, all, &to);
	for (size_t i = 0, n; !status && i + 1 < c->count; i += n) {
		for (n = 0; i + n + 1 < c->count && strcmp(c->places[i + n].hosts, c->places[i].hosts) == 0; n++)
			steps[n] = (struct step){ c->places[i + n].path, to };
		/* Asked once, who is asked for, as that waits for nodes and tells of those that are left out. */
		whole = n + 1 == c->count;
		if (!whole)
			select_new(c->np, &hosts);
		status = whole ? STATUS_OK : cp_hosts_of(c, &c->places[i], hosts);
		if (!status)
			status = cp_on_hosts(c, whole ? all : hosts, steps, n);
		if (!whole)
			pssh_list_free(hosts);
		some |= status == STATUS_OK;
		/* A source that one set of hosts cannot give does not keep the others from being asked. */
		if (status == STATUS_PARTLY || status == STATUS_UNREACHABLE || status == STATUS_TRANSPORT ||
			status == STATUS_NOTFOUND || status == STATUS_FAILURE) {
			worst = worst && worst != status ? STATUS_PARTLY : status;
			status = STATUS_OK;
		}
	}
	if (worst && some)
		worst = STATUS_PARTLY;
	pssh_list_free(all);
	free(to);
	free(steps);
	return status ? status : worst;
}

static int cp_run(struct nanopod *np, const struct options *o)
{
	struct copy c = { .np = np, .o = o, .count = (size_t)option_argc(o) };
	int status;

	c.places = calloc(c.count, sizeof *c.places);
	if (!c.places)
		command_nomem();
	for (size_t i = 0; i < c.count; i++)
		cp_place_parse(&c.places[i], option_argv(o)[i]);
	status = check_sides(&c);
	if (!status)
		status = cp_names(&c);
	if (!status)
		status = check_sources(&c, NULL);
	if (!status)
		status = c.put ? cp_put(&c) : cp_get(&c);
	for (size_t i = 0; i < c.count; i++)
		free(c.places[i].hosts);
	free(c.places);
	return status;
}

const struct command cmd_cp = {
	.name = "cp",
	.args = "SOURCE... TARGET",
	.summary = "copy files to or from many hosts",
	.examples = examples,
	.description = "A word like 'n[1-64]:/path' is on hosts, others are local files; write './' in front of a "
		       "local name with a ':'. ':/path' is on the hosts of -w or --reservation. A file arrives "
		       "under a temporary name and is renamed when it is complete, so nobody sees half a "
		       "file.\n\nA target that is a directory, or ends in '/', gets the source under its own name; any "
		       "other target is the new name. '{host}' in a local path stands for the host's name: to hosts it "
		       "sends each its own file, from hosts it tells their files apart. From many hosts a directory "
		       "gets a directory for each; '@group:', a reservation, a range or '-w' are many even with one "
		       "host. The exit status is 0 where everything was copied. With many hosts "
		       "it is 10 where any failed; "
		       "with one 255 where the connection failed, 8 where --timeout ran out on the way, else 1.",
	.positional = "SOURCE  local files, or HOSTS:PATH\nTARGET  HOSTS:PATH, or a local file or directory",
	.options = options,
	.formats = "text|jsonl|yaml",
	.flags = COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 2,
	.max_args = -1,
	.complete_first = COMPLETE_HOST_PATH,
	.complete_rest = COMPLETE_HOST_PATH,
	.run = cp_run,
};
