/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod keep: the connections that commands with --keep left open. */
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/remote/keeping.h"

static const struct option options[] = {
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod run --keep 10m -w 'n[1-64]' -- uptime", "leaves its connections open for the next commands" },
	{ "nanopod keep", "which connections are open" },
	{ "nanopod keep stop", "close them" },
	{ 0 },
};

static const struct column columns[] = {
	{ .name = "connection", .flags = COLUMN_ID, .help = "user, address and port" },
	{ .name = "state", .help = "idle or in use" },
	{ .name = "age_s", .flags = COLUMN_RIGHT | COLUMN_RAW, .help = "how long it is kept, in seconds" },
	{ .name = "idle_s", .flags = COLUMN_RIGHT | COLUMN_RAW, .help = "how long nobody used it, in seconds" },
	{ .name = "closes_s",
		.flags = COLUMN_RIGHT | COLUMN_RAW,
		.help = "when it closes if nobody uses it, in seconds" },
	{ .name = "keeper", .flags = COLUMN_RAW | COLUMN_WIDE, .help = "PID of the process that keeps it" },
	{ .name = "kex", .flags = COLUMN_WIDE, .help = "key exchange agreed on" },
	{ .name = "hostkey", .flags = COLUMN_WIDE, .help = "type of the host key" },
	{ .name = "cipher", .flags = COLUMN_WIDE, .help = "cipher agreed on" },
	{ 0 },
};

static int keep_by_name(const void *a, const void *b)
{
	return strcmp(((const struct pssh_kept *)a)->name, ((const struct pssh_kept *)b)->name);
}

static int keep_status(struct nanopod *np, const struct options *o)
{
	struct pssh_kept *list = NULL;
	struct rows *rows;
	size_t count = 0;
	int status = STATUS_OK;

	if (!rows_check(np, o, columns, &status))
		return status;
	status = keeping_list(np, false, &list, &count, NULL);
	if (status)
		return status;
	if (count)
		qsort(list, count, sizeof *list, keep_by_name);
	rows = rows_new(np, o, columns, &status);
	for (size_t i = 0; rows && i < count; i++) {
		char age[16], idle[16], closes[16], pid[16];
		const struct pssh_kept *k = &list[i];

		snprintf(age, sizeof age, "%u", k->age);
		snprintf(idle, sizeof idle, "%u", k->idle);
		snprintf(closes, sizeof closes, "%u", k->idle < k->limit ? k->limit - k->idle : 0);
		snprintf(pid, sizeof pid, "%u", k->pid);
		rows_add(rows,
			(const char *[]){ k->name, k->lent ? "in use" : "idle", age, idle, k->lent ? NULL : closes,
				pid, k->kex, k->hostkey, k->cipher });
	}
	if (rows && rows_none(rows))
		print_note(np, "no connections are kept; 'nanopod run --keep 10m ...' keeps some");
	free(list);
	return rows ? rows_end(rows) : status;
}

static int keep_stop(struct nanopod *np)
{
	struct pssh_kept *list = NULL;
	size_t count, used = 0;
	int status = keeping_list(np, true, &list, &count, NULL);

	if (status)
		return status;
	for (size_t i = 0; i < count; i++)
		used += list[i].lent != 0;
	if (!count)
		print_note(np, "no connections are kept");
	else if (used)
		print_note(np, "closed %zu connection%s; %zu in use close%s when the command ends", count - used,
			count - used == 1 ? "" : "s", used, used == 1 ? "s" : "");
	else
		print_note(np, "closed %zu connection%s", count, count == 1 ? "" : "s");
	free(list);
	return STATUS_OK;
}

static int keep_command(struct nanopod *np, const struct options *o)
{
	const char *what = option_argc(o) ? option_argv(o)[0] : "status";

	if (strcmp(what, "status") == 0)
		return keep_status(np, o);
	if (strcmp(what, "stop") == 0)
		return keep_stop(np);
	return print_fail(np, STATUS_USAGE, "nanopod keep status, or nanopod keep stop", "unknown action '%s'", what);
}

const struct command cmd_keep = {
	.name = "keep",
	.args = "[status|stop]",
	.summary = "list or close connections kept by --keep",
	.examples = examples,
	.description = "A command with --keep leaves its connections open, and later commands with --keep use "
		       "them. 'status' lists them; 'stop' closes them, those in use when their command ends.",
	.positional = "ACTION  status (the default) or stop",
	.options = options,
	.formats = "table|wide|json|jsonl|csv|name|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS,
	.complete_first = COMPLETE_VALUES,
	.first_values = "status|stop",
	.min_args = 0,
	.max_args = 1,
	.run = keep_command,
};
