/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is to be told of alerts, on disk: each alert that began, with a number, and with another one when it ended.
 * Every receiver gets the events in the order of their numbers; with the book's own name these are their ids, which
 * stay whatever happens. An alert leaves the book when it has ended and every receiver has accepted that.
 *
 * FILE has the alerts, FILE.sent how far each receiver is; both are replaced as a whole. If one of them is lost, events
 * are told again, never left out.
 */
#ifndef CLI_ALERTS_ALERTBOOK_H
#define CLI_ALERTS_ALERTBOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/fail.h"
#include "market/model.h"

enum { ALERT_EVENT_ID = 40 };

/* What an alert said when it began; later changes of its value make no event. */
enum alarm_word {
	ALARM_RULE,
	ALARM_SEVERITY,
	ALARM_KIND,
	ALARM_ID,
	ALARM_NAME,
	ALARM_ACCOUNT,
	ALARM_UNIT,
	ALARM_VALUE, /* a number as text; "" none */
	ALARM_THRESHOLD,
	ALARM_TEXT,
	ALARM_NEXT,
	ALARM_WORDS
};

struct alarm {
	int64_t began_seq, ended_seq; /* numbers of both events; ended_seq 0: it still holds */
	int64_t began, ended;         /* Unix time; ended 0: it still holds */
	char *word[ALARM_WORDS];      /* never NULL */
	bool seen;                    /* by the look under way */
};

struct alert_receiver {
	uint64_t key;     /* which one it is: of its address */
	int64_t accepted; /* number of the last event that it accepted */
	int64_t attempts; /* that failed for the next one */
};

struct alert_book {
	char *path;
	int lock;
	char name[17];
	int64_t last; /* number of the newest event */
	struct alarm *alarms;
	size_t count, room;
	struct alert_receiver *receivers;
	size_t receiver_count;
	bool full;    /* it had no room for an alert of the last look */
	bool changed; /* since it was stored */
};

/* One of these: `alarm` began, or it ended. */
struct alert_event {
	const struct alarm *alarm;
	bool ended;
	int64_t seq;
};

/* Reads it, or begins a new one, and keeps others from it. 0, -EBUSY where another command has it, or -errno. */
int alert_book_open(struct alert_book *b, const char *path, struct fail *f);
void alert_book_close(struct alert_book *b);

/* The receivers from now on, in this order; earlier ones that are none of `keys` are forgotten. */
void alert_book_receivers(struct alert_book *b, const uint64_t *keys, size_t count);

/* One look: begin, each alert that holds, end. wanted: a new one is told. */
void alert_book_begin(struct alert_book *b);
void alert_book_holds(struct alert_book *b, const struct model_alert *a, bool wanted, int64_t now);
/* The others have ended, except those that were judged by samples of one of the things `unjudged`. */
void alert_book_end(struct alert_book *b, const char *const *unjudged, size_t count, int64_t now);

/* Stores alerts that changed, before any of them is told. */
int alert_book_save(struct alert_book *b, struct fail *f);
/* Stores how far receivers are. */
int alert_book_save_sent(const struct alert_book *b, struct fail *f);
/* Forgets alerts that all receivers know the end of. */
void alert_book_prune(struct alert_book *b);

/* The first event behind number `after`; false: there is none. */
bool alert_book_next(const struct alert_book *b, int64_t after, struct alert_event *out);
const char *alert_book_id(const struct alert_book *b, int64_t seq, char room[ALERT_EVENT_ID]);

/* "critical node_away train-0", with "resolved: " before it. */
int alert_event_title(const struct alert_event *e, struct buf *out);

#endif
