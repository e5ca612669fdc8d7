/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod completion: prints the script by which a shell asks `nanopod complete`. */
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/value.h"
#include "cli/scripts.h" /* made from completions/nanopod.{bash,zsh,fish} */

static const struct {
	const char *shell, *script;
} scripts[] = {
	{ "bash", script_bash }, { "zsh", script_zsh }, { "fish", script_fish },
};

static int completion_command(struct nanopod *np, const struct options *o)
{
	const char *shell = option_argv(o)[0];
	struct fail why = { 0 };
	size_t at;

	if (value_enum(shell, "bash|zsh|fish", &at, &why))
		return print_fail(np, STATUS_USAGE, NULL, "cannot make completion: %s", why.text);
	fputs(scripts[at].script, np->out);
	return STATUS_OK;
}

static const struct example examples[] = {
	{ "source <(nanopod completion bash)", "in ~/.bashrc, or try it now" },
	{ "source <(nanopod completion zsh)", "in ~/.zshrc, after compinit" },
	{ "nanopod completion fish | source", "in ~/.config/fish/config.fish" },
	{ 0 },
};

const struct command cmd_completion = {
	.name = "completion",
	.args = "bash|zsh|fish",
	.summary = "print the completion script of a shell",
	.examples = examples,
	.description = "Where nanopod is installed the shells find these scripts already. The script asks nanopod "
		       "for commands, options, their values, groups, and the hosts in ssh_config and known_hosts. "
		       "It contacts no host.",
	.flags = COMMAND_MORE | COMMAND_NO_SETTINGS,
	.min_args = 1,
	.max_args = 1,
	.complete_first = COMPLETE_VALUES,
	.first_values = "bash|zsh|fish",
	.run = completion_command,
};
