/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `nanopod run --watch` shows of its last round, in one of five views, as lines for a terminal of a given size. It
 * neither asks the terminal nor prints.
 */
#ifndef CLI_REMOTE_WATCHPAGE_H
#define CLI_REMOTE_WATCHPAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/screen/page.h"
#include "cli/remote/outcome.h"

/* Hosts that answered the same. */
struct watch_block {
	char *names, *end; /* end: how the command failed, or NULL */
	char *text;        /* what it printed, then its errors; "" or whole lines */
	enum outcome_state state;
	size_t first, count; /* one of the hosts; how many */
};

struct watch_round {
	struct watch_block *blocks; /* the largest first */
	size_t count, ok, failed;
	char **hosts;
	size_t host_count;
	size_t *of; /* the block of each host */
	char time[16];
};

enum watch_view { WATCH_GROUPS, WATCH_SUMMARY, WATCH_HOST, WATCH_SPLIT, WATCH_DIFF };

struct watch_page {
	const char *command, *every;
	const struct watch_round *last, *before; /* before: its `of` is NULL in the first round */
	enum watch_view view;
	size_t at; /* the host of HOST, the first one of SPLIT */
};

/* height: so many lines exactly, the last one with the keys; 0: all lines and no keys. The caller releases *out. */
void watchpage_make(const struct watch_page *p, size_t columns, size_t height, struct page *out);

/* How many hosts stand side by side. */
size_t watchpage_panes(size_t columns, size_t hosts);

#endif
