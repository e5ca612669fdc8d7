/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of people during a session of the page: where the issuer gave a refresh token, it is asked again now and then
 * who they are. Refresh tokens are in memory alone, so a restart leaves what was known until the session ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "marketd/api/np/np.h"
#include "marketd/api/who/signin.h"
#include "marketd/oidc/codes.h"

enum {
	REGROUP_EVERY = 900, /* seconds, or half of what a refresh token lives */
	REGROUP_SOON = 60,   /* no sooner than that, and where it could not be asked yet */
	REGROUP_AT_ONCE = 4,
	REGROUP_MOST = 20000,
	REGROUP_BYTES = 8192,
};

struct regroup_one {
	struct list link;
	uint64_t token, person;
	char *refresh;
	int64_t every, due;
	struct errand *errand;
};

struct regroup {
	struct list all;
	size_t count;
	int asking;
	int64_t due; /* nobody is before this */
	bool silent; /* the log knows that the issuer does not answer */
};

static void regroup_drop(struct regroup *g, struct regroup_one *one)
{
	g->asking -= one->errand != NULL;
	g->count--;
	list_remove(&one->link);
	errand_free(one->errand);
	explicit_bzero(one->refresh, strlen(one->refresh));
	free(one->refresh);
	free(one);
}

void np_regroup_close(struct api *api)
{
	struct list *at, *next;

	if (!api->regroup)
		return;
	list_each (at, next, &api->regroup->all)
		regroup_drop(api->regroup, list_entry(at, struct regroup_one, link));
	free(api->regroup);
	api->regroup = NULL;
}

static struct regroup *regroup_own(struct api *api)
{
	if (!api->regroup && (api->regroup = calloc(1, sizeof *api->regroup)))
		list_init(&api->regroup->all);
	return api->regroup;
}

/* Takes the refresh token that is to be used from now on, if there is one. */
static void regroup_hold(struct regroup_one *one, struct code_renewed *got, int64_t now)
{
	char *old = one->refresh;
	int64_t half = got->refresh_life > 0 ? got->refresh_life / 2 : REGROUP_EVERY;

	if (!got->refresh)
		return;
	one->refresh = got->refresh;
	got->refresh = old;
	one->every = half < REGROUP_SOON ? REGROUP_SOON : half < REGROUP_EVERY ? half : REGROUP_EVERY;
	one->due = now + one->every;
}

void regroup_keep(struct api *api, uint64_t token, uint64_t person, struct code_renewed *got)
{
	struct regroup *g = regroup_own(api);
	struct regroup_one *one;

	if (!g || g->count >= REGROUP_MOST || strlen(got->refresh) > REGROUP_BYTES || !(one = calloc(1, sizeof *one)))
		return;
	list_init(&one->link);
	one->token = token;
	one->person = person;
	regroup_hold(one, got, market_now(api->market));
	list_append(&g->all, &one->link);
	g->due = g->count == 0 || one->due < g->due ? one->due : g->due;
	g->count++;
}

/* ---- Asking ------------------------------------------------------------------------------- */

/* Said once, not of each session. */
static void regroup_silent(const struct api *api, struct regroup *g, const struct fail *why)
{
	if (!g->silent && api->log)
		log_at(api->log, LOG_WARN, "groups stay as they are: %s", why->text);
	g->silent = true;
}

static void regroup_ask(struct api *api, struct regroup *g, struct regroup_one *one, int64_t now)
{
	struct fail why = { 0 };
	int rc = issuer_ready(api->issuer, api->now_ms, &why);

	if (rc == -EAGAIN) /* its keys are on their way */
		return;
	rc = rc ? rc : codes_renew(api->codes, one->refresh, &one->errand, &why);
	if (rc)
		regroup_silent(api, g, &why);
	one->due = now + (rc ? REGROUP_SOON : one->every);
	g->asking += rc == 0;
	list_remove(&one->link); /* behind those that wait already */
	list_append(&g->all, &one->link);
}

static void regroup_end(struct api *api, const struct token *t, const char *why)
{
	const struct request own = api_own(api, t->account);
	struct event ev = { .kind = EVENT_TOKEN_REVOKE, .account = t->account, .subject = t->id };
	struct fail f = { 0 };

	if (api_apply(api, &own, &ev, NULL, &f) == 0 && api->log)
		log_at(api->log, LOG_INFO, "a session of the page ends: %s", why);
}

/* The issuer is not believed to have ended a session but where it says so itself. */
static void regroup_take(struct api *api, struct regroup *g, struct regroup_one *one, const struct token *t)
{
	struct code_renewed got = { 0 };
	struct fail why = { 0 };
	json_t *claims = NULL;
	int rc = codes_renewed(api->codes, &one->errand, &got, &why);
	bool ended = rc == -EACCES;

	if (rc == -EAGAIN)
		return;
	g->asking--;
	regroup_hold(one, &got, market_now(api->market));
	if (rc == -EIO) {
		regroup_silent(api, g, &why);
		return;
	}
	g->silent = false;
	if (rc == 0)
		rc = issuer_check_again(api->issuer, got.id_token, market_now(api->market), api->now_ms, &claims, &why);
	rc = rc ? rc : signin_again(api, t->person, claims, &why);
	if (ended)
		regroup_end(api, t, "the issuer does not know it any more");
	else if (rc && api->log)
		log_at(api->log, LOG_WARN, "groups stay as they are: %s", why.text);
	json_decref(claims);
	codes_renewed_release(&got);
}

void np_regroup_turn(struct api *api)
{
	struct regroup *g = api->regroup;
	int64_t now = market_now(api->market);
	struct list *at, *next;

	if (!g || !market_ready(api->market) || (now < g->due && !g->asking))
		return;
	g->due = INT64_MAX;
	list_each (at, next, &g->all) {
		struct regroup_one *one = list_entry(at, struct regroup_one, link);
		const struct token *t = engine_token(market_engine(api->market), one->token);

		if (!t || t->person != one->person || t->revoked || (t->expires && t->expires <= now)) {
			regroup_drop(g, one);
			continue;
		}
		if (one->errand)
			regroup_take(api, g, one, t);
		else if (one->due <= now && g->asking < REGROUP_AT_ONCE)
			regroup_ask(api, g, one, now);
		g->due = one->due < g->due ? one->due : g->due;
	}
}
