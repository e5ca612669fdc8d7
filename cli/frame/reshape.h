/* SPDX-License-Identifier: Apache-2.0 */
/*
 * -o yaml and --template: a command writes its JSON into a stream, and this prints it in the other form: an array
 * when it is complete, JSON Lines line by line. So every command that has JSON has these, too.
 */
#ifndef CLI_FRAME_RESHAPE_H
#define CLI_FRAME_RESHAPE_H

#include <stddef.h>

#include "cli/frame/command.h"

struct reshape;

/* NULL after an error about the template was printed. template NULL: YAML. np->out is its stream until the end. */
struct reshape *reshape_begin(struct nanopod *np, const char *template, bool lines);

/*
 * Prints what is left, gives np->out back and frees. Returns status, or another one after an error was printed: the
 * template names a field that nothing has.
 */
int reshape_end(struct reshape *r, int status);

/* Prints what came so far and flushes, as print_finish() does, which it is without such a form. */
int reshape_finish(struct nanopod *np, int status);

/*
 * The next field that a template names, and how long its first part is: {a.b} gives "a.b" and 1. NULL: no more.
 * *at begins at the template's begin.
 */
const char *reshape_field(const char **at, size_t *part);

#endif
