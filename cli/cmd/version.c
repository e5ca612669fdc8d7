/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod version: reads no file, uses no network, sets up no library. */
#include <stdlib.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/frame/json.h"
#include "pssh/pssh.h"

static int version_command(struct nanopod *np, const struct options *o)
{
	struct buf text;
	struct json j;

	(void)o;
	if (np->format != FORMAT_JSON) {
		fprintf(np->out, "nanopod %s (libpssh %s)\n", PACKAGE_VERSION, pssh_version());
		return STATUS_OK;
	}
	buf_init(&text, 4096);
	j = json_to(&text);
	json_begin_object(&j, NULL);
	json_text(&j, "name", "nanopod");
	json_text(&j, "version", PACKAGE_VERSION);
	json_text(&j, "libpssh", pssh_version());
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(np->out, "%s\n", buf_text(&text));
	buf_release(&text);
	return STATUS_OK;
}

static const struct example examples[] = {
	{ "nanopod version", "name and number" },
	{ "nanopod version -o json", "the same for programs" },
	{ 0 },
};

const struct command cmd_version = {
	.name = "version",
	.args = "",
	.summary = "show the version",
	.examples = examples,
	.description = "'nanopod --version' does the same. It reads no file and contacts no host.",
	.formats = "text|json|yaml",
	.flags = COMMAND_MORE | COMMAND_NO_SETTINGS,
	.run = version_command,
};
