/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clients come in. libmicrohttpd keeps the certificate that it began with, so a new one opens another door on the
 * same socket. The old door lets nobody in any more, and goes when its last client has left.
 */
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "marketd/proxy/proxy_own.h"

enum { DOOR_PEM = 1 << 20 };

struct proxy_door {
	struct list link;
	struct MHD_Daemon *daemon;
	struct loop_watch watch;
	int fd; /* -1: it lets nobody in any more */
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
static int door_open(struct proxy *p, int fd, const char *cert, const char *key, struct fail *f)
{
	struct proxy_door *d = calloc(1, sizeof *d);
	const union MHD_DaemonInfo *info;

	if (d)
		d->daemon = relay_listen(p, fd, p->loopback, cert, key);
	if (!d || !d->daemon) {
		free(d);
		close(fd);
		return d ? fail_set(f, -EINVAL,
				   cert ? "cannot use the certificate and key; are both PEM, and do they match?"
					: "cannot start the HTTP server")
			 : fail_set(f, -ENOMEM, "out of memory");
	}
	d->fd = fd;
	list_append(&p->doors, &d->link);
	info = MHD_get_daemon_info(d->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (info && loop_watch(p->loop, &d->watch, info->epoll_fd, LOOP_READ) == 0)
		return 0;
	door_free(p, d);
	return fail_set(f, -EINVAL, "cannot wait for the HTTP server");
}

static int door_open_with(struct proxy *p, int fd, const struct proxyfile *file, struct fail *f)
{
	struct buf cert, key;
	int rc;

	buf_init(&cert, DOOR_PEM);
	buf_init(&key, DOOR_PEM);
	rc = buf_read_file(&cert, file->cert);
	rc = rc ? rc : buf_read_file(&key, file->cert_key);
	if (rc)
		close(fd);
	rc = rc ? fail_errno(f, rc, -rc, "cannot read '%s' and '%s'", file->cert, file->cert_key)
		: door_open(p, fd, buf_text(&cert), buf_text(&key), f);
	if (key.data)
		explicit_bzero(key.data, key.len);
	buf_release(&cert);
	buf_release(&key);
	return rc;
}

int doors_open(struct proxy *p, char where[LISTEN_TEXT], struct fail *f)
{
	const struct proxyfile *file = &p->served->file;
	int fd, rc = listen_tcp(file->listen, &fd, &p->loopback, where, f);

	if (rc)
		return rc;
	if (*file->cert)
		return door_open_with(p, fd, file, f);
	if (p->loopback)
		return door_open(p, fd, NULL, NULL, f);
	close(fd);
	return fail_set(f, -EPERM,
		"'%s' is a public address, and without TLS others could read every key; give 'tls-cert' and 'tls-key'",
		file->listen);
}

int doors_renew(struct proxy *p, const struct proxyfile *file, struct fail *f)
{
	struct proxy_door *was = list_entry(p->doors.prev, struct proxy_door, link);
	int fd, rc;

	if (!*file->cert || was->fd < 0)
		return 0;
	fd = dup(was->fd);
	rc = fd < 0 ? fail_errno(f, -errno, errno, "cannot listen again") : door_open_with(p, fd, file, f);
	if (rc == 0)
		door_shut(was);
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
