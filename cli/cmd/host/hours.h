/* SPDX-License-Identifier: Apache-2.0 */
/* Hours that come again each day, as 22:00-06:00 in local time, and the windows that they make. */
#ifndef CLI_CMD_HOST_HOURS_H
#define CLI_CMD_HOST_HOURS_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

struct hours {
	int from, to; /* minutes of a day; `to` is of the next one where it is not above `from` */
};

struct hours_window {
	int64_t start, end; /* Unix seconds */
};

/* "22:00-06:00", "00:00-24:00": 0, or -EINVAL with the form. */
int hours_parse(const char *text, struct hours *out, struct fail *f);

/*
 * What of these hours is from `from` until `until`, the first ones: how many, at most `most`. A day on which clocks
 * change has the hours that its clocks show.
 */
size_t hours_windows(const struct hours *h, int64_t from, int64_t until, struct hours_window *out, size_t most);

#endif
