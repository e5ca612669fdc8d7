/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the market for alerts and delivers what began and what ended: once, or for ever. */
#ifndef CLI_ALERTS_ALERTWATCH_H
#define CLI_ALERTS_ALERTWATCH_H

#include "cli/trade/market_link.h"

/* With --to, --watch, --every, --severity, --silence, --secret-file, --state of o. An exit status. */
int alert_watch(struct nanopod *np, const struct options *o);

#endif
