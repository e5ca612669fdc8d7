/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts whose agents say that they are sick. A deadline decides when such a host is well again, not each word: one that
 * is sick now and then stays sick, so that nothing on it is taken away and given back every minute.
 */
#ifndef MARKETD_STORE_SICK_H
#define MARKETD_STORE_SICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "marketd/engine/event.h"
#include "marketd/engine/idmap.h"

/* X(name, word): an agent's own health. */
#define HEALTHS(X) X(OK, "ok") X(DEGRADED, "degraded") X(DRAINING, "draining") X(UNHEALTHY, "unhealthy")

enum health {
	HEALTH_UNTOLD,
#define HEALTH_X(name, word) HEALTH_##name,
	HEALTHS(HEALTH_X)
#undef HEALTH_X
		HEALTH_KINDS
};

enum { SICK_SECONDS = 600 }; /* it must have been well for so long */

struct sick_host {
	uint64_t host;
	int64_t since; /* a minute; 0: from now on */
	int64_t until; /* Unix seconds: not well before */
	int64_t told;  /* the last word of it, and whether that was good */
	bool well;
	bool mild; /* its tenant may have caused it: it is down only while nobody leases it */
	char why[WHY_BYTES + 1];
};

struct sick {
	struct idmap hosts; /* struct sick_host by the host's id */
};

void sick_release(struct sick *s);

/*
 * It is sick at `now`; since: its first minute, where this is the first word of it. What is mild does not replace what
 * is not, until that one's deadline. Out of memory: nothing.
 */
void sick_tell(struct sick *s, uint64_t host, bool mild, int64_t since, int64_t now, const char *why);
void sick_well(struct sick *s, uint64_t host, int64_t now);
/* Nobody spoke of it at `now`: it is well. */
void sick_passed_over(struct sick *s, uint64_t host, int64_t now);

/* NULL: it is well, and was long enough. */
const struct sick_host *sick_find(struct sick *s, uint64_t host, int64_t now);

/* The words that a sick host is down by, which the journal keeps; whether a host is, and so that it is mild. */
#define SICK_WORDS "unfit: "
#define SICK_MILD "unfit for new nodes: "
bool sick_is(const char *why);
bool sick_is_mild(const char *why);

const char *health_word(enum health h); /* NULL: unknown */
enum health health_read(const char *word);

#endif
