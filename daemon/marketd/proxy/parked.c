/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that waits for others. libmicrohttpd does not look at it then, so we do: its client may go away. */
#include <microhttpd.h>

#include "marketd/proxy/proxy_own.h"

void relay_park(struct relay *x)
{
	struct loop_watch *w = &x->gone_watch.watch;

	x->suspended = true;
	MHD_suspend_connection(x->mhd);
	loop_watch(x->proxy->loop, w, w->fd, LOOP_READ);
}

void relay_wake(struct relay *x)
{
	if (!x->suspended)
		return;
	x->suspended = false;
	x->proxy->resumed = true;
	MHD_resume_connection(x->mhd);
}
