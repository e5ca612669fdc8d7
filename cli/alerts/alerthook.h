/* SPDX-License-Identifier: Apache-2.0 */
/* One delivery to a webhook or an Alertmanager. */
#ifndef CLI_ALERTS_ALERTHOOK_H
#define CLI_ALERTS_ALERTHOOK_H

#include "cli/alerts/alertway.h"

/*
 * The next event behind r->accepted. *upto: the number of the last one that was accepted. 0, or a negative code;
 * CLIENT_STOPPED after a signal.
 */
int alert_hook_send(struct alert_way *w, const struct alert_book *b, const struct alert_receiver *r, int64_t *upto,
	struct fail *f);

/* All that the book has: what ended is told until the book forgets it. */
int alert_manager_send(struct alert_way *w, const struct alert_book *b, int64_t *upto, struct fail *f);

#endif
