/* SPDX-License-Identifier: Apache-2.0 */
/* Which keys of a market an agent pins: those of its URL, then what the market announces, and no others. */
#include "../../lib/tap.h"

#include "agentd/market/identity.h"
#include "agentd/market/work.h"

#define ONE "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define TWO "sha256//BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="
#define OTHER "sha256//CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCA="

static void take(const char *has, const char *told, const char *want, const char *what)
{
	struct identity i = { 0 };
	bool changed;

	snprintf(i.pin, sizeof i.pin, "%s", has);
	changed = identity_take_pins(&i, told);
	is_str(i.pin, want, "%s", what);
	ok(changed == (strcmp(has, want) != 0), "%s: it says whether that is new", what);
}

static void announced(void)
{
	take(ONE, ONE ";" TWO, ONE ";" TWO, "the next key is pinned, too");
	take(ONE ";" TWO, ONE ";" TWO, ONE ";" TWO, "once");
	take(ONE ";" TWO, TWO, TWO, "the old one is dropped");
	take(ONE ";" TWO, ONE ";" OTHER, ONE ";" OTHER, "the market changes its mind");
	take(ONE ";" TWO, ONE, ONE, "or takes it back");
	take("", ONE ";" TWO, "", "who pins none goes on so");
}

static void refused(void)
{
	take(ONE, OTHER, ONE, "keys of somebody else");
	take(ONE, TWO ";" OTHER, ONE, "two of them");
	take(ONE, "", ONE, "a market that says nothing");
	take(ONE, ONE ";/etc/passwd", ONE, "no key");
	take(ONE, ONE ";sha256//short=", ONE, "half a key");
	take(ONE, ONE ";", ONE, "a separator without a key");
	take(ONE, ONE ";" TWO ";" OTHER, ONE, "more than two");
}

/* As the work document has them. */
static void read_as(const char *list, const char *want, const char *what)
{
	char text[1024];
	struct work *w = NULL;
	struct fail f = { 0 };
	int rc;

	snprintf(text, sizeof text,
		"{\"object\":\"work\",\"version\":\"1\",\"now\":1800000000,\"test_clock\":false,\"agent\":{\"id\":"
		"\"agt_0000000000001\",\"name\":\"a\"},\"hosts\":[],\"nodes\":[]%s}",
		list);
	rc = work_parse(text, strlen(text), &w, &f);
	is_int(rc, 0, "%s: the document is good", what);
	is_str(w ? w->keys : f.text, want, "%s", what);
	work_free(w);
}

int main(void)
{
	announced();
	refused();
	read_as("", "", "an older market announces nothing");
	read_as(",\"tls_keys\":[\"" ONE "\"]", ONE, "one key");
	read_as(",\"tls_keys\":[\"" ONE "\",\"" TWO "\"]", ONE ";" TWO, "two keys");
	read_as(",\"tls_keys\":[\"" ONE "\",\"" TWO "\",\"" OTHER "\"]", "", "three keys");
	read_as(",\"tls_keys\":[\"" ONE "\",7]", "", "a number among them");
	read_as(",\"tls_keys\":{\"a\":\"b\"}", "", "no list");
	return done();
}
