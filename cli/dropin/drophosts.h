/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts as the tools write them, put into nanopod's own lists. */
#ifndef CLI_DROPIN_DROPHOSTS_H
#define CLI_DROPIN_DROPHOSTS_H

#include "cli/frame/command.h"
#include "pssh/pssh.h"

/* All return an exit status, and have told the person what is wrong. */

/* pdsh -w: names and ranges, -name, ^file, /regex/, ssh:user@name. First what adds, then what leaves out. */
int drophosts_pdsh_add(struct nanopod *np, struct pssh_list *l, const char *text);
int drophosts_pdsh_filter(struct nanopod *np, struct pssh_list *l, const char *text, bool drop); /* drop: of -x */

/* Nodesets of ClusterShell: "n[1-9]!n3,@web&@up^n[1-4]", from left to right. */
int drophosts_nodeset(struct nanopod *np, struct pssh_list *l, const char *text);

/* Files and words of pssh: "[user@]host[:port] [user]"; glob NULL: all. */
int drophosts_pssh_file(struct nanopod *np, struct pssh_list *l, const char *path, const char *glob);
int drophosts_pssh_words(struct nanopod *np, struct pssh_list *l, const char *text);

void drophosts_join(struct pssh_list *l, const struct pssh_list *other);
void drophosts_drop(struct pssh_list *l, const struct pssh_list *other);
void drophosts_keep(struct pssh_list *l, const struct pssh_list *other); /* only those */
int drophosts_pick(struct nanopod *np, struct pssh_list *l, const char *count);

#endif
