/* SPDX-License-Identifier: Apache-2.0 */
/* What all gates need: their names, whom they look at, what they find. Apart from gate.c, which calls the gates. */
#include "cli/provision/model/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/frame/command.h"
#include "cli/provision/model/gate_part.h"

const char *gate_name(enum gate g)
{
	static const char *const names[] = {
#define GATE_X(name, word) [name] = word,
		GATES(GATE_X)
#undef GATE_X
	};

	return names[g];
}

bool gate_wants(const struct gate_look *l, enum gate g, size_t member)
{
	return (l->all[member].known || g == GATE_REACH) && (l->wants[member] >> g & 1);
}

void gate_say(struct gate_look *l, enum gate g, bool stops, size_t member, const char *hint, const char *fmt, ...)
{
	struct findings *out = l->out;
	struct finding *at;
	va_list ap;

	for (const char *const *word = l->skipped; word && *word; word++)
		stops = stops && strcmp(*word, gate_name(g)) != 0;
	/* The array doubles, so it is full exactly when the count is a power of two. */
	if ((out->count & (out->count - 1)) == 0) {
		at = realloc(out->at, (out->count ? out->count * 2 : 1) * sizeof *at);
		if (!at)
			command_nomem();
		out->at = at;
	}
	at = &out->at[out->count++];
	*at = (struct finding){ .gate = g, .stops = stops, .member = member, .hint = *hint ? strdup(hint) : NULL };
	va_start(ap, fmt);
	if ((*hint && !at->hint) || vasprintf(&at->text, fmt, ap) < 0)
		command_nomem();
	va_end(ap);
}

void gate_release(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->at[i].text);
		free(f->at[i].hint);
	}
	free(f->at);
	*f = (struct findings){ 0 };
}
