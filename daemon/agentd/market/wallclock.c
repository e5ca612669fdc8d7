/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/market/wallclock.h"

#include <limits.h>
#include <time.h>

#include "base/buf.h"
#include "base/str.h"

static int64_t wallclock_seconds(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec;
}

/* -1 where the file holds no time. */
static int64_t wallclock_told(const char *path)
{
	struct buf text;
	long at = -1;

	buf_init(&text, 64);
	if (buf_read_file(&text, path) == 0) {
		while (text.len && text.data[text.len - 1] == '\n')
			buf_cut(&text, text.len - 1);
		if (str_to_long(buf_text(&text), 0, LONG_MAX, &at) != 0)
			at = -1;
	}
	buf_release(&text);
	return at;
}

int64_t wallclock_now(const struct wallclock *w)
{
	int64_t at = w->file ? wallclock_told(w->file) : -1;

	if (at >= 0)
		return at;
	if (w->stands)
		return w->stands;
	return w->learnt ? wallclock_seconds(CLOCK_BOOTTIME) + w->offset : wallclock_seconds(CLOCK_REALTIME);
}

void wallclock_learn(struct wallclock *w, int64_t market_now, bool test_clock)
{
	w->stands = test_clock ? market_now : 0;
	w->offset = market_now - wallclock_seconds(CLOCK_BOOTTIME);
	w->learnt = true;
}
