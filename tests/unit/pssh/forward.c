/* SPDX-License-Identifier: Apache-2.0 */
/* What a host may ask of a forwarded agent: lib/pssh/fleet/forward.c. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/tap.h"
#include "pssh/fleet/forward.h"

#define LIST "\0\0\0\1\13"
#define SIGN "\0\0\0\6\15\33\14\0\0\1"
#define REMOVE_ALL "\0\0\0\1\23"
#define BIND "\0\0\0\11\33\0\0\0\4bind"
#define EMPTY "\0\0\0\0"

static const char asked[] = LIST BIND SIGN EMPTY REMOVE_ALL LIST;
static const char passed[] = LIST "\0\0\0\11\0\0\0\0\4bind" SIGN EMPTY "\0\0\0\1\0" LIST;

/* In two pieces, or in pieces of one byte. */
static bool passes(size_t first)
{
	struct forward_words words = { 0 };
	char data[sizeof asked];

	memcpy(data, asked, sizeof asked);
	forward_filter(&words, data, first);
	if (first)
		forward_filter(&words, data + first, sizeof asked - 1 - first);
	for (size_t i = 0; !first && i < sizeof asked - 1; i++)
		forward_filter(&words, data + i, 1);
	return memcmp(data, passed, sizeof passed) == 0;
}

/* Whether it bears that many channels that nobody has closed yet. */
static bool bears(unsigned count, bool came)
{
	struct chan *channels = calloc(count, sizeof *channels);
	struct link l = { 0 };
	struct forward *w;
	struct fail f;
	int rc;

	if (!channels || forward_new(NULL, 0, NULL, &w) != 0)
		exit(99);
	list_init(&l.came);
	list_init(&l.closing);
	for (unsigned i = 0; i < count; i++) {
		channels[i].came = came;
		list_append(&l.closing, &channels[i].in_closing);
	}
	rc = forward_step(w, &l, NULL, &f);
	forward_free(w);
	free(channels);
	return rc == 0;
}

int main(void)
{
	size_t good = 0;

	ok(passes(0), "byte by byte: lists and signatures pass, of all others the type is spoilt");
	for (size_t i = 1; i < sizeof asked; i++)
		good += passes(i);
	is_int((intmax_t)good, sizeof asked - 1, "so it is wherever the bytes are cut in two");
	ok(bears(256, true), "channels that the server opened may close late");
	ok(!bears(257, true), "but not without bound");
	ok(bears(5000, false), "which counts none that we opened");
	return done();
}
