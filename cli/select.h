/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts: -w, --hosts-file and -x, with @group from the settings. */
#ifndef CLI_SELECT_H
#define CLI_SELECT_H

#include <stdbool.h>

#include "cli/command.h"
#include "pssh/pssh.h"

/* Rows for a command's option table. */
#define SELECT_OPTIONS \
	{ .name = "hosts", .letter = 'w', .kind = OPTION_LIST, .arg = "HOSTS", .complete = COMPLETE_HOSTS, \
	  .help = "names and ranges like 'n[1-64]', @group, ^FILE, or - for standard input; may be repeated" }, \
	{ .name = "exclude", .letter = 'x', .kind = OPTION_LIST, .arg = "HOSTS", .complete = COMPLETE_HOSTS, \
	  .help = "leave these out; may be repeated" }, \
	{ .name = "hosts-file", .kind = OPTION_LIST, .arg = "FILE", .complete = COMPLETE_FILE, \
	  .help = "names and ranges from a file, # begins a comment; - is standard input" }

/* An empty list that knows the settings' groups. Free by pssh_list_free. An exit status. */
int select_new(struct nanopod *np, struct pssh_list **out);

/* One expression, as -w takes it. */
int select_add(struct nanopod *np, struct pssh_list *l, const char *text);
int select_drop(struct nanopod *np, struct pssh_list *l, const char *text);

/* What the options say. Was any of -w and --hosts-file given? Then *given, and the list is not empty. */
int select_options(struct nanopod *np, const struct options *o, struct pssh_list *l, bool *given);

/* Reads standard input for names: then nothing else may. */
bool select_uses_stdin(const struct options *o);

/* A list as people write it, "n[1-3]"; free() it. Long ones end in "… (N hosts)". */
char *select_fold_names(const char *const *names, size_t count, size_t longest);

#endif
