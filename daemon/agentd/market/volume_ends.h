/* SPDX-License-Identifier: Apache-2.0 */
/* Volumes as the market wants them: written down, deleted where it says so, and told when they are gone. */
#ifndef AGENTD_MARKET_VOLUME_ENDS_H
#define AGENTD_MARKET_VOLUME_ENDS_H

#include "agentd/market/identity.h"
#include "agentd/market/work.h"
#include "agentd/os/kept_volumes.h"
#include "base/log.h"

struct volume_end {
	bool deleted; /* by the market; else it is to be written down */
	bool done;
	bool told; /* the market knows that it is gone */
};

struct volumes {
	const char *data;
	const struct log *log;
	struct volume_home home;
	struct kept_volume *all; /* of the market's last word; NULL: it has not spoken yet */
	struct volume_end *ends; /* what is to be done for each of them */
	size_t count;
	bool fresh;  /* the last word was another one than that before: nodes that run may lack one */
	bool hidden; /* nothing here that the market did not name is in nodes that start without its word */
	int64_t due_ms;
};

/* Before the market's first word. */
void volumes_begin(struct volumes *v, const struct identity *i);

/* 0, or -ENOMEM: nothing changes. */
int volumes_take(struct volumes *v, const struct work *w);

/* One that is gone and not told yet; NULL: none. Does first what can be done now. */
const char *volumes_gone(struct volumes *v);
void volumes_told(struct volumes *v, const char *id); /* until the market's next word */
int64_t volumes_due(const struct volumes *v);         /* when to call volumes_gone() again (clock_ms) */

void volumes_release(struct volumes *v);

#endif
