/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for hosts: they check arguments and pass them on. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "pssh/entry.h"
#include "pssh/keys/sshwire.h"
#include "pssh/pssh.h"

int pssh_host(struct pssh *p, const char *spec, struct pssh_host **out)
{
	int rc = entry_here(p);

	return rc ? rc : host_find(p, spec, out);
}

int pssh_host_set_address(struct pssh_host *h, const char *address)
{
	return entry_set_text(h->fleet, &h->address, address);
}

int pssh_host_set_port(struct pssh_host *h, unsigned port)
{
	if (port > 65535)
		return entry_refuse(h->fleet, "a port is at most 65535");
	h->port = port;
	return 0;
}

int pssh_host_set_user(struct pssh_host *h, const char *user)
{
	return entry_set_text(h->fleet, &h->user, user);
}

int pssh_host_set_jump(struct pssh_host *h, const char *jumps)
{
	return entry_set_text(h->fleet, &h->jump, jumps);
}

int pssh_host_set_proxy(struct pssh_host *h, const char *command)
{
	return entry_set_text(h->fleet, &h->proxy, command);
}

int pssh_host_set_fd(struct pssh_host *h, int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof peer, size = sizeof(int);
	int type = 0;

	if (fd >= 0) {
		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM ||
			getpeername(fd, (struct sockaddr *)&peer, &len) != 0)
			return entry_refuse(h->fleet, "the descriptor is not a connected stream socket");
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) != 0)
			return fail_errno(&h->fleet->why, PSSH_ELOCAL, errno, "cannot use the descriptor");
	}
	if (h->given_fd >= 0 && h->given_fd != fd)
		close(h->given_fd);
	h->given_fd = fd < 0 ? -1 : fd;
	return 0;
}

int pssh_host_add_identity(struct pssh_host *h, const char *path)
{
	return strings_add(&h->identities, &h->identity_count, path) ? entry_no_memory(h->fleet) : 0;
}

int pssh_host_pin(struct pssh_host *h, const char *key)
{
	struct knownhosts_pin *more;
	int rc;

	if (!key) {
		for (size_t i = 0; i < h->pin_count; i++)
			knownhosts_pin_release(&h->pins[i]);
		h->pin_count = 0;
		return 0;
	}
	more = realloc(h->pins, (h->pin_count + 1) * sizeof *more);
	if (!more)
		return entry_no_memory(h->fleet);
	h->pins = more;
	rc = knownhosts_pin_parse(key, &more[h->pin_count], &h->fleet->why);
	h->pin_count += rc == 0;
	return rc;
}

const char *pssh_host_name(const struct pssh_host *h)
{
	return h->spec;
}

const char *pssh_host_address(const struct pssh_host *h)
{
	return h->address ? h->address : h->config ? h->config->hostname : h->alias;
}

const char *pssh_host_user(const struct pssh_host *h)
{
	const char *set = h->spec_user ? h->spec_user : h->user ? h->user : h->config ? h->config->user : NULL;

	return set ? set : h->plan_user ? h->plan_user : "";
}

unsigned pssh_host_port(const struct pssh_host *h)
{
	return h->spec_port ? h->spec_port : h->port ? h->port : h->config && h->config->port ? h->config->port : 22;
}

const char *pssh_host_jump(const struct pssh_host *h)
{
	const struct sshconfig_answer *c = h->jump || h->proxy ? NULL : h->config;
	const char *jump = c ? c->proxy_jump : h->jump, *proxy = c ? c->proxy_command : h->proxy;

	if (jump && strcmp(jump, "none") != 0)
		return jump;
	return proxy && strcmp(proxy, "none") != 0 ? proxy : "";
}

const char *pssh_host_identity(const struct pssh_host *h, size_t i)
{
	char *const *files = h->config ? h->config->identity_files : NULL;

	if (i < h->identity_count)
		return h->identities[i];
	i -= h->identity_count;
	for (; files && *files; files++)
		if (i-- == 0)
			return *files;
	return i < h->fleet->identity_count ? h->fleet->identities[i] : NULL;
}

const char *pssh_host_error(const struct pssh_host *h)
{
	return h->why.code ? h->why.text : "";
}

const char *pssh_host_fingerprint(const struct pssh_host *h)
{
	return h->conn && *h->conn->fingerprint ? h->conn->fingerprint : h->fingerprint;
}

int pssh_host_facts(const struct pssh_host *h, struct pssh_facts *out, size_t size)
{
	struct pssh_facts facts = { 0 };
	const char **texts[] = { &facts.kex, &facts.hostkey, &facts.cipher, &facts.mac };

	if (h->conn || h->facts)
		facts = h->conn ? h->conn->facts.now : *h->facts;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (!*texts[i])
			*texts[i] = "";
	memset(out, 0, size);
	memcpy(out, &facts, size < sizeof facts ? size : sizeof facts);
	return h->conn || h->facts ? 0 : fail_set(&h->fleet->why, PSSH_ENOENT, "'%s' has not been connected", h->spec);
}

const char *pssh_host_key(struct pssh_host *h)
{
	const uint8_t *blob;
	struct buf b;
	size_t len;

	if (!pssh_host_connected(h))
		return "";
	blob = conn_hostkey(h->conn, &len);
	if (!blob)
		return "";
	buf_init(&b, 1 << 16);
	if (sshwire_add_key(&b, blob, len) == 0) {
		free(h->key_text);
		h->key_text = buf_steal(&b);
	}
	buf_release(&b);
	return h->key_text ? h->key_text : "";
}

int pssh_host_connected(const struct pssh_host *h)
{
	return h->conn && h->conn->state == CONN_READY;
}

int pssh_host_strict(const struct pssh_host *h)
{
	if (h->fleet->policy_chosen)
		return h->fleet->policy == PSSH_HOSTKEYS_STRICT;
	return h->config && h->config->strict == SSHCONFIG_STRICT_YES;
}

int pssh_host_connect(struct pssh_host *h)
{
	if (pssh_host_connected(h))
		return 0;
	if (!h->conn && !h->waiting && !h->timer.at)
		h->attempt = 0;
	h->wanted = true;
	fleet_need(h);
	return 0;
}

void pssh_host_close(struct pssh_host *h)
{
	fleet_forked(h->fleet);
	fleet_close_host(h, PSSH_ECLOSED, "closed by the caller");
}

int pssh_host_free(struct pssh_host *h)
{
	if (!h)
		return 0;
	if (!list_empty(&h->runs))
		return fail_set(&h->fleet->why, PSSH_EINVAL, "'%s' is still in a task; cancel or free the task first",
			h->spec);
	if (h->depth)
		return fail_set(&h->fleet->why, PSSH_EINVAL, "'%s' is a jump host, which the library frees itself",
			h->spec);
	fleet_forked(h->fleet);
	fleet_free_host(h);
	return 0;
}

void pssh_host_set_data(struct pssh_host *h, void *data)
{
	h->data = data;
}

void *pssh_host_data(const struct pssh_host *h)
{
	return h->data;
}
