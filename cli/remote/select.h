/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts: -w, -r, --hosts-file and -x, with @group from the settings, and nodes of the market by
 * their reservation, type, zone or a pattern of their names.
 */
#ifndef CLI_REMOTE_SELECT_H
#define CLI_REMOTE_SELECT_H

#include <stdbool.h>

#include "cli/frame/command.h"
#include "pssh/pssh.h"

/* Rows for a command's option table. RES: the letter of --reservation, 0 where it has another meaning. */
#define SELECT_OPTIONS SELECT_OPTIONS_BUT('r')
#define SELECT_OPTIONS_BUT(RES) \
	{ .name = "hosts", \
		.letter = 'w', \
		.kind = OPTION_LIST, \
		.arg = "HOSTS", \
		.complete = COMPLETE_HOSTS, \
		.help = "names and ranges like 'n[1-64]', 'train-*', @group or @reservation, ^FILE, or -; may be " \
			"repeated" }, \
		{ .name = "reservation", \
			.letter = RES, \
			.kind = OPTION_LIST, \
			.arg = "RESERVATION", \
			.complete = COMPLETE_RESERVATION, \
			.help = "the nodes of this reservation; may be repeated" }, \
		{ .name = "type", \
			.kind = OPTION_STRING, \
			.arg = "TYPE", \
			.complete = COMPLETE_TYPE, \
			.help = "of the market's nodes only those of this type; alone: of all that you have" }, \
		{ .name = "zone", \
			.kind = OPTION_STRING, \
			.arg = "ZONE", \
			.help = "of the market's nodes only those in this zone" }, \
		{ .name = "wait", \
			.kind = OPTION_OPTIONAL, \
			.arg = "DURATION", \
			.help = "wait for nodes that do not run yet, 5m without a value" }, \
		{ .name = "exclude", \
			.letter = 'x', \
			.kind = OPTION_LIST, \
			.arg = "HOSTS", \
			.complete = COMPLETE_HOSTS, \
			.help = "leave these out; may be repeated" }, \
	{ \
		.name = "hosts-file", .kind = OPTION_LIST, .arg = "FILE", .complete = COMPLETE_FILE, \
		.help = "names and ranges from a file, # begins a comment; - is standard input" \
	}

/* An empty list that knows the settings' groups and the market's reservations. Free by pssh_list_free. An exit status. */
int select_new(struct nanopod *np, struct pssh_list **out);

/* One expression, as -w takes it. */
int select_add(struct nanopod *np, struct pssh_list *l, const char *text);
int select_drop(struct nanopod *np, struct pssh_list *l, const char *text);

/* What the options say. Was any of them given that names hosts? Then *given, and the list is not empty. */
int select_options(struct nanopod *np, const struct options *o, struct pssh_list *l, bool *given);
bool select_given(const struct options *o);

/*
 * --type, --zone and --wait for a list whose names came from elsewhere; select_options() does it itself.
 * An exit status.
 */
int select_nodes(struct nanopod *np, const struct options *o, struct pssh_list *l);

/* Just before they are connected: are any of them nodes of the market? Says nothing of those that are none. */
void select_recognize(struct nanopod *np, const struct pssh_list *l);

/* Reads standard input for names: then nothing else may. */
bool select_uses_stdin(const struct options *o);

/* As an array that ends with NULL; free() it. Names are the list's own. */
const char **select_names(const struct pssh_list *l);

/* A list as people write it, "n[1-3]"; free() it. Long ones end in "… (N hosts)". */
char *select_fold_names(const char *const *names, size_t count, size_t longest);

#endif
