/* SPDX-License-Identifier: Apache-2.0 */
/* The rules as a request wants them: thresholds and durations of its own, for this answer alone. */
#ifndef MARKETD_API_NP_ALERT_RULES_H
#define MARKETD_API_NP_ALERT_RULES_H

#include "marketd/api/alert/alerts.h"

enum { ALERT_RULES = 32 };

/* Parameters that a route with alert_rules_ask has. */
#define ALERT_RULES_QUERY "threshold:array,for:array"

/* alert_rules with what the query sets. Ends with { 0 }. false: refused. */
bool alert_rules_ask(const struct request *q, struct reply *r, struct alert_rule rules[ALERT_RULES]);

/* The largest threshold of the rules for such a thing that tell such a value, in seconds. */
int64_t alert_rules_ahead(const struct alert_rule *rules, enum alert_of of, enum alert_unit unit);

#endif
