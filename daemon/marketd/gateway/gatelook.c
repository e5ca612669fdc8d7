/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/gateway/gatelook.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { GATELOOK_MS = 10 }; /* how late an answer or a signal may be seen */

struct gatelook {
	struct list link;
	char *host;
	struct addrinfo hints;
	struct gaicb asked;
};

static void gatelook_free(struct gatelook *one)
{
	list_remove(&one->link);
	if (one->asked.ar_result)
		freeaddrinfo(one->asked.ar_result);
	free(one->host);
	free(one);
}

static struct gatelook *gatelook_find(const struct gatelooks *l, const char *host)
{
	struct list *at, *next;

	list_each (at, next, &l->all) {
		struct gatelook *one = list_entry(at, struct gatelook, link);

		if (strcmp(one->host, host) == 0)
			return one;
	}
	return NULL;
}

void gatelooks_init(struct gatelooks *l)
{
	list_init(&l->all);
}

void gatelooks_ask(struct gatelooks *l, const char *host)
{
	struct gatelook *one = gatelook_find(l, host) ? NULL : calloc(1, sizeof *one);
	struct gaicb *asked;

	if (!one)
		return;
	list_init(&one->link);
	one->host = strdup(host);
	one->hints = (struct addrinfo){ .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG };
	one->asked = (struct gaicb){ .ar_name = one->host, .ar_request = &one->hints };
	asked = &one->asked;
	if (one->host && getaddrinfo_a(GAI_NOWAIT, &asked, 1, NULL) == 0)
		list_append(&l->all, &one->link);
	else
		gatelook_free(one);
}

static bool gatelook_ended(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* gai_suspend() would be shorter, but after its timeout glibc may use the list that it kept on its stack. */
void gatelooks_wait(struct gatelooks *l, int64_t until)
{
	struct list *at, *next;

	list_each (at, next, &l->all) {
		struct gatelook *one = list_entry(at, struct gatelook, link);

		while (gai_error(&one->asked) == EAI_INPROGRESS) {
			struct timespec time = { .tv_nsec = GATELOOK_MS * 1000000 };

			if (clock_ms() >= until || gatelook_ended())
				return;
			nanosleep(&time, NULL);
		}
	}
}

int gatelooks_answer(const struct gatelooks *l, const char *host, const struct addrinfo **out)
{
	struct gatelook *one = gatelook_find(l, host);
	int rc = one ? gai_error(&one->asked) : EAI_AGAIN;

	if (rc == 0)
		*out = one->asked.ar_result;
	return rc;
}

void gatelooks_forget(struct gatelooks *l)
{
	struct list *at, *next;

	list_each (at, next, &l->all) {
		struct gatelook *one = list_entry(at, struct gatelook, link);

		if (gai_error(&one->asked) != EAI_INPROGRESS)
			gatelook_free(one);
	}
}

void gatelooks_release(struct gatelooks *l)
{
	struct list *at, *next;

	list_each (at, next, &l->all) {
		struct gatelook *one = list_entry(at, struct gatelook, link);

		if (gai_cancel(&one->asked) != EAI_NOTCANCELED)
			gatelook_free(one);
		else
			list_remove(&one->link);
	}
}
