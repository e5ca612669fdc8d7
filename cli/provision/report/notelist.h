/* SPDX-License-Identifier: Apache-2.0 */
/* Notes kept until the end: what differs, what failed, the results of checks. */
#ifndef CLI_PROVISION_REPORT_NOTELIST_H
#define CLI_PROVISION_REPORT_NOTELIST_H

#include "cli/provision/report/note.h"

struct notelist {
	struct note *at; /* the list owns their texts */
	size_t count, cap;
};

void notelist_add(struct notelist *l, const struct note *n);
void notelist_release(struct notelist *l);

/* Counts notes of that kind, or those that are (not) ok; node NULL: of all nodes. */
size_t notelist_count(const struct notelist *l, enum note_kind kind, const char *node);
size_t notelist_bad(const struct notelist *l, enum note_kind kind, const char *node);

/* {"cluster":…,"status":…,"findings":[…],"changes":[…] …} and a newline. 0 or a code of buf_add. */
int notelist_json(const struct notelist *l, const char *cluster, int status, struct buf *out);

/* Nodes with the same notes of one kind. names: its nodes, in the order of members. */
struct notegroup {
	const char **names;
	size_t count;
	const struct note **notes; /* the first node's */
	size_t note_count;
};
/* diffs: nodes with different diffs go into different groups. *out: *count groups, for notelist_groups_free(). */
void notelist_groups(const struct notelist *l, enum note_kind kind, bool diffs, char *const *members,
	size_t member_count, struct notegroup **out, size_t *count);
void notelist_groups_free(struct notegroup *groups, size_t count);

#endif
