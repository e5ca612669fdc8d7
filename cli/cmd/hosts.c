/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod hosts: lists the hosts of an expression, and what ssh would use for each; connects to nothing. */
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/frame/command.h"
#include "cli/remote/connect.h"
#include "cli/frame/print.h"
#include "cli/frame/rows.h"
#include "cli/remote/select.h"
#include "cli/frame/settings.h"

static const struct option options[] = {
	SELECT_OPTIONS,
	{ .name = "fold", .letter = 'f', .kind = OPTION_FLAG, .help = "print the shortest expression for all hosts" },
	{ .name = "count", .letter = 'c', .kind = OPTION_FLAG, .help = "print only how many hosts" },
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod hosts 'r[1-4]n[01-16]' -x 'r3n[01-08]'", "the names, one a line" },
	{ "sinfo -hN -o %N | nanopod hosts --fold -", "fold names into one expression" },
	{ "nanopod hosts --count @gpu", "how many" },
	{ "nanopod hosts -o wide 'n[1-4]'", "address, user, port, jump hosts and keys that ssh would use" },
	{ 0 },
};

static const struct column columns[] = {
	{ "host", COLUMN_ID, "name as typed" },
	{ "address", 0, "address to connect to" },
	{ "user", 0, "user on the host" },
	{ "port", COLUMN_RIGHT | COLUMN_RAW, "port on the host" },
	{ "jump", COLUMN_WIDE, "jump hosts or proxy command" },
	{ "identities", COLUMN_WIDE, "key files that it offers" },
	{ 0 },
};

/* "a, b", or NULL for none. */
static const char *hosts_identities(const struct pssh_host *h, struct buf *text)
{
	const char *file;

	buf_clear(text);
	for (size_t i = 0; (file = pssh_host_identity(h, i)); i++)
		if (buf_addf(text, "%s%s", i ? ", " : "", file) != 0)
			command_nomem();
	return text->len ? buf_text(text) : NULL;
}

static int hosts_list(struct nanopod *np, const struct options *o, const struct pssh_list *hosts)
{
	const struct passwd *pw = getpwuid(getuid());
	const char *me = pw ? pw->pw_name : NULL;
	struct connect *c;
	struct rows *rows;
	struct buf identities;
	int status = connect_open(np, &c);

	if (status)
		return status;
	buf_init(&identities, 1 << 20);
	select_recognize(np, hosts);
	/* --fields without -o means a table. */
	if (np->format == FORMAT_NAME && !settings_given(np->settings, SETTING_ID_OUTPUT))
		np->format = FORMAT_TABLE;
	rows = rows_new(np, o, columns, &status);
	for (size_t i = 0; rows && !status && i < pssh_list_count(hosts); i++) {
		struct pssh_host *h;
		char port[16];

		status = connect_host(np, c, pssh_list_get(hosts, i), &h);
		if (status)
			break;
		snprintf(port, sizeof port, "%u", pssh_host_port(h));
		rows_add(rows,
			(const char *[]){ pssh_list_get(hosts, i), pssh_host_address(h),
				*pssh_host_user(h) ? pssh_host_user(h) : me, port,
				*pssh_host_jump(h) ? pssh_host_jump(h) : NULL, hosts_identities(h, &identities) });
	}
	if (rows) {
		int end = rows_end(rows);

		status = status ? status : end;
	}
	buf_release(&identities);
	connect_close(np, c);
	return status;
}

static int hosts_show(struct nanopod *np, const struct options *o, const struct pssh_list *hosts)
{
	char *folded;

	if (option_given(o, "count")) {
		fprintf(np->out, "%zu\n", pssh_list_count(hosts));
		return STATUS_OK;
	}
	if (option_given(o, "fold")) {
		if (pssh_list_fold(hosts, &folded) != 0)
			command_nomem();
		fprintf(np->out, "%s\n", folded);
		free(folded);
		return STATUS_OK;
	}
	/* Reads ssh_config only where more than names is shown. */
	if ((np->format == FORMAT_NAME && !option_given(o, "fields")) || option_given(o, "quiet")) {
		for (size_t i = 0; i < pssh_list_count(hosts); i++)
			fprintf(np->out, "%s\n", pssh_list_get(hosts, i));
		return STATUS_OK;
	}
	return hosts_list(np, o, hosts);
}

static int hosts_run(struct nanopod *np, const struct options *o)
{
	struct connect_warm *warm = np->shell;
	struct pssh_list *hosts;
	bool given;
	int status = select_new(np, &hosts);

	status = status ? status : select_inventories(np, o);
	for (int i = 0; !status && i < option_argc(o); i++)
		status = select_meant(np, hosts, option_argv(o)[i], false);
	if (!status)
		status = select_options(np, o, hosts, &given);
	if (!status && !given && !option_argc(o)) {
		if (warm && warm->selection)
			status = select_add(np, hosts, warm->selection);
		else
			status = print_fail(np, STATUS_USAGE, "nanopod hosts 'n[1-64]'", "no hosts given");
	}
	if (!status)
		status = hosts_show(np, o, hosts);
	pssh_list_free(hosts);
	return status;
}

const struct command cmd_hosts = {
	.name = "hosts",
	.args = "[HOSTS...]",
	.summary = "list the hosts that an expression means",
	.examples = examples,
	.description = "An expression is a list of names and ranges, separated by commas or spaces: 'n[01-64,70]', "
		       "'r[1-4]n[1-16]', 'root@n[1-2]:2222', '@group' of the settings, '^FILE', or '-' for standard "
		       "input; 'n[1-9]!n[3,5]' leaves some out. A name that comes twice counts once; the order "
		       "stays. Connects to nothing.",
	.positional = "HOSTS  names, ranges, @groups",
	.options = options,
	.formats = "name|table|wide|json|jsonl|csv|yaml",
	.flags = COMMAND_MORE | COMMAND_ROWS | COMMAND_CONNECT | COMMAND_NODES,
	.min_args = 0,
	.max_args = -1,
	.complete_first = COMPLETE_HOSTS,
	.complete_rest = COMPLETE_HOSTS,
	.run = hosts_run,
};
