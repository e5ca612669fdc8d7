/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/health_report.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *health_word(enum health h)
{
	static const char *const words[] = {
#define HEALTH_X(name, word) word,
		HEALTHS(HEALTH_X)
#undef HEALTH_X
	};

	return words[h];
}

void health_found(struct health_report *r, enum health h, const char *check, const char *gpu, const char *action,
	const char *fmt, ...)
{
	struct health_finding *f = &r->list[r->count < HEALTH_FINDINGS ? r->count : HEALTH_FINDINGS - 1];
	va_list ap;

	if (h > r->health)
		r->health = h;
	if (r->count < HEALTH_FINDINGS)
		r->count++;
	else if (f->health >= h)
		return;
	f->health = h;
	f->check = check;
	snprintf(f->gpu, sizeof f->gpu, "%.*s", (int)strcspn(gpu, "."), gpu);
	snprintf(f->action, sizeof f->action, "%s", action);
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
}

void health_message(const struct health_report *r, char *room, size_t size)
{
	const struct health_finding *worst = NULL;

	room[0] = '\0';
	for (size_t i = 0; i < r->count; i++)
		if (!worst || r->list[i].health > worst->health)
			worst = &r->list[i];
	if (worst)
		snprintf(room, size, "%s%s%s", worst->text, *worst->action ? "; " : "", worst->action);
}

int health_json(const struct health_report *r, struct buf *out)
{
	json_t *root = json_object(), *list = json_array();
	char message[2 * HEALTH_TEXT + 8], *text;
	int rc;

	health_message(r, message, sizeof message);
	json_object_set_new(root, "health", json_string(health_word(r->health)));
	if (*message)
		json_object_set_new(root, "message", json_string(message));
	for (size_t i = 0; i < r->count; i++) {
		json_t *o = json_object();

		json_object_set_new(o, "health", json_string(health_word(r->list[i].health)));
		json_object_set_new(o, "check", json_string(r->list[i].check));
		if (*r->list[i].gpu)
			json_object_set_new(o, "gpu", json_string(r->list[i].gpu));
		json_object_set_new(o, "text", json_string(r->list[i].text));
		json_object_set_new(o, "action", json_string(r->list[i].action));
		json_array_append_new(list, o);
	}
	json_object_set_new(root, "findings", list);
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	rc = text ? buf_adds(out, text) : -ENOMEM;
	free(text);
	return rc;
}
