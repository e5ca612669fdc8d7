/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod provision: turns nodes into a cluster that works: Slurm, K3s and what runs on them. */
#include <string.h>

#include "cli/frame/action.h"
#include "cli/cmd/provision/provision.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

static const struct action actions[] = {
	{ "plan", "CLUSTER | FILE | -w HOSTS STACK...", 0, -1, provision_plan },
	{ "apply", "CLUSTER | FILE | -w HOSTS STACK...", 0, -1, provision_cluster },
	{ "verify", "CLUSTER | FILE", 1, 1, provision_verify },
	{ "status", "[CLUSTER | FILE]", 0, 1, provision_status },
	{ "list", "", 0, 0, provision_list },
	{ "init", "-w HOSTS [STACK...]", 0, -1, provision_write },
	{ "add", "CLUSTER -w HOSTS [--role ROLE]", 1, 1, provision_add },
	{ "drop", "CLUSTER -w HOSTS", 1, 1, provision_drop },
	{ "drain", "CLUSTER -w HOSTS", 1, 1, provision_drain },
	{ "undrain", "CLUSTER -w HOSTS", 1, 1, provision_undrain },
	{ "upgrade", "CLUSTER [--set STACK.SETTING=VALUE]", 1, 1, provision_upgrade },
	{ "remove", "CLUSTER", 1, 1, provision_remove },
	{ "bundle", "STACK... -d FOLDER [--from FOLDER] [--release NAME]", 1, -1, provision_bundle },
	{ "stacks", "[STACK]", 0, 1, provision_stacks },
	{ 0 },
};

static const struct action *provision_find(const char *word)
{
	for (const struct action *a = actions; a->name; a++)
		if (strcmp(a->name, word) == 0)
			return a;
	return NULL;
}

/* Without a verb it is applied, and only then is the first word a cluster, a file or a stack. */
static int provision_command(struct nanopod *np, const struct options *o)
{
	char **words = option_argv(o);
	int left = option_argc(o) - 1;
	const struct action *a = *words ? provision_find(*words) : NULL;

	if (!*words && !select_given(o))
		return print_fail(np, STATUS_USAGE,
			"'nanopod provision -r RESERVATION slurm', or 'nanopod provision --help'", "which cluster?");
	if (!a)
		return provision_cluster(np, o, words);
	if (left >= a->min && (a->max < 0 || left <= a->max))
		return a->run(np, o, words + 1);
	return print_fail(np, STATUS_USAGE, NULL, "cannot run 'provision %s': %s; type 'nanopod provision %s%s%s'",
		a->name, left < a->min ? "an argument is missing" : "there is an argument too many", a->name,
		*a->usage ? " " : "", a->usage);
}

static const struct option options[] = {
	SELECT_OPTIONS,
	{ "name", 0, OPTION_STRING, "NAME",
		.help = "what the cluster is called; not typed: as the reservation, or the first stack" },
	{ "set", 0, OPTION_LIST, "SETTING=VALUE",
		.help = "a stack's setting, as slurm.accounting=yes; may be repeated" },
	{ "role", 0, OPTION_LIST, "ROLE=HOSTS",
		.help = "who has a role, as controller=n1; add: the new nodes' ROLE; may be repeated" },
	{ "diff", 0, OPTION_FLAG, .help = "show how files would change, line by line" },
	{ "detailed-exitcode", 0, OPTION_FLAG, .help = "plan: exit with 10 where something would change" },
	{ "no-verify", 0, OPTION_FLAG, .help = "do not try afterwards whether all of it works" },
	{ "skip-gate", 0, OPTION_LIST, "GATE", .help = "go on in spite of what this gate finds; may be repeated" },
	{ "max-fail", 0, OPTION_INT, "N", .fallback = "0", .min = 0, .max = 100000,
		.help = "begin nothing more after so many nodes failed; 0: any number may" },
	{ "airgap", 0, OPTION_STRING, "FOLDER", .help = "install from this folder alone, which 'bundle' made",
		.complete = COMPLETE_DIR },
	PROVISION_SUDO_OPTION,
	{ "force", 0, OPTION_FLAG, .help = "remove, drop: go on where something cannot be undone or drained" },
	{ "dir", 'd', OPTION_STRING, "FOLDER", .help = "bundle: the folder to make", .complete = COMPLETE_DIR },
	{ "from", 0, OPTION_LIST, "FOLDER",
		.help = "bundle: take files from here before they are fetched; may be repeated",
		.complete = COMPLETE_DIR },
	{ "release", 0, OPTION_STRING, "NAME",
		.help = "bundle: the nodes' release of Debian or Ubuntu, as 'trixie'; not typed: this machine's" },
	{ "file", 0, OPTION_STRING, "FILE",
		.help = "init: the file to write, '-' for standard output; not typed: CLUSTER.yaml",
		.complete = COMPLETE_FILE },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; the plan is printed all the same" },
	{ "dry-run", 0, OPTION_FLAG, .help = "the plan only" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod provision -r train slurm",
		"Slurm on the nodes of the reservation 'train': the plan, a question, and it works" },
	{ "nanopod provision -w 'n[1-8]' slurm monitoring --set slurm.accounting=yes",
		"more than one stack, on any hosts" },
	{ "nanopod provision init -r train k3s", "write train.yaml, to be edited" },
	{ "nanopod provision ./train.yaml", "apply it; the same again has nothing to do" },
	{ "nanopod provision plan train --diff", "how do the nodes differ from the file by now?" },
	{ "nanopod provision verify train", "does it work? real jobs on every node" },
	{ "nanopod provision add train -w n9", "one more node" },
	{ "nanopod provision remove train", "all as it was before" },
	{ 0 },
};

const struct command cmd_provision = {
	.name = "provision",
	.args = "[VERB] [CLUSTER|FILE|STACK...]",
	.summary = "make nodes a cluster: Slurm, K3s and what runs on them",
	.examples = examples,
	.positional = "apply CLUSTER|FILE|STACK...  what a file says, or stacks on -w and -r (also without a verb)\n"
		      "plan CLUSTER|FILE|STACK...   only say how the nodes differ from it\n"
		      "verify CLUSTER|FILE          try whether it works; 11 where something does not\n"
		      "status [CLUSTER]             each node: what differs, what fails\n"
		      "list                         the clusters that were applied from here\n"
		      "init [STACK...]              look at nodes and write a cluster file with comments\n"
		      "add CLUSTER                  the nodes of -w and -r too\n"
		      "drop CLUSTER                 without them from now on: drained, and as they were\n"
		      "drain|undrain CLUSTER        nothing new is begun on them, in Slurm and Kubernetes\n"
		      "upgrade CLUSTER              to what --set says, in order\n"
		      "remove CLUSTER               take all of it off the nodes again\n"
		      "bundle STACK...              a folder with all that nodes without a network need\n"
		      "stacks [STACK]               what there is, and the settings of one",
	.description = "A cluster file says which nodes, which stacks and who has which role. What is there is looked "
		       "at every time, on all "
		       "nodes at once; the plan says how it differs, and what was agreed to is done in order, a step "
		       "at a time on each node. "
		       "Whatever cuts it off, the same command again goes on.\n\n"
		       "The nodes need sshd, sh and root, by sudo where the user is another; its password is asked for "
		       "by --ask-sudo, or taken from "
		       "NANOPOD_SUDO_PASSWORD. Secrets travel over SSH alone.\n\n"
		       "What was applied is kept in ~/.local/state/nanopod/clusters, with a journal and the log of "
		       "each step: a CLUSTER is "
		       "named by its name then. A file is named by its .yaml, or with a '/'.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name",
	.flags = COMMAND_CONNECT | COMMAND_NODES | COMMAND_ROWS,
	.max_args = -1,
	.complete_first = COMPLETE_PROVISION,
	.complete_rest = COMPLETE_CLUSTER_STACK,
	.first_values = "apply|plan|verify|status|list|init|add|drop|drain|undrain|upgrade|remove|bundle|stacks",
	.run = provision_command,
};
