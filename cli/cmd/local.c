/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanopod local: runs a market and nodes on this machine, with play money and the same daemons and API as
 * anywhere. Each step of start does only what is missing, so start also repairs whatever was killed or cut off.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/frame/action.h"
#include "cli/local/daemons.h"
#include "cli/frame/cell.h"
#include "cli/local/localagent.h"
#include "cli/local/localmarket.h"
#include "cli/local/localproc.h"
#include "cli/local/localstatus.h"
#include "cli/nodes/node.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"
#include "cli/frame/signals.h"
#include "market/money.h"
#include "market/when.h"

enum {
	NODES = 4,
	PORTS = 64,
	READY_MS = 60000,
	LOOK_MS = 50,
	STOP_MS = 20000,
	KEYGEN_MS = 20000,
	SAID_MAX = 65536,
	LINE = 500,
};

#define MONEY "1000.00"

struct local {
	struct nanopod *np;
	const struct options *o;
	struct localstate s;
	struct localagent agent;
	bool did; /* start had something to do */
	bool began_market, began_agent; /* this command started it */
	bool silent;                    /* the market runs and does not answer */
	bool joined;                    /* this command made the agent's identity: there were no nodes before */
};

static int local_failed(struct local *l, const struct fail *f, const char *what)
{
	return print_fail(l->np, STATUS_FAILURE, NULL, "cannot %s: %s", what, f->text);
}

/* ---- The market -------------------------------------------------------------------------- */

/* Chosen once and kept, because the agent and the settings name the port. */
static int choose_ports(struct local *l)
{
	struct fail f = { 0 };
	int first;

	if (localstate_get(&l->s, "first-port"))
		return 0;
	first = localproc_find_ports(PORTS + 1, &f);
	if (first < 0 || localstate_set_number(&l->s, "port", first, &f) ||
		localstate_set_number(&l->s, "first-port", first + 1, &f))
		return local_failed(l, &f, "choose ports");
	return 0;
}

static int64_t pause_for(int64_t ms)
{
	const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
	return ms;
}

static int wait_for_market(struct local *l)
{
	int64_t until = clock_ms() + READY_MS;
	struct localproc p;
	char why[LINE];

	while (clock_ms() < until && !signals_asked()) {
		if (localmarket_answers(l->np, &l->s))
			return 0;
		if (!localproc_runs(l->s.market_pid, &p))
			return print_fail(l->np, STATUS_FAILURE, NULL,
				"the market ended right after its start: %s (its log is '%s')",
				localagent_last_words(l->s.market_log, why, sizeof why), l->s.market_log);
		pause_for(LOOK_MS);
	}
	return signals_asked() ? STATUS_INT
			       : print_fail(l->np, STATUS_UNREACHABLE, "repeat the command to continue",
					 "the market does not answer; its log is '%s'", l->s.market_log);
}

static int start_market(struct local *l)
{
	char listen[40], *program;
	struct localproc p;
	struct fail f = { 0 };
	int rc;

	if (localproc_runs(l->s.market_pid, &p))
		return wait_for_market(l);
	program = agentd_find(MARKETD, &f);
	if (!program)
		return print_fail(l->np, STATUS_FAILURE, "build it, or install it beside nanopod", "%s", f.text);
	if (!localproc_port_free((int)localstate_number(&l->s, "port"))) {
		free(program);
		return print_fail(l->np, STATUS_CONFLICT,
			"stop that program; or 'nanopod local reset' starts over on another port",
			"another program uses the local market's port %ld", localstate_number(&l->s, "port"));
	}
	l->did = true;
	snprintf(listen, sizeof listen, "127.0.0.1:%ld", localstate_number(&l->s, "port"));
	const char *const words[] = { "--data", l->s.market, "--listen", listen, "--name", "local", NULL };
	const struct agentd_call call = { .program = program, .words = words };

	rc = localproc_start(l->s.market_pid, &call, l->s.market_log, &f);
	free(program);
	if (rc)
		return local_failed(l, &f, "start the market");
	l->began_market = true;
	return wait_for_market(l);
}

/* ---- The nodes --------------------------------------------------------------------------- */

/* A key for people without one. nanopod offers it to nodes of this market only. */
static int make_key(struct local *l)
{
	struct fail f = { 0 };
	char *program;
	struct buf said;
	int status = 0, rc;

	if (access(l->s.key, F_OK) == 0)
		return 0;
	program = agentd_find("ssh-keygen", &f);
	if (!program) {
		print_note(l->np,
			"ssh-keygen is not installed, so nanopod makes no key: nodes accept your keys in ~/.ssh");
		return 0;
	}
	const char *const words[] = { "-q", "-t", "ed25519", "-N", "", "-C", "nanopod-local", "-f", l->s.key, NULL };

	buf_init(&said, SAID_MAX);
	rc = agentd_run(&(struct agentd_call){ .program = program,
				.words = words,
				.out = &said,
				.err = &said,
				.deadline_ms = KEYGEN_MS },
		&status, &f);
	if (!rc && status)
		rc = fail_set(&f, -EIO, "%s", agentd_last_line(&said));
	buf_release(&said);
	free(program);
	return rc ? local_failed(l, &f, "make a key for the nodes") : 0;
}

static int need_agent(struct local *l, struct market_link *m)
{
	long nodes = localstate_number(&l->s, "nodes");
	struct localproc p;
	struct fail f = { 0 };
	char *token = NULL;
	int rc = 0;

	if (!localagent_joined(&l->agent)) {
		l->did = true;
		rc = localmarket_join_token(m, &token);
		rc = rc ? rc : localagent_join(&l->agent, token, LOCAL_TYPE, nodes);
		l->joined = !rc;
		if (token)
			explicit_bzero(token, strlen(token));
		free(token);
	}
	if (rc || localproc_runs(l->s.agent_pid, &p))
		return rc;
	l->did = true;
	rc = localstate_set(&l->s, "agent", "started", &f) ? local_failed(l, &f, "remember it") : 0;
	rc = rc ? rc : localagent_start(&l->agent);
	l->began_agent = !rc;
	return rc;
}

/* Hosts on which a node failed stay down until its time is over: there is nothing to wait for. */
static int local_say_failed(struct local *l, const struct localhosts *h, const struct localfailure *failed)
{
	if (!h->up)
		return print_fail(l->np, STATUS_FAILURE,
			"mend what it says, then type 'nanopod local reset' and 'nanopod local start' to begin anew",
			"this machine cannot run nodes: '%s' failed: %s", failed->name, failed->why);
	print_note(l->np,
		"%zu of %zu hosts stay down until their failed node's time ends; that time is refunded; "
		"'%s' failed: %s",
		h->all - h->up, h->all, failed->name, failed->why);
	return 0;
}

/* Counts the hosts, and finds the failed node (at 0: none) for which some stay down. */
static int local_look(struct local *l, struct market_link *m, struct localhosts *h, struct localfailure *failed)
{
	int rc = localmarket_hosts(m, &l->s, LOCAL_PRICE, h);

	failed->at = 0;
	if (rc || h->up == h->all || localmarket_failure(m, failed) || !failed->at)
		return rc;
	/* The hosts were counted before the agent was seen up: they may have come up with it. */
	rc = localmarket_hosts(m, &l->s, LOCAL_PRICE, h);
	if (h->up == h->all)
		failed->at = 0;
	return rc;
}

/* Waits until the machine's hosts are up and offered. */
static int local_wait_for_nodes(struct local *l, struct market_link *m)
{
	int64_t until = clock_ms() + READY_MS;
	struct localfailure failed;
	struct localhosts h;
	struct localproc p;
	char why[LINE];
	int rc;

	while (clock_ms() < until && !signals_asked()) {
		rc = local_look(l, m, &h, &failed);
		if (rc)
			return rc;
		/* Nodes that were bought before come back too. A signal breaks the question off: it has no answer. */
		if (h.all && h.up == h.all && (localmarket_silent(m) == 0 || clock_ms() > until - READY_MS / 2))
			return signals_asked() ? STATUS_INT : 0;
		if (failed.at)
			return local_say_failed(l, &h, &failed);
		if (!localproc_runs(l->s.agent_pid, &p))
			return print_fail(l->np, STATUS_FAILURE, NULL,
				"the agent ended right after its start: %s (its log is '%s')",
				localagent_last_words(l->s.agent_log, why, sizeof why), l->s.agent_log);
		pause_for(LOOK_MS * 4);
	}
	return signals_asked() ? STATUS_INT
			       : print_fail(l->np, STATUS_UNREACHABLE, "repeat the command to continue",
					 "this machine's hosts are not up; the agent's log is '%s'", l->s.agent_log);
}

/* ---- Status ------------------------------------------------------------------------------ */

static int local_put_status(struct local *l, bool *runs, bool *bought)
{
	struct localstatus st;

	localstatus_look(l->np, &l->s, &st);
	*runs = st.market_runs && st.agent_runs && !st.silent;
	l->silent = st.silent;
	*bought = st.known && st.running > 0;
	localstatus_print(l->np, &l->s, &st);
	return STATUS_OK;
}

/* Where the person named another market, commands go there. */
static void local_next_steps(struct local *l, bool bought)
{
	settings_clear(l->np->settings, LAYER_LINE);
	if (settings_given(l->np->settings, SETTING_ID_URL) &&
		settings_layer(l->np->settings, SETTING_ID_URL) != LAYER_LOCAL)
		print_note(l->np, "commands go to '%s' (by %s), not here; '--config %s' reaches the local market",
			settings_text(l->np->settings, SETTING_ID_URL), settings_where(l->np->settings, SETTING_ID_URL),
			l->s.config);
	if (bought)
		print_note(l->np,
			"next: 'nanopod nodes', 'nanopod run --type " LOCAL_TYPE
			" -- COMMAND' on all of them, 'nanopod burn'; "
			"'nanopod local stop' stops it");
	else
		print_note(l->np,
			"next: 'nanopod price -t " LOCAL_TYPE " -n 2 -d 1h', 'nanopod buy -t " LOCAL_TYPE
			" -n 2 -d 1h -p 1 --name first', "
			"'nanopod ssh first-0'; 'nanopod local stop' stops it");
}

static void say_waits(void *np)
{
	print_note(np, "another 'nanopod local' is running; waiting for it");
}

static int local_status(struct nanopod *np, const struct options *o, char **words)
{
	struct local l = { .np = np, .o = o, .s = { .waits = say_waits, .waits_arg = np } };
	struct fail f = { 0 };
	bool runs = false, bought = false;
	int rc = localstate_open(&l.s, false, &f);

	(void)words;
	if (rc < 0) {
		rc = local_failed(&l, &f, "look at the local market");
	} else if (rc == 1) {
		if (np->format == FORMAT_JSON || np->format == FORMAT_JSONL)
			fputs("{\"state\":\"none\"}\n", np->out);
		rc = print_fail(np, STATUS_NOTFOUND, "'nanopod local start' creates one", "there is no local market");
	} else {
		rc = local_put_status(&l, &runs, &bought);
		if (!rc && l.silent)
			rc = print_fail(np, STATUS_NOTFOUND,
				"'nanopod local stop' and 'nanopod local start' start it again; its nodes stay",
				"the local market does not answer; its log is '%s'", l.s.market_log);
		else if (!rc && !runs)
			rc = print_fail(np, STATUS_NOTFOUND, "'nanopod local start' starts what is missing",
				"the local market is not running");
		else if (!rc && cell_for_people(np))
			local_next_steps(&l, bought);
	}
	localstate_close(&l.s);
	return rc;
}

/* ---- The end ----------------------------------------------------------------------------- */

static int local_end_market(struct local *l)
{
	struct fail f = { 0 };

	if (localproc_end(l->s.market_pid, STOP_MS, &f))
		return local_failed(l, &f, "stop the market");
	if (unlink(l->s.config) < 0 && errno != ENOENT)
		return print_fail(l->np, STATUS_FAILURE, NULL, "cannot remove '%s': %s", l->s.config, strerror(errno));
	return 0;
}

/*
 * A start that fails leaves no daemon that it began: each would hold its port. Nodes end only where this command made
 * the agent's identity, since all of them are younger than it; nodes of before run on.
 */
static void local_end_begun(struct local *l)
{
	if (l->began_agent && l->joined)
		(void)localagent_stop(&l->agent, false);
	else if (l->began_agent)
		(void)localagent_end(&l->agent);
	if (l->began_market)
		(void)local_end_market(l);
}

/* ---- Start ------------------------------------------------------------------------------- */

static int remember_nodes(struct local *l)
{
	struct fail f = { 0 };
	long had = localstate_number(&l->s, "nodes"),
	     nodes = option_given(l->o, "nodes") ? option_int(l->o, "nodes")
		: had                            ? had
						 : NODES;

	if (had && nodes != had)
		return print_fail_field(l->np, STATUS_CONFLICT, "--nodes", "'nanopod local reset' starts over",
			"the local market is set up for %ld nodes already", had);
	return localstate_set_number(&l->s, "nodes", nodes, &f) ? local_failed(l, &f, "remember it") : 0;
}

static int set_up(struct local *l)
{
	struct localtype type = { .name = LOCAL_TYPE };
	struct model_sizes has;
	struct market_link *m;
	int rc = localagent_open(&l->agent, l->np, &l->s);

	rc = rc ? rc : remember_nodes(l);
	rc = rc ? rc : choose_ports(l);
	rc = rc ? rc : localagent_driver(&l->agent, option_text(l->o, "driver"));
	rc = rc ? rc : make_key(l);
	rc = rc ? rc : start_market(l);
	rc = rc ? rc : localmarket_open(l->np, &l->s, &m);
	if (rc)
		return rc;
	if (!localagent_joined(&l->agent)) {
		localagent_capacity(&l->agent, &has);
		localmarket_size(&type, &has, localstate_number(&l->s, "nodes"));
	}
	rc = localmarket_people(m, &l->s, MONEY);
	rc = rc ? rc : localmarket_type(m, &type);
	rc = rc ? rc : need_agent(l, m);
	rc = rc ? rc : local_wait_for_nodes(l, m);
	market_sign_out(m);
	return rc;
}

static int local_start(struct nanopod *np, const struct options *o, char **words)
{
	struct local l = { .np = np, .o = o, .s = { .waits = say_waits, .waits_arg = np } };
	struct fail f = { 0 };
	bool runs, bought;
	int rc;

	(void)words;
	if (localstate_open(&l.s, true, &f)) {
		localstate_close(&l.s);
		return local_failed(&l, &f, "start a local market");
	}
	if (signals_begin())
		command_nomem();
	rc = set_up(&l);
	if (rc == STATUS_INT)
		rc = print_fail(np, STATUS_INT, "repeat the command to continue", "interrupted");
	if (rc)
		local_end_begun(&l);
	signals_end();
	if (!rc) {
		print_note(np,
			l.did ? "the local market is running: driver '%s' (%s), %s"
			      : "the local market is already running: driver '%s' (%s), %s",
			localstate_get(&l.s, "driver"), localstate_get(&l.s, "driver.about"),
			localstate_get(&l.s, "driver.why"));
		/* The settings file was just written: use it already now. */
		settings_set(np->settings, SETTING_ID_URL, LAYER_LOCAL, "http://127.0.0.1", l.s.config, NULL);
		rc = local_put_status(&l, &runs, &bought);
		if (!rc && (np->format == FORMAT_TABLE || np->format == FORMAT_WIDE))
			local_next_steps(&l, bought);
	}
	localagent_close(&l.agent);
	localstate_close(&l.s);
	return rc;
}

/* ---- Stop and reset ---------------------------------------------------------------------- */

static int local_end_all(struct local *l, bool wipe)
{
	int rc = localagent_open(&l->agent, l->np, &l->s);

	rc = rc ? rc : localagent_stop(&l->agent, wipe);
	localagent_close(&l->agent);
	return rc ? rc : local_end_market(l);
}

static int local_stop(struct nanopod *np, const struct options *o, char **words)
{
	struct local l = { .np = np, .o = o, .s = { .waits = say_waits, .waits_arg = np } };
	struct fail f = { 0 };
	struct localproc p;
	bool ran = false;
	int rc = localstate_open(&l.s, false, &f);

	(void)words;
	if (rc < 0) {
		rc = local_failed(&l, &f, "stop the local market");
	} else if (rc == 1) {
		print_note(np, "there is no local market; nothing to stop");
		rc = STATUS_OK;
	} else {
		ran = localproc_runs(l.s.market_pid, &p) || localproc_runs(l.s.agent_pid, &p);
		rc = local_end_all(&l, false);
		if (!rc)
			print_note(np,
				ran ? "stopped the local market and its nodes; their disks stay, and "
				      "'nanopod local start' continues"
				    : "the local market is not running");
	}
	localstate_close(&l.s);
	return rc;
}

static int local_agree(struct local *l)
{
	struct plan p;
	int rc = plan_can_ask(l->np, l->o);

	if (rc)
		return rc;
	plan_init(&p, "Remove the local market");
	plan_add(&p, "folder", "%s: accounts, ledger, reservations, and the disks of its nodes", l->s.dir);
	plan_add(&p, "stays", "%s, the images of nodes", l->s.images);
	plan_show(l->np, &p);
	plan_release(&p);
	return plan_agree(l->np, l->o, "Remove it?");
}

static int local_reset(struct nanopod *np, const struct options *o, char **words)
{
	struct local l = { .np = np, .o = o, .s = { .waits = say_waits, .waits_arg = np } };
	struct fail f = { 0 };
	int rc = localstate_open(&l.s, false, &f);

	(void)words;
	if (rc < 0)
		rc = local_failed(&l, &f, "reset the local market");
	else if (rc == 1)
		print_note(np, "there is no local market; nothing to remove");
	if (rc) {
		localstate_close(&l.s);
		return rc == 1 ? STATUS_OK : rc;
	}
	rc = local_agree(&l);
	if (!rc) {
		rc = local_end_all(&l, true);
		if (!rc && localstate_wipe(&l.s, &f))
			rc = local_failed(&l, &f, "remove it");
		if (!rc)
			print_note(np, "the local market is removed; 'nanopod local start' creates a new one");
	}
	localstate_close(&l.s);
	return rc;
}

/* ---- The command ------------------------------------------------------------------------- */

static const struct action actions[] = {
	{ "start", "[--nodes N] [--driver NAME]", 0, 0, local_start },
	{ "status", "", 0, 0, local_status },
	{ "stop", "", 0, 0, local_stop },
	{ "reset", "[-y]", 0, 0, local_reset },
	{ 0 },
};

/* An option of another action must not be ignored: 'stop --dry-run' would stop. */
static int local_check_options(struct nanopod *np, const struct options *o)
{
	static const struct {
		const char *option, *action;
	} only[] = { { "dry-run", "reset" }, { "nodes", "start" }, { "driver", "start" } };
	const char *action = option_argc(o) ? option_argv(o)[0] : "status";
	char name[32];

	for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
		if (!option_given(o, only[i].option) || strcmp(action, only[i].action) == 0)
			continue;
		snprintf(name, sizeof name, "--%s", only[i].option);
		return print_fail_field(np, STATUS_USAGE, name, NULL,
			"cannot run 'local %.40s' with %s: only 'local %s' takes it", action, name, only[i].action);
	}
	return 0;
}

static int local_verb(struct nanopod *np, const struct options *o)
{
	int rc = local_check_options(np, o);

	rc = rc ? rc : action_run(np, o, "local", actions, "status");
	settings_clear(np->settings, LAYER_LINE);
	return rc;
}

static const struct option options[] = {
	{ "nodes", 'n', OPTION_INT, "N", .min = 1, .max = 32,
		.help = "start: how many nodes this machine offers (default 4)" },
	{ "driver", 0, OPTION_STRING, "NAME", .help = "start: ns, vm or process; default: the best that works here" },
	{ "yes", 'y', OPTION_FLAG, .help = "reset: do not ask" },
	{ "dry-run", 0, OPTION_FLAG, .help = "reset: only show what would be removed" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod local start", "start a market with 1000 dollars of play money" },
	{ "nanopod local status", "what runs, since when, and what to type next" },
	{ "nanopod local stop", "stop everything; 'start' continues where it was" },
	{ "nanopod local reset -y", "stop and remove everything" },
	{ 0 },
};

const struct command cmd_local = {
	.name = "local",
	.args = "[start | status | stop | reset]",
	.summary = "run a market and nodes on this machine, to try everything",
	.examples = examples,
	.description = "Runs nanopod-marketd and nanopod-agentd as you, with all their files in "
		       "~/.local/share/nanopod/local: the same programs and API as anywhere. While it runs, "
		       "commands that name no other market go there.\n\nThe best driver that works here makes the "
		       "nodes; 'start' tells which one and why. Nodes are of type 'cpu': they share out this machine's "
		       "cores, memory and disk ('nanopod types' shows what each has), and get no GPU of this "
		       "machine. 'start' repairs what was killed, also after a reboot; where everything runs it "
		       "changes nothing.\n\nThe exit status of 'status' is 0 where everything runs, else 3.",
	.positional = "start   start what is not running, and wait until all of it is\n"
		      "status  show what runs (the default)\n"
		      "stop    stop every process; files on disk stay\n"
		      "reset   stop, and remove everything",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.max_args = 1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "start|status|stop|reset",
	.run = local_verb,
};
