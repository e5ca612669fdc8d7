/* SPDX-License-Identifier: Apache-2.0 */
/* What `extend --auto-extend` says while it runs, and at its end. */
#ifndef CLI_CMD_EXTEND_EXTEND_AUTO_SAY_H
#define CLI_CMD_EXTEND_EXTEND_AUTO_SAY_H

#include "cli/cmd/extend/extend_auto_plan.h"

/* The line of a terminal that shows how it stands. */
void extend_auto_draw(struct auto_extend *a);
void extend_auto_hide(struct auto_extend *a);

/* A warning, where it is not what `said` has, which has it then. */
void extend_auto_warn(struct auto_extend *a, char said[400], const char *text);

/* "the node of 'train' that ends at 18:00"; with one end for all its nodes "'train'". */
const char *extend_auto_whose(const struct auto_extend *a, const struct auto_end *end, char room[200]);

/* Somebody, this command or a person, bought this for so much: it counts. */
void extend_auto_took(struct auto_extend *a, const struct order_status *order, int64_t cost);

/* So many nodes no longer end as it was bought. */
void extend_auto_gave(struct auto_extend *a, int64_t nodes);

/* The budget suffices for other ends, not for this one. */
void extend_auto_too_dear(struct auto_extend *a, const struct auto_end *end);

/* Why it ends. An exit status. */
int extend_auto_tell_spent(struct auto_extend *a);
int extend_auto_tell_ended(struct auto_extend *a);
int extend_auto_tell_stopped(struct auto_extend *a);

#endif
