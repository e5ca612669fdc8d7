/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as durations and times: never in the past, never too far, never half read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "market/when.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW = 1795204810, UNTOUCHED = -12345 };

static void check_shown(int64_t at)
{
	char room[WHEN_TEXT];

	if (strlen(when_iso(at, room)) >= WHEN_TEXT || strlen(when_local(at, 0, room)) >= WHEN_TEXT ||
		strlen(when_relative(at, NOW, room)) >= WHEN_TEXT || strlen(when_span(at, room)) >= WHEN_TEXT)
		abort();
}

/* What is taken is said again as ISO 8601, and that is the same time. */
static void check_start(const char *text)
{
	struct fail f = { 0 };
	char room[WHEN_TEXT];
	int64_t at = UNTOUCHED, again, up, down;

	if (when_start(text, NOW, &at, &f)) {
		if (at != UNTOUCHED || !*f.text)
			abort();
		return;
	}
	if (at < NOW || when_start(when_iso(at, room), NOW, &again, NULL) || again != at)
		abort();
	if (when_grid(at, 60, WHEN_UP, &up, NULL) || when_grid(at, 60, WHEN_DOWN, &down, NULL) || up < at ||
		down > at || up - down > 60)
		abort();
	check_shown(at);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), room[WHEN_TEXT];
	struct fail f = { 0 };
	int64_t n = UNTOUCHED, again;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	if (when_duration(text, &n, &f)) {
		if (n != UNTOUCHED || !*f.text)
			abort();
	} else if (n <= 0 || when_duration(when_span(n, room), &again, NULL) || again != n) {
		abort();
	}
	check_start(text);
	n = UNTOUCHED;
	if (when_end(text, NOW, &n, NULL) == 0 && n <= NOW)
		abort();
	free(text);
	return 0;
}
