/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod provision: turns nodes into a working cluster of Slurm, K3s and what runs on them. */
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
	{ "adduser", "CLUSTER NAME --key FILE [--sudo]", 2, 2, provision_adduser },
	{ "deluser", "CLUSTER NAME...", 2, -1, provision_deluser },
	{ "upgrade", "CLUSTER [--set STACK.SETTING=VALUE]", 1, 1, provision_upgrade },
	{ "remove", "CLUSTER [STACK...]", 1, -1, provision_remove },
	{ "bundle", "STACK... -d FOLDER [--from FOLDER] [--release NAME]", 1, -1, provision_bundle },
	{ "stacks", "[STACK]", 0, 1, provision_stacks },
	{ "stack", "new NAME | check [STACK...] | test STACK -w HOST", 1, -1, provision_stack },
	{ 0 },
};

static const struct action *provision_find(const char *word)
{
	for (const struct action *a = actions; a->name; a++)
		if (strcmp(a->name, word) == 0)
			return a;
	return NULL;
}

/* A first word that is no verb is a cluster, a file or a stack to apply. */
static int provision_command(struct nanopod *np, const struct options *o)
{
	char **words = option_argv(o);
	int left = option_argc(o) - 1;
	const struct action *a = *words ? provision_find(*words) : NULL;

	if (!*words && !select_given(o))
		return print_fail(np, STATUS_USAGE,
			"'nanopod provision -r RESERVATION slurm', or 'nanopod provision --help'", "no cluster given");
	if (!a)
		return provision_cluster(np, o, words);
	if (left >= a->min && (a->max < 0 || left <= a->max))
		return a->run(np, o, words + 1);
	return print_fail(np, STATUS_USAGE, NULL, "cannot run 'provision %s': %s; type 'nanopod provision %s%s%s'",
		a->name, left < a->min ? "an argument is missing" : "too many arguments", a->name, *a->usage ? " " : "",
		a->usage);
}

static const struct option options[] = {
	SELECT_OPTIONS,
	{ "name", 0, OPTION_STRING, "NAME",
		.help = "the cluster's name; default: the reservation, or the first stack" },
	{ "set", 0, OPTION_LIST, "SETTING=VALUE",
		.help = "set a stack's setting, e.g. slurm.accounting=no; repeatable" },
	{ "role", 0, OPTION_LIST, "ROLE=HOSTS",
		.help = "give nodes a role, e.g. controller=n1; add: the new nodes' ROLE; repeatable" },
	{ "diff", 0, OPTION_FLAG, .help = "show how files would change, line by line" },
	{ "detailed-exitcode", 0, OPTION_FLAG, .help = "plan: exit with 10 if something would change" },
	{ "no-verify", 0, OPTION_FLAG, .help = "skip the checks after applying" },
	{ "skip-gate", 0, OPTION_LIST, "GATE", .help = "only warn about what this gate finds; repeatable" },
	{ "max-fail", 0, OPTION_INT, "N", .fallback = "0", .min = 0, .max = 100000,
		.help = "start nothing more after so many nodes failed; 0: no limit" },
	{ "airgap", 0, OPTION_STRING, "FOLDER", .help = "install only from this folder, which 'bundle' made",
		.complete = COMPLETE_DIR },
	PROVISION_SUDO_OPTION,
	{ "force", 0, OPTION_FLAG, .help = "remove, drop: continue if something cannot be undone or drained" },
	{ "key", 0, OPTION_LIST, "FILE", .help = "adduser: a file with their public keys; repeatable",
		.complete = COMPLETE_FILE },
	{ "sudo", 0, OPTION_FLAG, .help = "adduser: let them become root by sudo" },
	{ "dir", 'd', OPTION_STRING, "FOLDER", .help = "bundle: the folder to create", .complete = COMPLETE_DIR },
	{ "from", 0, OPTION_LIST, "FOLDER", .help = "bundle: use files from here instead of fetching them; repeatable",
		.complete = COMPLETE_DIR },
	{ "release", 0, OPTION_STRING, "NAME",
		.help = "bundle: the nodes' release of Debian or Ubuntu, e.g. 'trixie'; default: this machine's" },
	{ "file", 0, OPTION_STRING, "FILE",
		.help = "init: the file to write, '-' for standard output; default: CLUSTER.yaml",
		.complete = COMPLETE_FILE },
	{ "yes", 'y', OPTION_FLAG, .help = "do not ask; print the plan anyway" },
	{ "dry-run", 0, OPTION_FLAG, .help = "only show the plan" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod provision -r train slurm", "install Slurm on the nodes of the reservation 'train'" },
	{ "nanopod provision -w 'n[1-8]' slurm monitoring --set slurm.accounting=no",
		"install two stacks on any hosts" },
	{ "nanopod provision init -r train k3s", "write train.yaml for editing" },
	{ "nanopod provision ./train.yaml", "apply it; a second run changes nothing" },
	{ "nanopod provision plan train --diff", "show how the nodes differ from the file" },
	{ "nanopod provision verify train", "run real jobs on every node" },
	{ "nanopod provision add train -w n9", "add a node" },
	{ "nanopod provision adduser train ada --key ada.pub", "let a colleague work on it" },
	{ "nanopod provision remove train", "restore the nodes" },
	{ "nanopod provision stack test mine -w n9", "try a stack of one's own on a node" },
	{ 0 },
};

static const struct completion provision_completions[] = {
	{ "stacks", COMPLETE_STACK, NULL, false },
	{ "stack", COMPLETE_VALUES, "new|check|test", false },
	{ "stack new", COMPLETE_NONE, NULL, true },
	{ "stack check", COMPLETE_STACK, NULL, true },
	{ "stack test", COMPLETE_STACK, NULL, false },
	{ 0 },
};

const struct command cmd_provision = {
	.name = "provision",
	.args = "[VERB] [CLUSTER|FILE|STACK...]",
	.summary = "turn nodes into a cluster: Slurm, K3s and what runs on them",
	.examples = examples,
	.positional = "apply CLUSTER|FILE|STACK...  apply a file, or stacks to -w and -r (also without a verb)\n"
		      "plan CLUSTER|FILE|STACK...   show how the nodes differ from it\n"
		      "verify CLUSTER|FILE          run all checks; exit with 11 if one fails\n"
		      "status [CLUSTER]             show what differs and what fails on each node\n"
		      "list                         list the clusters applied from this machine\n"
		      "init [STACK...]              look at nodes and write a cluster file with comments\n"
		      "add CLUSTER                  add the nodes of -w and -r\n"
		      "drop CLUSTER                 drain the nodes of -w and -r, restore them and take them out\n"
		      "drain|undrain CLUSTER        stop or allow new work on them in Slurm and Kubernetes\n"
		      "adduser CLUSTER NAME         give a person a user on all nodes, or change it\n"
		      "deluser CLUSTER NAME...      take users away; their files stay\n"
		      "upgrade CLUSTER              upgrade to the versions of --set, node after node\n"
		      "remove CLUSTER [STACK...]    undo everything on the nodes, or only those stacks\n"
		      "bundle STACK...              make a folder for installing without a network\n"
		      "stacks [STACK]               list stacks, or the settings of one\n"
		      "stack new NAME               write a stack of one's own, for editing\n"
		      "stack check [STACK...]       find mistakes in the files of stacks\n"
		      "stack test STACK             apply, verify and remove it on a node of -w that may be lost",
	.description =
		"A cluster file names nodes, stacks and roles. nanopod checks all nodes at once and shows a "
		"plan of the "
		"differences. After you agree, it applies them in order, one step "
		"at a time on each node. "
		"After any interruption the same command continues.\n\n"
		"The nodes need sshd, sh and root, by sudo for another user; its password comes from "
		"--ask-sudo or "
		"NANOPOD_SUDO_PASSWORD. Secrets travel only over SSH.\n\n"
		"nanopod saves applied clusters in ~/.local/state/nanopod/clusters, with a journal and the log of "
		"each step. A CLUSTER is "
		"the name of one; a FILE ends with .yaml or contains a '/'.",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_CONNECT | COMMAND_NODES | COMMAND_ROWS,
	.max_args = -1,
	.complete_first = COMPLETE_PROVISION,
	.complete_rest = COMPLETE_CLUSTER_STACK,
	.first_values = "apply|plan|verify|status|list|init|add|drop|drain|undrain|adduser|deluser|upgrade|remove|"
			"bundle|stacks|stack",
	.completions = provision_completions,
	.run = provision_command,
};
