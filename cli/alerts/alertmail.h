/* SPDX-License-Identifier: Apache-2.0 */
/* One letter to an address. */
#ifndef CLI_ALERTS_ALERTMAIL_H
#define CLI_ALERTS_ALERTMAIL_H

#include "cli/alerts/alertway.h"

/*
 * The next events behind r->accepted. *upto: the number of the last one that was accepted. 0, or a negative code;
 * CLIENT_STOPPED after a signal.
 */
int alert_mail_send(struct alert_way *w, const struct alert_book *b, const struct alert_receiver *r, int64_t *upto,
	struct fail *f);

#endif
