/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the pages of --help and `nanopod help` from the commands' tables. */
#ifndef CLI_FRAME_USAGE_H
#define CLI_FRAME_USAGE_H

#include "cli/frame/command.h"

void usage_short(struct nanopod *np, FILE *out);                            /* `nanopod` alone */
void usage_overview(struct nanopod *np, FILE *out);                         /* nanopod help */
void usage_command(struct nanopod *np, const struct command *cmd, FILE *out); /* nanopod help CMD */
void usage_commands(struct nanopod *np, FILE *out);                           /* nanopod help commands */
void usage_options(struct nanopod *np, FILE *out);                            /* nanopod help options */
void usage_connection(struct nanopod *np, FILE *out);                         /* nanopod help connection */
void usage_output(struct nanopod *np, FILE *out);                             /* nanopod help output */
void usage_statuses(struct nanopod *np, FILE *out);                         /* nanopod help exit-codes */
void usage_json(struct nanopod *np, FILE *out);                             /* nanopod help --json */

#endif
