/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/verify/verify_part.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

struct claim *verify_begin(struct claim *list, int *count, const char *check)
{
	struct claim *r = &list[*count < VERIFY_EACH ? (*count)++ : VERIFY_EACH - 1];

	memset(r, 0, sizeof *r);
	snprintf(r->check, sizeof r->check, "%s", check);
	r->at = time(NULL);
	return r;
}

void verify_put(struct claim *r, const struct speed *s, int64_t divide, const char *unit)
{
	r->measured = true;
	r->runs = SPEED_RUNS;
	r->value = s->value / divide;
	r->least = s->least / divide;
	r->most = s->most / divide;
	snprintf(r->unit, sizeof r->unit, "%s", unit);
}

void verify_fail(struct claim *r, const char *mend, const char *fmt, ...)
{
	va_list ap;

	r->is = CLAIM_FAILED;
	snprintf(r->mend, sizeof r->mend, "%s", mend);
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
}

void verify_skip(struct claim *r, const char *fmt, ...)
{
	va_list ap;

	r->is = CLAIM_SKIPPED;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
}

void verify_say(struct claim *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, sizeof r->text, fmt, ap);
	va_end(ap);
}
