/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod gateway: what `nanopod run --via` starts on its gateways; nobody types it. */
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/via/viahelper.h"
#include "cli/via/viabinary.h"

static const struct option options[] = {
	{ .name = "fits", .kind = OPTION_STRING, .arg = "VERSION", .help = "only exit with 0 if this is that version" },
	{ 0 },
};

static int gateway_command(struct nanopod *np, const struct options *o)
{
	const char *wanted = option_text(o, "fits");

	if (wanted)
		return strcmp(wanted, viabinary_version()) == 0 ? STATUS_OK : STATUS_CHECK;
	if (np->tty_in)
		return print_fail(np, STATUS_USAGE, "'nanopod run --via HOSTS -w HOSTS -- COMMAND' starts it",
			"'nanopod gateway' reads what 'nanopod run --via' sends, not a terminal");
	return viahelper_run(np);
}

const struct command cmd_gateway = {
	.name = "gateway",
	.args = "",
	.summary = "run commands for 'nanopod run --via' from another machine",
	.options = options,
	.flags = COMMAND_HIDDEN | COMMAND_NO_SETTINGS,
	.run = gateway_command,
};
