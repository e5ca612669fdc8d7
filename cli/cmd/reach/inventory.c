/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod inventory: hosts as the inventory of Ansible and the groups of ClusterShell. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/cmd/reach/reach.h"
#include "cli/frame/command.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/remote/openssh.h"
#include "cli/remote/select.h"

enum { TEXT_MAX = 1 << 20, OUTPUT_MAX = 64 << 20 };

static const struct option options[] = {
	{ .name = "ansible", .kind = OPTION_FLAG, .help = "print an Ansible inventory, INI (default)" },
	{ .name = "json", .kind = OPTION_FLAG, .help = "print what an Ansible inventory script prints for --list" },
	{ .name = "clush", .kind = OPTION_FLAG, .help = "print groups of ClusterShell: 'train: train-[0-3]'" },
	SELECT_OPTIONS,
	{ 0 },
};

static const struct example examples[] = {
	{ "nanopod inventory train >hosts.ini; ansible -i hosts.ini train -m ping", "for Ansible" },
	{ "nanopod inventory --json -r train -r web", "as JSON" },
	{ "nanopod inventory --clush -r train >~/.config/clustershell/groups.d/local.cfg", "for clush -g" },
	{ 0 },
};

/* Is it the first host of its group? */
static bool inventory_first(const struct reach *r, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (reach_group(&r->list[i]) && strcmp(reach_group(&r->list[i]), reach_group(&r->list[at])) == 0)
			return false;
	return true;
}

static bool inventory_in(const struct reach_host *h, const char *group)
{
	return group ? reach_group(h) && strcmp(reach_group(h), group) == 0 : !reach_group(h);
}

/* One variable of a host, to the INI line or the JSON object. */
struct inventory_sink {
	struct buf *line;
	struct json *json;
};

static void inventory_set(struct inventory_sink *s, const char *name, const char *value)
{
	if (s->json)
		json_text(s->json, name, value);
	else if (buf_addf(s->line, " %s=", name) || str_quote_sh(s->line, value))
		command_nomem();
}

static void inventory_port(struct inventory_sink *s, unsigned port)
{
	char room[16];

	snprintf(room, sizeof room, "%u", port);
	if (s->json)
		json_int(s->json, "ansible_port", port);
	else
		inventory_set(s, "ansible_port", room);
}

/* What pins a node's host key, and jump hosts, as words for ssh. */
static void inventory_arguments(struct inventory_sink *s, const struct reach_host *h)
{
	const char *jump = pssh_host_jump(h->host);
	struct buf args;
	char *file;
	int rc = 0;

	buf_init(&args, TEXT_MAX);
	if (*jump && !strchr(jump, ' '))
		rc |= buf_addf(&args, "-oProxyJump=%s", jump);
	if (h->node) {
		file = openssh_path_option("UserKnownHostsFile", h->key_file);
		rc |= buf_addf(&args,
			"%s-oHostKeyAlias=%s -oStrictHostKeyChecking=yes -oUpdateHostKeys=no "
			"-oGlobalKnownHostsFile=/dev/null ",
			args.len ? " " : "", h->node->id);
		rc |= str_quote_sh(&args, file);
		free(file);
	}
	if (rc)
		command_nomem();
	if (args.len)
		inventory_set(s, "ansible_ssh_common_args", buf_text(&args));
	buf_release(&args);
}

static void inventory_vars(struct inventory_sink *s, const struct reach_host *h)
{
	const char *file = pssh_host_identity(h->host, 0);

	inventory_set(s, "ansible_host", pssh_host_address(h->host));
	inventory_port(s, pssh_host_port(h->host));
	if (h->user)
		inventory_set(s, "ansible_user", h->user);
	if (file)
		inventory_set(s, "ansible_ssh_private_key_file", file);
	inventory_arguments(s, h);
}

static void inventory_ansible_group(struct nanopod *np, const struct reach *r, const char *group)
{
	struct buf line;

	buf_init(&line, OUTPUT_MAX);
	for (size_t i = 0; i < r->count; i++) {
		struct inventory_sink s = { .line = &line };

		if (!inventory_in(&r->list[i], group))
			continue;
		buf_clear(&line);
		inventory_vars(&s, &r->list[i]);
		fprintf(np->out, "%s%s\n", r->list[i].name, buf_text(&line));
	}
	buf_release(&line);
}

static void inventory_ansible(struct nanopod *np, const struct reach *r)
{
	inventory_ansible_group(np, r, NULL);
	for (size_t i = 0; i < r->count; i++)
		if (reach_group(&r->list[i]) && inventory_first(r, i)) {
			fprintf(np->out, "[%s]\n", reach_group(&r->list[i]));
			inventory_ansible_group(np, r, reach_group(&r->list[i]));
		}
}

static void inventory_json_group(struct json *j, const struct reach *r, const char *group)
{
	json_begin_object(j, group ? group : "ungrouped");
	json_begin_array(j, "hosts");
	for (size_t i = 0; i < r->count; i++)
		if (inventory_in(&r->list[i], group))
			json_text(j, NULL, r->list[i].name);
	json_end(j);
	json_end(j);
}

static void inventory_json(struct nanopod *np, const struct reach *r)
{
	struct buf out;
	struct json j;

	buf_init(&out, OUTPUT_MAX);
	j = json_to(&out);
	json_begin_object(&j, NULL);
	inventory_json_group(&j, r, NULL);
	for (size_t i = 0; i < r->count; i++)
		if (reach_group(&r->list[i]) && inventory_first(r, i))
			inventory_json_group(&j, r, reach_group(&r->list[i]));
	json_begin_object(&j, "_meta");
	json_begin_object(&j, "hostvars");
	for (size_t i = 0; i < r->count; i++) {
		struct inventory_sink s = { .json = &j };

		json_begin_object(&j, r->list[i].name);
		inventory_vars(&s, &r->list[i]);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	json_end(&j);
	if (j.error)
		command_nomem();
	fprintf(np->out, "%s\n", buf_text(&out));
	buf_release(&out);
}

static void inventory_clush_group(struct nanopod *np, const struct reach *r, const char *group, bool all)
{
	const char **names = calloc(r->count + 1, sizeof *names);
	size_t count = 0;
	char *folded;

	if (!names)
		command_nomem();
	for (size_t i = 0; i < r->count; i++)
		if (all || inventory_in(&r->list[i], group))
			names[count++] = r->list[i].name;
	folded = select_fold_names(names, count, 0);
	fprintf(np->out, "%s: %s\n", all ? "all" : group, folded);
	free(folded);
	free(names);
}

static void inventory_clush(struct nanopod *np, const struct reach *r)
{
	inventory_clush_group(np, r, NULL, true);
	for (size_t i = 0; i < r->count; i++)
		if (reach_group(&r->list[i]) && inventory_first(r, i))
			inventory_clush_group(np, r, reach_group(&r->list[i]), false);
}

static int inventory_run(struct nanopod *np, const struct options *o)
{
	bool json = option_given(o, "json"), clush = option_given(o, "clush");
	struct reach r;
	int status;

	if (json + clush + option_given(o, "ansible") > 1)
		return print_fail_field(np, STATUS_USAGE, "--json", NULL,
			"--ansible, --json and --clush exclude each other");
	status = reach_open(np, o, &r);
	if (status)
		return status;
	if (json)
		inventory_json(np, &r);
	else if (clush)
		inventory_clush(np, &r);
	else
		inventory_ansible(np, &r);
	status = reach_status(&r);
	reach_close(np, &r);
	return status;
}

const struct command cmd_inventory = {
	.name = "inventory",
	.args = "[NAME...]",
	.summary = "print hosts as an inventory of Ansible or groups of ClusterShell",
	.examples = examples,
	.description =
		"Groups are the reservations. For Ansible each host has its address, port, user and key, and the "
		"host key of a node that the market told is pinned, in a file in ~/.cache/nanopod. ClusterShell "
		"takes addresses from ssh_config: 'nanopod ssh-config' prints them.",
	.positional = "NAME  a reservation, a node, or a host that ssh knows",
	.options = options,
	.flags = COMMAND_MORE | COMMAND_CONNECT | COMMAND_NODES,
	.max_args = -1,
	.complete_first = COMPLETE_HOSTS,
	.complete_rest = COMPLETE_HOSTS,
	.run = inventory_run,
};
