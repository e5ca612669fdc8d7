/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/power/change.h"

#include <errno.h>

enum { READ_AGAIN = 5, READ_AGAIN_MS = 200, ROUNDS = 3, SETTLE_MS = 30000, SETTLE_STEP_MS = 500, SLACK = 2000 };

static bool change_above(const struct power_device *d)
{
	return d->way && d->enforced != POWER_UNKNOWN && d->enforced > d->target + POWER_GRAIN;
}

static bool change_below(const struct power_device *d)
{
	return d->way && d->enforced != POWER_UNKNOWN && d->enforced + POWER_GRAIN < d->target;
}

static int change_unread(const struct power_device *list, size_t count, struct fail *f)
{
	char label[32];

	for (size_t i = 0; i < count; i++)
		if (list[i].way && list[i].enforced == POWER_UNKNOWN)
			return fail_set(f, -EIO, "cannot read back the limit of %s (%s): %s",
				power_label(&list[i], label), list[i].name,
				*list[i].why ? list[i].why : "it tells none");
	return 0;
}

bool change_done(const struct envelope *e, const struct power_device *list, size_t count, struct fail *f)
{
	char label[32];

	if (change_unread(list, count, f))
		return false;
	for (size_t i = 0; i < count; i++)
		if (change_above(&list[i]) || change_below(&list[i])) {
			fail_set(f, -EIO, "%s (%s) enforces %lld W, not %lld W", power_label(&list[i], label),
				list[i].name, (long long)(list[i].enforced / 1000), (long long)(list[i].target / 1000));
			return false;
		}
	return budget_fits(e, list, count, NULL, 0);
}

/* Lowers every device that may draw more than its target, and reads back. A refusal does not keep the others. */
static int change_lower(const struct change_ways *w, struct power_device *list, size_t count, bool *lowered,
	struct fail *f)
{
	struct fail why = { 0 };
	char label[32];
	int rc = 0;

	for (size_t tries = 0; tries < READ_AGAIN; tries++) {
		bool any = false;

		for (size_t i = 0; i < count; i++) {
			if (!change_above(&list[i]))
				continue;
			any = *lowered = true;
			if (w->set(w->arg, &list[i], list[i].target, &why) == -EINTR)
				return -EINTR;
		}
		rc = any && tries ? w->wait(w->arg, READ_AGAIN_MS) : 0;
		rc = rc || !any ? rc : w->read(w->arg, list, count);
		if (rc || !any)
			return rc;
	}
	for (size_t i = 0; i < count; i++)
		if (change_above(&list[i]))
			return fail_set(f, -EIO, "%s (%s) enforces %lld W and not the %lld W that were set%s%s",
				power_label(&list[i], label), list[i].name, (long long)(list[i].enforced / 1000),
				(long long)(list[i].target / 1000), *why.text ? ": " : "", why.text);
	return 0;
}

/* The device that still draws more than it may; NULL. */
static const struct power_device *change_drawing(const struct power_device *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct power_device *d = &list[i];

		if (d->way && d->draw != POWER_UNKNOWN && d->enforced != POWER_UNKNOWN &&
			d->draw > d->enforced + d->enforced / 50 + SLACK)
			return d;
	}
	return NULL;
}

/* Waits until every device's average has followed its limit, whoever lowered it and when. */
static int change_settle(const struct change_ways *w, struct power_device *list, size_t count, struct fail *f)
{
	const struct power_device *d;
	int64_t window = 0, waited = 0;
	char label[32];
	int rc;

	for (size_t i = 0; i < count; i++)
		if (list[i].way && list[i].window_ms > window)
			window = list[i].window_ms;
	rc = w->wait(w->arg, window);
	rc = rc ? rc : w->read(w->arg, list, count);
	while (!rc && (d = change_drawing(list, count))) {
		if (waited >= SETTLE_MS)
			return fail_set(f, -EBUSY, "%s (%s) draws %lld W with a limit of %lld W", power_label(d, label),
				d->name, (long long)(d->draw / 1000), (long long)(d->enforced / 1000));
		waited += SETTLE_STEP_MS;
		rc = w->wait(w->arg, SETTLE_STEP_MS);
		rc = rc ? rc : w->read(w->arg, list, count);
	}
	return rc;
}

/* Raises one, if all fits with that by what is enforced at this moment. -EAGAIN: it does not. */
static int change_raise_one(const struct change_ways *w, const struct envelope *e, struct power_device *list,
	size_t count, struct power_device *d, struct fail *f)
{
	int64_t before = d->enforced;
	char label[32];
	int rc = change_unread(list, count, f);

	if (rc)
		return rc;
	if (!budget_fits(e, list, count, d, d->target + POWER_GRAIN))
		return -EAGAIN;
	rc = w->set(w->arg, d, d->target, f);
	rc = rc ? rc : w->read(w->arg, list, count);
	if (rc)
		return rc;
	if (change_above(d)) { /* it took more than it was given */
		rc = w->set(w->arg, d, before, f);
		if (rc != -EINTR)
			rc = fail_set(f, -EIO, "%s (%s) enforces %lld W and not the %lld W that were set",
				power_label(d, label), d->name, (long long)(d->enforced / 1000),
				(long long)(d->target / 1000));
	}
	return rc;
}

static int change_raise(const struct change_ways *w, const struct envelope *e, struct power_device *list, size_t count,
	struct fail *f)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < count; i++)
		if (change_below(&list[i]))
			rc = change_raise_one(w, e, list, count, &list[i], f);
	return rc;
}

static bool change_any_below(const struct power_device *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (change_below(&list[i]))
			return true;
	return false;
}

int change_make(const struct change_ways *w, const struct envelope *e, struct power_device *list, size_t count,
	struct fail *f)
{
	int rc = w->read(w->arg, list, count);

	for (int round = 0; !rc && round < ROUNDS; round++) {
		bool lowered = false;

		rc = change_lower(w, list, count, &lowered, f);
		rc = rc ? rc : change_unread(list, count, f);
		if (rc || (!lowered && !change_any_below(list, count) && !change_drawing(list, count)))
			break;
		rc = change_settle(w, list, count, f);
		rc = rc ? rc : change_raise(w, e, list, count, f);
		if (rc != -EAGAIN)
			break;
		rc = 0; /* a device forgot its limit meanwhile */
	}
	if (!rc && !budget_fits(e, list, count, NULL, 0))
		rc = fail_set(f, -EIO, "the limits that are in force do not fit the envelope");
	return rc;
}
