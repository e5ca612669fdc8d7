/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/machine/xid.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agentd/machine/sysfs.h"
#include "base/str.h"

enum { KMSG_LINES = 100 * 1000, LINE = 8192, MOST = 64, RECOVERY = 154, USERS = 1 };

static const int64_t counts_us = INT64_C(24) * 3600 * 1000000, last_us = INT64_C(3600) * 1000000;

/* Messages of processes have another facility than the kernel's, and root alone writes such. */
#define WAS_RESET "nanopod-agentd: was reset: GPU "

#define CHECK "restart the machine; if it comes back, have the card checked"

/*
 * Errors that are a program's own fault (13, 31, 43, 45 …) are left out. Unhealthy, which costs the seller the lease,
 * are faults that no program causes; what one may cause, or what stopped one program alone, keeps new nodes away.
 */
static const struct xid {
	int number;
	enum health health;
	const char *what, *action;
} xids[] = {
	{ 48, HEALTH_UNHEALTHY, "a memory error that could not be corrected", "restart the machine" },
	{ 62, HEALTH_UNHEALTHY, "the GPU's own processor stopped", "restart the machine" },
	{ 63, HEALTH_DEGRADED, "a row of memory is being replaced", "restart the machine when nothing runs on it" },
	{ 64, HEALTH_DRAINING, "a row of memory could not be replaced", CHECK },
	{ 74, HEALTH_DRAINING, "NVLink failed", "restart the machine; if it comes back, have the link checked" },
	{ 79, HEALTH_UNHEALTHY, "the GPU fell off the bus", CHECK },
	{ 92, HEALTH_DEGRADED, "many memory errors were corrected", "have the card checked" },
	{ 94, HEALTH_DRAINING, "a memory error stopped a program", "nvidia-smi --gpu-reset when nothing runs on it" },
	{ 95, HEALTH_UNHEALTHY, "a memory error spread", "restart the machine" },
	{ 109, HEALTH_DRAINING, "the GPU failed to switch between programs", "restart the machine" },
	{ 119, HEALTH_UNHEALTHY, "the GPU's own processor does not answer", "restart the machine" },
	{ 120, HEALTH_UNHEALTHY, "the GPU's own processor failed", "restart the machine" },
	{ 140, HEALTH_DRAINING, "memory errors that were not corrected", "restart the machine" },
	{ 144, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 145, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 146, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 147, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 148, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 149, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ 150, HEALTH_DRAINING, "NVLink failed", "restart the machine" },
	{ RECOVERY, HEALTH_DRAINING, "the driver wants it reset", "nvidia-smi --gpu-reset, or restart the machine" },
};

/* Of one kind and GPU the last. */
struct seen {
	const struct xid *xid;
	char gpu[HEALTH_GPU];
	int64_t at_us; /* -1: unknown */
};

struct log {
	struct seen list[MOST];
	size_t count;
	int64_t now_us;
	struct xid_last *last; /* NULL: not asked for */
	size_t last_count, last_room;
};

const char *xid_log(const char *root, const char *kmsg)
{
	bool here = !root || !*root || strcmp(root, "/") == 0;

	return kmsg ? kmsg : here ? "/dev/kmsg" : "";
}

/* NULL: all. Its last Xid goes too: whoever has the GPU next must not learn what the one before did. */
static void xid_forget(struct log *l, const char *gpu)
{
	size_t n = 0, last = 0;

	for (size_t i = 0; i < l->count; i++)
		if (gpu && strcmp(l->list[i].gpu, gpu) != 0)
			l->list[n++] = l->list[i];
	for (size_t i = 0; i < l->last_count; i++)
		if (gpu && strcmp(l->last[i].gpu, gpu) != 0)
			l->last[last++] = l->last[i];
	l->count = n;
	l->last_count = last;
}

static void xid_add(struct log *l, const struct xid *x, const char *gpu, int64_t at_us)
{
	size_t i = 0;

	while (i < l->count && (l->list[i].xid != x || strcmp(l->list[i].gpu, gpu) != 0))
		i++;
	if (i == MOST || (x->health < HEALTH_DRAINING && at_us >= 0 && l->now_us - at_us > counts_us))
		return;
	l->count += i == l->count;
	l->list[i].xid = x;
	l->list[i].at_us = at_us;
	snprintf(l->list[i].gpu, sizeof l->list[i].gpu, "%s", gpu);
}

static void xid_keep_last(struct log *l, const char *gpu, long number, int64_t at_us)
{
	size_t i = 0;

	if (at_us < 0 || l->now_us - at_us > last_us)
		return;
	while (i < l->last_count && strcmp(l->last[i].gpu, gpu) != 0)
		i++;
	if (i == l->last_room)
		return;
	l->last_count += i == l->last_count;
	l->last[i].number = (int)number;
	snprintf(l->last[i].gpu, sizeof l->last[i].gpu, "%s", gpu);
}

/* "6,339,5140900,-;text": the third is when. */
static int64_t line_time(const char *line, int64_t now_us)
{
	long long at;

	if (!strchr(line, ';') || sscanf(line, "%*u,%*u,%lld,", &at) != 1 || at < 0 || at > now_us)
		return -1;
	return at;
}

/* What the driver itself says begins so; what it quotes, and names of programs that crash, come later in a line. */
static const char *line_of_driver(const char *line)
{
	const char *text = strchr(line, ';');

	text = text ? text + 1 : line;
	return strncmp(text, "NVRM: ", 6) == 0 ? text + 6 : NULL;
}

/* "12,340,5140901,-;nanopod-agentd: was reset: GPU 0000:19:00.0" */
static void xid_take_reset(struct log *l, const char *line)
{
	const char *text = strchr(line, ';');
	char gpu[HEALTH_GPU];
	int priority;

	if (!text || sscanf(line, "%d,", &priority) != 1 || priority / 8 != USERS || !str_starts(text + 1, WAS_RESET))
		return;
	text += 1 + strlen(WAS_RESET);
	snprintf(gpu, sizeof gpu, "%.*s", (int)strcspn(text, "."), text);
	xid_forget(l, gpu);
}

/* "6,339,5140900,-;NVRM: Xid (PCI:0000:19:00): 79, pid=…" */
static void xid_take_line(struct log *l, const char *line)
{
	const char *at = line_of_driver(line), *close;
	int64_t when = line_time(line, l->now_us);
	char gpu[HEALTH_GPU], number[8];
	size_t len;
	long n;

	if (at && strncmp(at, "loading NVIDIA", 14) == 0)
		xid_forget(l, NULL);
	if (!at)
		xid_take_reset(l, line);
	if (!at || strncmp(at, "Xid (PCI:", 9) != 0)
		return;
	at += 9;
	close = at + strspn(at, "0123456789abcdefABCDEF:.");
	if (close - at > 20 || strncmp(close, "):", 2) != 0)
		return;
	snprintf(gpu, sizeof gpu, "%.*s", (int)(close - at), at);
	close += 2;
	close += strspn(close, " ");
	len = strspn(close, "0123456789");
	snprintf(number, sizeof number, "%.*s", (int)(len < 7 ? len : 7), close);
	if (str_to_long(number, 1, 9999, &n))
		return;
	if (n == RECOVERY && strstr(close, "to 0x0 (None)")) { /* it was reset */
		xid_forget(l, gpu);
		return;
	}
	if (l->last)
		xid_keep_last(l, gpu, n, when);
	for (size_t i = 0; i < sizeof xids / sizeof *xids; i++)
		if (xids[i].number == n)
			xid_add(l, &xids[i], gpu, when);
}

static void xid_report(const struct log *l, struct health_report *r)
{
	for (size_t i = 0; i < l->count; i++) {
		const struct seen *s = &l->list[i];
		time_t at = time(NULL) - (time_t)((l->now_us - s->at_us) / 1000000);
		char when[32] = "";
		struct tm tm;

		if (s->at_us >= 0 && gmtime_r(&at, &tm))
			strftime(when, sizeof when, " on %Y-%m-%d %H:%M UTC", &tm);
		health_found(r, s->xid->health, "xid", s->gpu, s->xid->action, "Xid %d of the GPU '%s'%s: %s",
			s->xid->number, s->gpu, when, s->xid->what);
	}
}

/* /dev/kmsg gives one message a read, and -EPIPE where some were lost meanwhile. */
static void xid_read_lines(int fd, char *text, struct log *l)
{
	size_t len = 0;

	for (int i = 0; i < KMSG_LINES; i++) {
		ssize_t n = read(fd, text + len, LINE - len);
		char *line, *end;

		if (n < 0 && (errno == EINTR || errno == EPIPE))
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			xid_take_line(l, line);
		}
		len -= (size_t)(line - text);
		memmove(text, line, len);
		if (len > LINE / 2) /* no such message is that long */
			len = 0;
	}
}

static int xid_read_log(const char *path, struct log *l)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), rc = fd < 0 ? -errno : 0;
	char *text = fd < 0 ? NULL : malloc(LINE + 1);
	struct timespec now;

	if (!l->now_us && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
		l->now_us = (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
	if (text)
		xid_read_lines(fd, text, l);
	else if (!rc)
		rc = -ENOMEM;
	free(text);
	if (fd >= 0)
		close(fd);
	return rc;
}

void xid_read(const char *path, int64_t now_us, struct health_report *r)
{
	struct log l = { .now_us = now_us };

	if (xid_read_log(path, &l) == 0)
		xid_report(&l, r);
}

int xid_within_hour(const char *path, int64_t now_us, struct xid_last *list, size_t room)
{
	struct log l = { .now_us = now_us, .last = list, .last_room = room };
	int rc = xid_read_log(path, &l);

	return rc ? rc : (int)l.last_count;
}

/* ---- Resets ----------------------------------------------------------------------------------- */

void xid_note_reset(const char *root, const char *address)
{
	char path[SYSFS_PATH], text[100];
	int fd = open(sysfs_path(path, root, "/dev/kmsg"), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	int n = snprintf(text, sizeof text, WAS_RESET "%.32s\n", address);

	if (fd < 0)
		return;
	(void)!write(fd, text, (size_t)n); /* what cannot be said here, a restart of the machine says */
	close(fd);
}
