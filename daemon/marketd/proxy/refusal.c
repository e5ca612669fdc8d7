/* SPDX-License-Identifier: Apache-2.0 */
/* Errors in the shape of OpenAI's API, so that its clients understand them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "marketd/proxy/proxy_own.h"

void refusal_set(struct refusal *r, int status, const char *type, const char *code, const char *fmt, ...)
{
	va_list ap;

	*r = (struct refusal){ .status = status, .type = type, .code = code };
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
}

void refusal_busy(struct refusal *r, const char *fmt, ...)
{
	char text[REFUSAL_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	refusal_set(r, 429, "rate_limit_error", "rate_limit_exceeded", "%s; try again when some have ended", text);
	snprintf(r->retry, sizeof r->retry, "1");
}

char *refusal_json(const struct refusal *r)
{
	json_t *o = json_pack("{s:{s:s, s:s, s:n, s:s}}", "error", "message", r->text, "type", r->type, "param", "code",
		r->code);
	char *text;

	if (!o) /* a text of others that is no UTF-8 */
		o = json_pack("{s:{s:s, s:s, s:n, s:s}}", "error", "message", "the request failed", "type", r->type,
			"param", "code", r->code);
	text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

bool refusal_answer(struct relay *x)
{
	char *text;

	if (!x->refusal.status)
		return false;
	text = refusal_json(&x->refusal);
	buf_release(&x->out);
	x->status = text && buf_adds(&x->out, text) == 0 ? x->refusal.status : 500;
	x->events = false;
	x->state = RELAY_OVER;
	free(text);
	return true;
}
