/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/gateway/gatewaynames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gatename {
	char host[GATEWAY_TEXT];
	char address[INET6_ADDRSTRLEN + 2]; /* IPv6 in brackets; "": none */
};

static const struct gatename *gatenames_find(const struct gatenames *g, const char *host)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(g->each[i].host, host) == 0)
			return &g->each[i];
	return NULL;
}

static void gatename_write(int family, const void *bytes, struct gatename *to)
{
	char text[INET6_ADDRSTRLEN];
	bool v6 = family == AF_INET6;

	if (inet_ntop(family, bytes, text, sizeof text))
		snprintf(to->address, sizeof to->address, "%s%s%s", v6 ? "[" : "", text, v6 ? "]" : "");
}

/* nginx refuses a whole file for what looks like an IPv6 address and is none. */
static void gatename_bracketed(struct gatename *to)
{
	char text[GATEWAY_TEXT];
	struct in6_addr bytes;

	memcpy(text, to->host + 1, strlen(to->host));
	text[strcspn(text, "]")] = '\0';
	if (strlen(text) + 2 == strlen(to->host) && inet_pton(AF_INET6, text, &bytes) == 1)
		gatename_write(AF_INET6, &bytes, to);
}

/* The lowest, as servers of names list several in another order each time; of IPv4 before all of IPv6. */
static void gatename_lowest(const struct addrinfo *list, struct gatename *to)
{
	const struct in6_addr *v6 = NULL;
	const struct in_addr *v4 = NULL;

	for (; list; list = list->ai_next) {
		const void *at = list->ai_addr;

		if (list->ai_family == AF_INET) {
			const struct in_addr *one = &((const struct sockaddr_in *)at)->sin_addr;

			v4 = v4 && memcmp(v4, one, sizeof *v4) <= 0 ? v4 : one;
		} else if (list->ai_family == AF_INET6) {
			const struct in6_addr *one = &((const struct sockaddr_in6 *)at)->sin6_addr;

			v6 = v6 && memcmp(v6, one, sizeof *v6) <= 0 ? v6 : one;
		}
	}
	if (v4)
		gatename_write(AF_INET, v4, to);
	else if (v6)
		gatename_write(AF_INET6, v6, to);
}

/* True: a server of names answered, or none was asked. Without an answer the address of before stays. */
static bool gatename_look(struct gatename *to, const struct gatelooks *l, const struct gatename *before)
{
	const struct addrinfo *found = NULL;
	int rc;

	if (*to->host == '[') {
		gatename_bracketed(to);
		return true;
	}
	rc = gatelooks_answer(l, to->host, &found);
	if (rc == 0)
		gatename_lowest(found, to);
	if (rc == 0 || rc == EAI_NONAME || rc == EAI_NODATA || rc == EAI_ADDRFAMILY)
		return true;
	if (before)
		memcpy(to->address, before->address, sizeof to->address);
	return false;
}

static void gatenames_tell(const struct gatenames *g, const struct gatenames *before, const struct reserved *r,
	const struct log *log)
{
	size_t none = 0, had = 0, fresh = 0;
	const char *such = NULL;

	for (size_t i = 0; i < before->count; i++)
		had += before->whole && !*before->each[i].address;
	for (size_t i = 0; i < g->count; i++) {
		const struct gatename *was = gatenames_find(before, g->each[i].host);

		if (*g->each[i].address)
			continue;
		such = such ? such : g->each[i].host;
		none++;
		fresh += !before->whole || !was || *was->address;
	}
	if (none && (fresh || none != had))
		log_at(log, LOG_WARN, "%zu node%s of '%s' ha%s no address, such as '%s'", none, none == 1 ? "" : "s",
			r->name, none == 1 ? "s" : "ve", such);
}

void gatenames_ask(struct gatelooks *l, const struct reserved *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (*r->hosts[i] != '[')
			gatelooks_ask(l, r->hosts[i]);
}

int gatenames_take(struct gatenames *g, const struct gatelooks *l, struct reserved *r, bool patient,
	const struct log *log, struct fail *f)
{
	struct gatenames now = { calloc(r->count ? r->count : 1, sizeof *now.each), r->count, true };
	const char *silent = NULL;
	size_t kept = 0;

	if (!now.each)
		return fail_set(f, -ENOMEM, "out of memory");
	for (size_t i = 0; i < r->count; i++) {
		struct gatename *one = &now.each[i];

		memcpy(one->host, r->hosts[i], sizeof one->host);
		if (!gatename_look(one, l, gatenames_find(g, one->host)) && !*one->address && !silent)
			silent = r->hosts[i];
	}
	now.whole = g->whole || !silent || !patient;
	if (now.whole) {
		for (size_t i = 0; i < r->count; i++)
			if (*now.each[i].address)
				memcpy(r->hosts[kept++], now.each[i].address, sizeof now.each[i].address);
		r->count = kept;
		gatenames_tell(&now, g, r, log);
	} else {
		fail_set(f, -EAGAIN,
			"no server of names says the address of '%s' in '%s'; see /etc/resolv.conf, or wait until one "
			"answers",
			silent, r->name);
	}
	gatenames_release(g);
	*g = now;
	return now.whole ? 0 : -EAGAIN;
}

bool gatenames_some(const struct gatenames *g)
{
	for (size_t i = 0; i < g->count; i++)
		if (*g->each[i].address)
			return true;
	return false;
}

int gatenames_copy(const struct gatenames *from, struct gatenames *to)
{
	to->each = calloc(from->count ? from->count : 1, sizeof *to->each);
	if (!to->each)
		return -ENOMEM;
	if (from->count)
		memcpy(to->each, from->each, from->count * sizeof *to->each);
	to->count = from->count;
	return 0;
}

void gatenames_release(struct gatenames *g)
{
	free(g->each);
	*g = (struct gatenames){ 0 };
}
