/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <stdlib.h>
#include <string.h>

#include "ref.h"

struct reference *reference_new(void)
{
	struct reference *r = ref_more(NULL, 1, sizeof *r);

	*r = (struct reference){ .next_id = 1, .next_transfer = 1, .rules = 1, .policy.settle_minutes = 60 };
	return r;
}

static void list_free(struct list *l)
{
	while (l->n)
		free(l->at[--l->n]);
	free(l->at);
}

#define NAMES_FREE(list, type) \
	for (size_t i = 0; i < (list).n; i++) \
		free(((type *)(list).at[i])->name)

void reference_free(struct reference *r)
{
	if (!r)
		return;
	NAMES_FREE(r->accounts, struct raccount);
	NAMES_FREE(r->tokens, struct rtoken);
	NAMES_FREE(r->skus, struct rsku);
	NAMES_FREE(r->hosts, struct rhost);
	NAMES_FREE(r->pools, struct rpool);
	NAMES_FREE(r->instances, struct rinstance);
	NAMES_FREE(r->procurements, struct rprocurement);
	NAMES_FREE(r->agents, struct ragent);
	NAMES_FREE(r->grants, struct rgrant);
	NAMES_FREE(r->payouts, struct rpayout);
	free(r->earning);
	for (size_t i = 0; i < r->agents.n; i++)
		free(((struct ragent *)r->agents.at[i])->key);
	for (size_t i = 0; i < r->words.n; i++)
		free(((struct rword *)r->words.at[i])->text);
	for (size_t i = 0; i < r->hosts.n; i++)
		free(((struct rhost *)r->hosts.at[i])->cell);
	for (size_t i = 0; i < r->orders.n; i++)
		free(((struct rorder *)r->orders.at[i])->rest.at);
	for (size_t i = 0; i < r->accounts.n; i++)
		free(((struct raccount *)r->accounts.at[i])->known);
	free(r->spent);
	free(r->cap);
	ref_tariffs_free(r);
	list_free(&r->tariffs);
	list_free(&r->subscriptions);
	list_free(&r->grants);
	ref_people_free(r);
	ref_payments_free(r);
	ref_volumes_free(r);
	list_free(&r->volumes);
	list_free(&r->payments);
	list_free(&r->payouts);
	list_free(&r->people);
	list_free(&r->invited);
	list_free(&r->accounts);
	list_free(&r->words);
	list_free(&r->tokens);
	list_free(&r->skus);
	list_free(&r->hosts);
	list_free(&r->pools);
	list_free(&r->orders);
	list_free(&r->leases);
	list_free(&r->instances);
	list_free(&r->procurements);
	list_free(&r->agents);
	free(r->book);
	free(r->closed);
	free(r);
}

int reference_apply(struct reference *r, const struct event *ev, struct fail *why)
{
	int rc;

	r->closeds = 0;
	r->wanted.n = r->tried.n = 0;
	if (ev->kind <= EVENT_NONE || ev->kind >= EVENT_KINDS || ev->at < r->at ||
		(ev->text && strlen(ev->text) > TEXT_BYTES))
		rc = REASON_INVALID;
	else
		rc = ref_event(r, ev);
	if (rc)
		return fail_set(why, rc, "%s", reason_row(rc)->text);
	r->at = ev->at;
	if (ev->kind != EVENT_TICK) {
		ref_try_wanted(r);
		ref_review(r);
	}
	ref_debts_after(r);
	ref_payouts_after(r);
	return 0;
}
