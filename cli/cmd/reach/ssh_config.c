/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod ssh-config: nodes as ssh_config(5) has hosts, for ssh, rsync, git and editors. */
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/reach/reach.h"
#include "cli/frame/command.h"
#include "cli/remote/openssh.h"
#include "cli/remote/select.h"

static const struct option options[] = {
	SELECT_OPTIONS,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod ssh-config train >~/.ssh/nanopod",
		"with 'Include nanopod' at the top of ~/.ssh/config: for all programs" },
	{ "nanopod ssh-config train-0 >c; rsync -e 'ssh -F c' -a data train-0:", "for one" },
	{ 0 },
};

/* A file's name in the quotes of ssh_config, indented. */
static void ssh_config_path(struct nanopod *np, const char *keyword, const char *path)
{
	char *text = openssh_path_option(keyword, path);

	fprintf(np->out, "    %s\n", text + strlen("-o"));
	free(text);
}

static void ssh_config_host(struct nanopod *np, const struct reach_host *h)
{
	const char *file, *jump = pssh_host_jump(h->host);

	fprintf(np->out, "Host %s\n    HostName %s\n    Port %u\n", h->name, pssh_host_address(h->host),
		pssh_host_port(h->host));
	if (h->user)
		fprintf(np->out, "    User %s\n", h->user);
	if (*jump)
		fprintf(np->out, "    %s %s\n", strchr(jump, ' ') ? "ProxyCommand" : "ProxyJump", jump);
	for (size_t i = 0; (file = pssh_host_identity(h->host, i)); i++)
		ssh_config_path(np, "IdentityFile", file);
	if (!h->node)
		return;
	fprintf(np->out, "    HostKeyAlias %s\n", h->node->id);
	ssh_config_path(np, "UserKnownHostsFile", h->key_file);
	fputs("    GlobalKnownHostsFile /dev/null\n    StrictHostKeyChecking yes\n    UpdateHostKeys no\n", np->out);
}

static int ssh_config_run(struct nanopod *np, const struct options *o)
{
	struct reach r;
	int status = reach_open(np, o, &r);

	if (status)
		return status;
	for (size_t i = 0; i < r.count; i++)
		ssh_config_host(np, &r.list[i]);
	status = reach_status(&r);
	reach_close(np, &r);
	return status;
}

const struct command cmd_ssh_config = {
	.name = "ssh-config",
	.args = "[NAME...]",
	.summary = "print hosts as ssh_config has them, for other programs",
	.examples = examples,
	.description =
		"Prints a Host block for each node with its address, port, user and keys, so that ssh, rsync, git "
		"and editors reach it by its name. The host key that the market told is pinned, in a file in "
		"~/.cache/nanopod. Print it again after nodes were replaced.",
	.positional = "NAME  a reservation, a node, or a host that ssh knows",
	.options = options,
	.flags = COMMAND_MORE | COMMAND_CONNECT | COMMAND_NODES,
	.max_args = -1,
	.complete_first = COMPLETE_HOSTS,
	.complete_rest = COMPLETE_HOSTS,
	.run = ssh_config_run,
};
