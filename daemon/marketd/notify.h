/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a service manager (NOTIFY_SOCKET) that the market is ready or stops. Does nothing without one. */
#ifndef MARKETD_NOTIFY_H
#define MARKETD_NOTIFY_H

void notify_ready(void);
void notify_stopping(void);

#endif
