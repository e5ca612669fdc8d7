/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/market_clock.h"

#include <time.h>

#include "base/clock.h"

int market_clock_read(struct market_link *m, struct market_clock *c)
{
	bool explain = m->explain;
	int ours;

	m->explain = false;
	ours = market_ours(m);
	/* A link by the operator's socket is ours without asking, so nobody has read its clock yet. */
	if (ours == 1 && !m->about_doc) {
		ours = market_get(m, "/np/v1");
		ours = ours ? ours : wire_market(m->doc, WIRE_WHOLE, &m->about, &m->fail);
		m->about_doc = m->doc;
		m->about_ms = clock_ms();
		m->doc = NULL;
		ours = ours ? ours : 1;
	}
	m->explain = explain;
	c->asked_ms = clock_ms();
	c->at = (int64_t)time(NULL);
	if (ours == 1) {
		c->asked_ms = m->about_ms;
		c->at = m->about.minute * 60 > m->about.now ? m->about.minute * 60 : m->about.now;
		c->stands = m->about.test_clock;
	}
	return ours;
}

int market_clock_again(struct market_link *m, struct market_clock *c)
{
	struct model_market about;
	int rc = market_get(m, "/np/v1");

	rc = rc ? rc : wire_market(m->doc, WIRE_WHOLE, &about, &m->fail);
	if (rc)
		return rc;
	c->asked_ms = clock_ms();
	c->at = about.minute * 60 > about.now ? about.minute * 60 : about.now;
	c->stands = about.test_clock;
	return 0;
}

int64_t market_clock_now(const struct market_clock *c)
{
	return c->stands ? c->at : c->at + (clock_ms() - c->asked_ms) / 1000;
}
