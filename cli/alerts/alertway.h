/* SPDX-License-Identifier: Apache-2.0 */
/* Where alerts are sent, and one delivery: a webhook, an address for mail, an Alertmanager. */
#ifndef CLI_ALERTS_ALERTWAY_H
#define CLI_ALERTS_ALERTWAY_H

#include "base/buf.h"
#include "cli/alerts/alertbook.h"
#include "cli/frame/command.h"

struct client;

enum alert_way_kind { ALERT_WEBHOOK, ALERT_MAIL, ALERT_MANAGER };

struct alert_way {
	enum alert_way_kind kind;
	uint64_t key;      /* of struct alert_receiver */
	char *label;       /* without what may be secret of a URL */
	char *address;     /* of mail */
	char *base, *path; /* of a URL: "https://host:port" and the rest */
	struct client *client;
	const char *secret;           /* signs webhooks; NULL: they are not signed */
	const char *market;           /* its URL, as events say it */
	int64_t every;                /* seconds from one look to the next */
	int64_t retry_ms, refresh_ms; /* on clock_ms() */
	char trouble[300];            /* why the last try failed; "" it did not */
};

/* text: https://…, http://…, mail:ADDRESS, alertmanager:URL, or @FILE that holds one of them. 0 or a negative code. */
int alert_way_open(struct alert_way *w, const char *text, struct fail *f);
void alert_way_close(struct alert_way *w);

/* Does it want to hear again and again that alerts hold? */
bool alert_way_refreshes(const struct alert_way *w);

#endif
