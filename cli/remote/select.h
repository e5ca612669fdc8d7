/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects hosts: -w, -r, --hosts-file and -x, with @group from the settings, and nodes of the market by
 * reservation, type, zone or a pattern of their names.
 */
#ifndef CLI_REMOTE_SELECT_H
#define CLI_REMOTE_SELECT_H

#include <stdbool.h>

#include "cli/frame/command.h"
#include "cli/remote/selectnodes.h"
#include "pssh/pssh.h"

/* Rows for a command's option table. RES: the letter of --reservation, 0 where it has another meaning. */
#define SELECT_OPTIONS SELECT_OPTIONS_BUT('r')
#define SELECT_OPTIONS_BUT(RES) \
	{ .name = "hosts", \
		.letter = 'w', \
		.kind = OPTION_LIST, \
		.arg = "HOSTS", \
		.complete = COMPLETE_HOSTS, \
		.help = "names and ranges like 'n[1-64]', 'train-*', @group or @reservation, ^FILE, or -; " \
			"repeatable" }, \
		{ .name = "reservation", \
			.letter = RES, \
			.kind = OPTION_LIST, \
			.arg = "RESERVATION", \
			.complete = COMPLETE_RESERVATION, \
			.help = "nodes of this reservation; repeatable" }, \
		{ .name = "type", \
			.kind = OPTION_STRING, \
			.arg = "TYPE", \
			.complete = COMPLETE_TYPE, \
			.help = "only nodes of this type; alone: all your nodes of it" }, \
		{ .name = "zone", .kind = OPTION_STRING, .arg = "ZONE", .help = "only nodes in this zone" }, \
		{ .name = "wait", \
			.kind = OPTION_OPTIONAL, \
			.arg = "DURATION", \
			.help = "wait for nodes that do not run yet (5m without a value)" }, \
		{ .name = "only-ready", \
			.kind = OPTION_FLAG, \
			.help = "leave out nodes that do not run yet; one line says how many" }, \
		{ .name = "exclude", \
			.letter = 'x', \
			.kind = OPTION_LIST, \
			.arg = "HOSTS", \
			.complete = COMPLETE_HOSTS, \
			.help = "leave these hosts out; repeatable" }, \
		{ .name = "inventory", \
			.kind = OPTION_LIST, \
			.arg = "FILE", \
			.complete = COMPLETE_FILE, \
			.help = "hosts and @groups of Ansible, ClusterShell, Terraform, Kubernetes, Slurm or " \
				"/etc/hosts; repeatable" }, \
	{ \
		.name = "hosts-file", .kind = OPTION_LIST, .arg = "FILE", .complete = COMPLETE_FILE, \
		.help = "names and ranges from a file with # for comments; - is standard input" \
	}

/*
 * Makes an empty list that knows the settings' groups and the market's reservations; pssh_list_free() it. An exit
 * status.
 */
int select_new(struct nanopod *np, struct pssh_list **out);

/* Adds one expression, as -w takes it. */
int select_add(struct nanopod *np, struct pssh_list *l, const char *text);
int select_drop(struct nanopod *np, struct pssh_list *l, const char *text);

/* Reads what --inventory names, once a command; select_options() does it itself. An exit status. */
int select_inventories(struct nanopod *np, const struct options *o);

/* Adds the hosts of all options. *given: an option named hosts; then the list is not empty. */
int select_options(struct nanopod *np, const struct options *o, struct pssh_list *l, bool *given);
bool select_given(const struct options *o);

/* Leaves out what -x names; select_options() does it itself. An exit status. */
int select_exclude(struct nanopod *np, const struct options *o, struct pssh_list *l);

/*
 * Puts the nodes of a reservation in the place of its name, where that can mean nothing else: it is no node, and
 * neither ssh_config nor known hosts has it. It asks the market only where it listed such a name before, or where sure
 * is true. An exit status.
 */
int select_settle(struct nanopod *np, struct pssh_list *l, bool sure);

/* Adds one expression, with the nodes of reservations in the place of their names. An exit status. */
int select_meant(struct nanopod *np, struct pssh_list *l, const char *text, bool sure);

/*
 * *out: the one host that `typed` means; a reservation of one node stands for it. More than one is refused: `command`
 * takes one. An exit status; *out is the caller's to free in any case.
 */
int select_one(struct nanopod *np, const char *typed, const char *command, struct pssh_list **out);

/* How many pending and running nodes the reservation of that name has, as far as the market was asked. */
size_t select_reservation_size(const struct nanopod *np, const char *name);

/* "did you mean 'train-0'?": the nearest name of a node or reservation that the market ever listed. False: none. */
enum { SELECT_HINT = 200 };
bool select_near(const struct nanopod *np, const char *name, char room[SELECT_HINT]);

/* Do the options read names from standard input? Then nothing else may read it. */
bool select_uses_stdin(const struct options *o);

/* The list as people write it, "n[1-3]"; free() it. A long one ends in "… (N hosts)". */
char *select_fold_names(const char *const *names, size_t count, size_t longest);

#endif
