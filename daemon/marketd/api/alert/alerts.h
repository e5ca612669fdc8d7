/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong, or soon will be, with what an account has: rules over states, money and samples, asked anew each time.
 * Nothing is kept for it, so a restart changes nothing, and "since" is a walk back in the samples.
 */
#ifndef MARKETD_API_NP_ALERTS_H
#define MARKETD_API_NP_ALERTS_H

#include "marketd/api/api.h"
#include "marketd/api/alert/alert_curves.h"

enum alert_of {
	ALERT_OF_ACCOUNT,
	ALERT_OF_RESERVATION,
	ALERT_OF_MACHINE,
	ALERT_OF_HOST,
	ALERT_OF_NODE,
	ALERT_OF_ANNOUNCEMENT,
	ALERT_OF_PAYMENT,
	ALERT_OF_VOLUME
};
enum alert_severity { ALERT_CRITICAL, ALERT_WARNING, ALERT_INFO };
enum alert_unit { ALERT_NO_UNIT, ALERT_CELSIUS, ALERT_RATIO, ALERT_COUNT, ALERT_SECONDS, ALERT_DOLLARS };

/* Has no duration: what it tells is over by itself after a time, and a longer duration would silence it. */
enum { ALERT_AT_ONCE = -1 };

/* One thing that rules look at. What it is not is NULL. */
struct alert_subject {
	struct api *api;
	enum alert_of of;
	uint64_t account;
	const struct agent *agent; /* ALERT_OF_MACHINE; else that of the host, if it has one */
	const struct host *host;   /* ALERT_OF_HOST; of a node that it has */
	const struct instance *node;
	const struct pool *pool;
	const struct announcement *said;
	const struct payment *payment;
	const struct volume *volume;
	int64_t nodes, ends; /* ALERT_OF_RESERVATION: of its leases that end first: how many, when (a minute) */
	int64_t begun;       /* ALERT_OF_RESERVATION: the last of those began (a minute) */
	int64_t keeping;     /* ALERT_OF_ACCOUNT: micro-dollars that what runs costs for the threshold's time more */
	struct alert_curves *samples; /* ALERT_OF_MACHINE, ALERT_OF_NODE: read already */
};

struct alert {
	const struct alert_rule *rule;
	enum alert_severity severity; /* the rule's, unless the thing says another one */
	int64_t since;                /* Unix seconds; 0: not known */
	double value;                 /* NAN: it has none */
	int64_t gpu;                  /* which, from 0; -1: none */
	size_t others;                /* GPUs beside it for which the rule holds, too */
	const char *state;            /* of a host, for the sentence; NULL */
	const char *why;              /* as its owner or agent says; NULL */
	int64_t money;                /* micro-dollars, for the sentence */
	int64_t until;                /* Unix seconds, for the sentence */
	const struct tariff *plan;    /* for the sentence */
	const char *text, *next;      /* in place of the rule's; NULL */
};

struct alert_rule {
	const char *name;
	enum alert_of of;
	enum alert_severity severity;
	enum alert_unit unit; /* of value and threshold */
	double threshold;     /* NAN: a state, which has none; of ALERT_DOLLARS seconds, whose cost is compared */
	int64_t seconds;      /* it has to hold for so long, or ALERT_AT_ONCE */
	/* Whether it holds; fills what it knows of *out, which has `rule`. */
	bool (*holds)(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);
	uint32_t metric, whole; /* numbers of METRICS; whole: what `metric` is a part of, or 0 */
	bool coarse;            /* means of 5 minutes count, so that what flickers is seen */
	/* Words: {value} {threshold} {ahead} {for} {gpus} {state} {why} {money} {debt} {nodes} {since} {until}
	 * {plan}; `next`: {name}, id */
	const char *text, *next;
};

extern const struct alert_rule alert_rules[]; /* ends with { 0 } */

/* The numbers of the metrics that the rules for such a thing read; ends with 0. */
enum { ALERT_METRICS = 16 };
void alert_metrics(enum alert_of of, uint32_t list[ALERT_METRICS]);

/* Rules of alert_dues.c. */
bool alert_debt_reminded(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);
bool alert_debt_warned(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);
bool alert_debt_suspended(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);
bool alert_volume_unpaid(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);
bool alert_plan_lapses(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);
bool alert_plan_lapsed(const struct alert_rule *r, const struct alert_subject *s, struct alert *out);

const char *alert_severity_word(enum alert_severity s);

const char *alert_of_word(enum alert_of of);

/* Adds what holds for the subject by these rules to data, as np.Alert. */
void alert_look(const struct alert_rule *rules, const struct alert_subject *s, json_t *data);

/* Since when the machine is silent: 1; 0: it is not; -1: nothing was heard of it since this market started. */
int alert_silent(const struct api *api, const struct agent *a, int64_t *since);

#endif
