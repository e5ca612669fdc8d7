/* SPDX-License-Identifier: Apache-2.0 */
/* The options of nanopod run, and which of them exclude each other. */
#ifndef CLI_CMD_RUN_RUN_OPTIONS_H
#define CLI_CMD_RUN_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/frame/command.h"
#include "cli/remote/rolling.h"

extern const struct option run_options[];
extern const struct example run_examples[];

/* Exit statuses, after an error message. */
int run_options_check(struct nanopod *np, const struct options *o);
int run_options_rolling(struct nanopod *np, const struct options *o, struct rolling *out);

int run_options_every(struct nanopod *np, const char *text, int64_t *ms); /* of --watch */

/* Warns of `sh -c 'a b'` in words that are joined by spaces: the shell there gets only `a` as its command. */
void run_options_warn_shell(struct nanopod *np, char *const *words);

bool run_options_become(const struct options *o);

#endif
