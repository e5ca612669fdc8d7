/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a service manager (NOTIFY_SOCKET) that the market can be used, or is ending. Says nothing where there is none. */
#ifndef MARKETD_NOTIFY_H
#define MARKETD_NOTIFY_H

void notify_ready(void);
void notify_stopping(void);

#endif
