/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/meter/meterway.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/str.h"
#include "cli/frame/command.h"

static const struct meter_calls *const meter_ways[] = { &meter_lago, &meter_file, NULL };

int meter_events(struct doc *d, struct model_usage **list, size_t *count, struct fail *f)
{
	size_t n = doc_count(d);
	struct model_usage *made = calloc(n + 1, sizeof *made);
	int rc = 0;

	if (!made)
		command_nomem();
	for (size_t i = 0; i < n && !rc; i++)
		rc = wire_usage(d, (long)i, &made[i], f);
	if (rc) {
		free(made);
		return rc;
	}
	*list = made;
	*count = n;
	return 0;
}

int meter_way_open(struct meter_way *w, const char *text, const char *key, struct fail *f)
{
	*w = (struct meter_way){ .label = strdup(text), .key = hash_more(HASH_BEGIN, text, strlen(text)) };
	if (!w->label)
		command_nomem();
	for (size_t i = 0; meter_ways[i]; i++) {
		if (!str_starts(text, meter_ways[i]->scheme))
			continue;
		w->calls = meter_ways[i];
		if (w->calls->keyed && !key)
			return fail_set(f, -EINVAL, "'%.100s' needs an API key: --key-file FILE, or NANOPOD_METER_KEY",
				text);
		return w->calls->open(w, text + strlen(w->calls->scheme), key, f);
	}
	return fail_set(f, -EINVAL, "'%.100s' is nothing that usage can be sent to: use lago:URL or file:PATH", text);
}

void meter_way_close(struct meter_way *w)
{
	if (w->calls && w->own)
		w->calls->close(w);
	free(w->label);
	*w = (struct meter_way){ .own = NULL };
}
