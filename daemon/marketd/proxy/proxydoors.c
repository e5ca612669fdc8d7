/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clients come in. libmicrohttpd keeps the certificate that it began with, so a new one opens another door on the
 * same socket. The old door lets nobody in any more, and goes when its last client has left.
 */
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marketd/http/listen.h"
#include "marketd/proxy/proxy_own.h"

enum { DOOR_PEM = 1 << 20 };

struct proxy_door {
	struct list link;
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	int fd; /* -1: it lets nobody in any more */
	unsigned char digest[2][EVP_MAX_MD_SIZE]; /* of its certificate and key */
};

struct door_pair {
	struct buf cert, key;
	unsigned char digest[2][EVP_MAX_MD_SIZE];
};

static void door_shut(struct proxy_door *d)
{
	if (d->fd >= 0) {
		MHD_quiesce_daemon(d->daemon);
		close(d->fd);
	}
	d->fd = -1;
}

static void door_free(struct proxy *p, struct proxy_door *d)
{
	door_shut(d);
	loop_forget(p->loop, &d->watch);
	MHD_stop_daemon(d->daemon);
	list_remove(&d->link);
	free(d);
}

/* Takes fd, also where it fails. */
static int door_open(struct proxy *p, int fd, const struct door_pair *pair, struct fail *f)
{
	struct proxy_door *d = calloc(1, sizeof *d);
	struct listen_id id = listen_id(fd);
	const union MHD_DaemonInfo *info;

	if (d)
		d->daemon = relay_listen(p, fd, p->loopback, pair ? buf_text(&pair->cert) : NULL,
			pair ? buf_text(&pair->key) : NULL);
	if (!d || !d->daemon) {
		listen_drop(fd, id);
		free(d);
		return fail_set(f, -EINVAL,
			pair ? "cannot use the certificate and key; are both PEM, and do they match?"
			     : "cannot start the HTTP server");
	}
	d->fd = fd;
	if (pair)
		memcpy(d->digest, pair->digest, sizeof d->digest);
	list_append(&p->doors, &d->link);
	info = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (info && loop_watch(p->loop, &d->watch, info->epoll_fd, LOOP_READ) == 0)
		return 0;
	door_free(p, d);
	return fail_set(f, -EINVAL, "cannot wait for the HTTP server");
}

static bool door_digest(const struct buf *b, unsigned char out[static EVP_MAX_MD_SIZE])
{
	return EVP_Digest(b->data, b->len, out, NULL, EVP_sha256(), NULL) == 1;
}

/* The caller releases it, also where that fails. */
static int door_pair_read(struct door_pair *pair, const struct proxyfile *file, struct fail *f)
{
	int rc;

	memset(pair->digest, 0, sizeof pair->digest);
	buf_init(&pair->cert, DOOR_PEM);
	buf_init(&pair->key, DOOR_PEM);
	rc = buf_read_file(&pair->cert, file->cert);
	rc = rc ? rc : buf_read_file(&pair->key, file->cert_key);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s' and '%s'", file->cert, file->cert_key);
	return door_digest(&pair->cert, pair->digest[0]) && door_digest(&pair->key, pair->digest[1])
		? 0
		: fail_set(f, -ENOMEM, "out of memory");
}

static void door_pair_release(struct door_pair *pair)
{
	if (pair->key.data)
		explicit_bzero(pair->key.data, pair->key.len);
	buf_release(&pair->cert);
	buf_release(&pair->key);
}

int doors_open(struct proxy *p, char *where, struct fail *f)
{
	const struct proxyfile *file = &p->served->file;
	struct door_pair pair;
	int fd, rc = listen_tcp(file->listen, &fd, &p->loopback, where, f);

	if (rc)
		return rc;
	if (!*file->cert && p->loopback)
		return door_open(p, fd, NULL, f);
	if (!*file->cert) {
		close(fd);
		return fail_set(f, -EPERM,
			"'%s' is a public address, and without TLS others could read every key; give 'tls-cert' and "
			"'tls-key'",
			file->listen);
	}
	rc = door_pair_read(&pair, file, f);
	if (rc)
		close(fd);
	rc = rc ? rc : door_open(p, fd, &pair, f);
	door_pair_release(&pair);
	return rc;
}

int doors_renew(struct proxy *p, const struct proxyfile *file, struct fail *f)
{
	struct proxy_door *was = list_entry(p->doors.prev, struct proxy_door, link);
	struct door_pair pair;
	int fd, rc;

	if (!*file->cert || was->fd < 0)
		return 0;
	rc = door_pair_read(&pair, file, f);
	if (!rc && memcmp(pair.digest, was->digest, sizeof pair.digest) != 0) {
		fd = fcntl(was->fd, F_DUPFD_CLOEXEC, 0);
		rc = fd < 0 ? fail_errno(f, -errno, errno, "cannot listen again") : door_open(p, fd, &pair, f);
		if (!rc)
			door_shut(was);
	}
	door_pair_release(&pair);
	return rc;
}

void doors_shut(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->doors)
		door_shut(list_entry(at, struct proxy_door, link));
}

void doors_sweep(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->doors) {
		struct proxy_door *d = list_entry(at, struct proxy_door, link);
		const union MHD_DaemonInfo *info;

		if (d->fd >= 0)
			continue;
		info = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
		if (info && info->num_connections == 0)
			door_free(p, d);
	}
}

bool doors_watch(const struct proxy *p, const struct loop_watch *w)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->doors)
		if (&list_entry(at, struct proxy_door, link)->watch == w)
			return true;
	return false;
}

int64_t doors_timeout(const struct proxy *p)
{
	int64_t least = INT64_MAX;
	struct list *at, *tmp;

	list_each (at, tmp, &p->doors) {
		MHD_UNSIGNED_LONG_LONG ms;

		if (MHD_get_timeout(list_entry(at, struct proxy_door, link)->daemon, &ms) == MHD_YES &&
			(int64_t)ms < least)
			least = (int64_t)ms;
	}
	return least;
}

void doors_run(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->doors)
		MHD_run(list_entry(at, struct proxy_door, link)->daemon);
}

void doors_free(struct proxy *p)
{
	struct list *at, *tmp;

	list_each (at, tmp, &p->doors)
		door_free(p, list_entry(at, struct proxy_door, link));
}
