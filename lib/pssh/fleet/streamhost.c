/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Further connections to a host, which only copies use. Each is a host of its own that no caller has
 * seen: it asks nobody anything, tells no events, is never kept, and accepts only the key that the
 * host's first connection was verified by.
 */
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "pssh/fleet/fleet.h"

static int streamhost_text(char **to, const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		return PSSH_ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int streamhost_pin(struct pssh_host *s, const struct pssh_host *h)
{
	struct knownhosts_pin pin = { 0 };
	const uint8_t *key = conn_hostkey(h->conn, &pin.len);

	for (size_t i = 0; i < s->pin_count; i++)
		knownhosts_pin_release(&s->pins[i]);
	s->pin_count = 0;
	if (!s->pins)
		s->pins = calloc(1, sizeof *s->pins);
	if (!s->pins || !key || !pin.len || !(pin.blob = malloc(pin.len)))
		return PSSH_ENOMEM;
	memcpy(pin.blob, key, pin.len);
	snprintf(pin.fingerprint, sizeof pin.fingerprint, "%s", h->conn->fingerprint);
	s->pins[s->pin_count++] = pin;
	return 0;
}

/* A name may have many addresses, and one key may serve many machines: the stream goes where the first one went. */
static int streamhost_address(struct pssh_host *s, const struct pssh_host *h)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer;
	char text[NI_MAXHOST];

	if (h->via || h->plan.proxy || conn_is_lent(h->conn) ||
		getpeername(h->conn->fd, (struct sockaddr *)&peer, &len) != 0 ||
		getnameinfo((struct sockaddr *)&peer, len, text, sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
		return streamhost_text(&s->address, h->address);
	return streamhost_text(&s->address, text);
}

static int streamhost_identities(struct pssh_host *s, const struct pssh_host *h)
{
	int rc = 0;

	strings_free(&s->identities, &s->identity_count);
	for (size_t i = 0; i < h->identity_count && !rc; i++)
		rc = strings_add(&s->identities, &s->identity_count, h->identities[i]);
	return rc;
}

/* What the caller set for h, as it is now. */
static int streamhost_settings(struct pssh_host *s, const struct pssh_host *h)
{
	int rc = streamhost_text(&s->user, h->user);

	rc = rc ? rc : streamhost_text(&s->jump, h->jump);
	rc = rc ? rc : streamhost_text(&s->proxy, h->proxy);
	rc = rc ? rc : streamhost_address(s, h);
	rc = rc ? rc : streamhost_identities(s, h);
	rc = rc ? rc : streamhost_pin(s, h);
	s->port = h->port;
	s->attempt = 0;
	return rc;
}

bool streamhost_may(const struct pssh_host *h)
{
	for (; h; h = h->via)
		if (h->typed || h->plan.fd >= 0 || (h->conn && h->conn->by_hand) || (h->via && !h->via->conn))
			return false; /* a jump host without a connection might ask for its own */
	return true;
}

int streamhost_find(struct pssh_host *h, unsigned nth, struct pssh_host **out)
{
	struct pssh_host *s;
	int rc = 0;

	if (!h->streams)
		h->streams = calloc(PSSH_STREAMS, sizeof(struct pssh_host *));
	if (!h->streams)
		return PSSH_ENOMEM;
	s = h->streams[nth];
	if (!s) {
		rc = host_new(h->fleet, h->spec, &s);
		if (rc)
			return rc;
		s->stream = nth;
		list_append(&h->fleet->host_list, &s->in_hosts);
		h->streams[nth] = s;
	}
	if (!s->conn && !s->waiting && !s->timer.at)
		rc = streamhost_settings(s, h);
	if (!rc)
		*out = s;
	return rc;
}
