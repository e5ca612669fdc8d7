/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/autoscale/autoscale.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/frame/print.h"
#include "cli/frame/signals.h"
#include "cli/provision/report/runlog.h"

#define SUDO_VARIABLE "NANOPOD_SUDO_PASSWORD"

enum { AUTOSCALE_LOOK_MS = 500 };

/* ---- Begin and end ----------------------------------------------------------------------------- */

/* One loop a cluster: two would buy for the same jobs. */
static int autoscale_lock(struct autoscale *a)
{
	char path[AUTOSCALE_PATH + 32];

	snprintf(path, sizeof path, "%s/autoscale", a->room);
	a->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (a->lock < 0)
		return print_fail(a->np, STATUS_FAILURE, NULL, "cannot write '%s': %s", path, strerror(errno));
	if (flock(a->lock, LOCK_EX | LOCK_NB) == 0)
		return STATUS_OK;
	return print_fail(a->np, STATUS_CONFLICT, "stop that one first",
		"another 'nanopod autoscale' of '%s' runs on this machine", a->cluster);
}

static int autoscale_begin(struct autoscale *a)
{
	const char *password = getenv(SUDO_VARIABLE);
	struct fail f = { 0 };
	struct buf kept;
	ssize_t n = readlink("/proc/self/exe", a->self, sizeof a->self - 1);
	int rc;

	if (n <= 0)
		return print_fail(a->np, STATUS_FAILURE, NULL, "cannot find this program: %s", strerror(errno));
	if (password && *password && asprintf(&a->sudo, SUDO_VARIABLE "=%s", password) < 0)
		command_nomem();
	if (runlog_folder(a->cluster, a->room, sizeof a->room, &f))
		return print_fail(a->np, STATUS_USAGE, NULL, "%s", f.text);
	buf_init(&kept, PROVISION_TEXT);
	rc = runlog_kept(a->cluster, &kept, &f);
	buf_release(&kept);
	if (rc)
		return print_fail(a->np, STATUS_NOTFOUND,
			"'nanopod provision FILE.yaml' makes one with 'autoscale:' in it", "no cluster '%.80s' here",
			a->cluster);
	a->w.nodes = calloc(SCALE_NODES, sizeof *a->w.nodes);
	a->jobs = calloc(SCALE_JOBS, sizeof *a->jobs);
	a->seen = calloc(SCALE_NODES, sizeof *a->seen);
	a->moves = calloc(SCALE_MOVES, sizeof *a->moves);
	a->rooms = calloc(SCALE_NODES, sizeof *a->rooms);
	if (!a->w.nodes || !a->jobs || !a->seen || !a->moves || !a->rooms)
		command_nomem();
	rc = option_given(a->o, "dry-run") ? STATUS_OK : autoscale_lock(a);
	if (!rc)
		autoscale_seen_read(a);
	return rc;
}

static void autoscale_end(struct autoscale *a)
{
	autoscale_join_end(a);
	autoscale_forget(a);
	skus_release(&a->skus);
	reservation_release(&a->reservation);
	if (a->holds)
		spending_close(&a->since);
	market_sign_out(a->m);
	if (a->lock >= 0)
		close(a->lock);
	if (a->sudo)
		explicit_bzero(a->sudo, strlen(a->sudo));
	free(a->sudo);
	free(a->w.nodes);
	free(a->jobs);
	free(a->seen);
	free(a->moves);
	free(a->rooms);
	free(a);
}

static void autoscale_said(struct autoscale *a)
{
	memcpy(a->said, a->says, sizeof a->said);
	a->said_count = a->says_count;
	a->says_count = 0;
}

/* ---- The loop ---------------------------------------------------------------------------------- */

static void autoscale_show(struct autoscale *a)
{
	for (size_t i = 0; i < a->plan.count; i++) {
		const struct scale_step *s = &a->plan.steps[i];

		if (s->verb == SCALE_BUY)
			autoscale_say(a, false, "would buy %" PRId64 " node%s: %s", s->nodes, s->nodes == 1 ? "" : "s",
				s->why);
		else
			autoscale_say(a, false, "would %s %s: %s", scale_verb(s->verb), a->w.nodes[s->node].name,
				s->why);
	}
	if (!a->silent && !a->plan.count && !*a->plan.blocked)
		autoscale_say(a, false, "nothing to do: %" PRId64 " nodes, %zu %ss wait", scale_alive(&a->w),
			a->job_count, a->manager->work);
}

static int autoscale_round(struct autoscale *a)
{
	int status;

	(void)autoscale_joined(a, false);
	status = autoscale_look(a);
	if (!status) {
		for (size_t i = 0; !a->silent && i < a->w.need.unfit; i++)
			autoscale_say(a, true, "%s", a->w.need.why[i]);
		scale_decide(&a->w, &a->plan);
		status = a->silent;
		if (*a->plan.blocked)
			autoscale_say(a, true, "cannot buy a node now: %s", a->plan.blocked);
		if (option_given(a->o, "dry-run"))
			autoscale_show(a);
		else
			autoscale_act(a);
	}
	if ((!status || status == a->silent) && !option_given(a->o, "dry-run"))
		autoscale_seen_write(a);
	autoscale_forget(a);
	autoscale_said(a);
	return status;
}

/* Until it is time to look again, or a join has ended. True: a signal asks to stop. */
static bool autoscale_rest(struct autoscale *a, int64_t every, int *number)
{
	for (int64_t left = every, ms; left > 0; left -= ms) {
		ms = autoscale_joins(a) && left > AUTOSCALE_LOOK_MS ? AUTOSCALE_LOOK_MS : left;
		if (signals_rest(ms, number))
			return true;
		if (autoscale_joined(a, false))
			return false;
	}
	return false;
}

/* A join that --once began: its end counts. True: a signal asks to stop. */
static bool autoscale_once(struct autoscale *a, int *number)
{
	bool joins = autoscale_joins(a);

	while (autoscale_joins(a))
		if (autoscale_rest(a, AUTOSCALE_LOOK_MS, number))
			return true;
	if (joins)
		autoscale_seen_write(a);
	return false;
}

static int autoscale_go(struct autoscale *a)
{
	bool once = option_given(a->o, "once") || option_given(a->o, "dry-run");
	int64_t every = option_ms(a->o, "every");
	int status, number = 0;
	bool over, stopped;

	if (!once)
		print_note(a->np, "looking after '%s' every %" PRId64 " s; Ctrl-C stops, and changes no node",
			a->cluster, every / 1000);
	for (;;) {
		status = autoscale_round(a);
		over = once || status == STATUS_USAGE || status == STATUS_DENIED || status == STATUS_NOTFOUND;
		/* A call to the market that a signal ends reads it. */
		stopped = signals_asked() > 0;
		number = status == STATUS_TERM ? SIGTERM : stopped ? signals_next() : 0;
		if (!stopped)
			stopped = over ? autoscale_once(a, &number) : autoscale_rest(a, every, &number);
		if (over && !stopped)
			return status;
		if (stopped)
			return print_fail(a->np, number == SIGTERM ? STATUS_TERM : STATUS_INT,
				"the same command goes on from what is there", "stopped; the nodes of '%s' stay",
				a->cluster);
	}
}

extern const struct command cmd_autoscale;

static int autoscale_command(struct nanopod *np, const struct options *o)
{
	struct autoscale *a = calloc(1, sizeof *a);
	int status;

	if (!a)
		command_nomem();
	a->np = np;
	a->o = o;
	a->command = &cmd_autoscale;
	a->cluster = option_argv(o)[0];
	a->lock = -1;
	status = autoscale_begin(a);
	status = status ? status : market_sign_in(np, o, 0, &a->m);
	status = status ? status : market_need_ours(a->m, "autoscale");
	status = status ? status : skus_load(a->m, &a->skus);
	status = status ? status : autoscale_go(a);
	autoscale_end(a);
	return status;
}

static const struct option options[] = {
	{ "every", 0, OPTION_DURATION, "DURATION", .fallback = "15s", .help = "look this often" },
	{ "once", 0, OPTION_FLAG, .help = "look once, do what that needs, and end" },
	{ "dry-run", 0, OPTION_FLAG, .help = "look once, and only say what would be done" },
	{ "ssh-key", 0, OPTION_LIST, "FILE",
		.help = "public key that may log in to bought nodes; repeatable; default: those in ~/.ssh",
		.complete = COMPLETE_FILE },
	{ "image", 0, OPTION_STRING, "IMAGE", .help = "image of bought nodes; default: the market's first" },
	{ "skip-gate", 0, OPTION_LIST, "GATE", .help = "only warn about what this gate finds; repeatable" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod autoscale train --dry-run", "say what it would do now" },
	{ "nanopod autoscale train", "buy nodes while jobs wait, and give idle ones back" },
	{ "nanopod autoscale train --every 1m --once", "one look, for a timer" },
	{ 0 },
};

const struct command cmd_autoscale = {
	.name = "autoscale",
	.args = "CLUSTER",
	.summary = "buy nodes while jobs wait, and give idle ones back",
	.examples = examples,
	.positional = "CLUSTER  a cluster whose file has 'autoscale'; 'nanopod provision list' shows all",
	.description = "Stays, and looks again and again at the jobs that wait, the nodes, the price and the budget. "
		       "It buys nodes "
		       "of the file's type that these jobs need into the controller's reservation (CLUSTER-auto-0 …), "
		       "adds them to "
		       "the cluster, extends those that are used, and drains, drops and releases those that nothing "
		       "has used for "
		       "'idle': no job, no process on a GPU, no session of a person. It tells each step with its "
		       "reason, and once, "
		       "not every time, why something cannot be bought.\n\n"
		       "It never exceeds max, max-price and budget of the file. A job that needs more than is left of "
		       "max waits. After a crash or a signal the same command goes on from what is at the market, in "
		       "the cluster's file and in Slurm or Kubernetes (where jobs are pending pods).\n\n"
		       "It runs where the account's token is, not on the cluster. One loop a cluster runs at a time.",
	.options = options,
	.flags = COMMAND_CONNECT | COMMAND_MARKET | COMMAND_MORE,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_CLUSTER,
	.run = autoscale_command,
};
