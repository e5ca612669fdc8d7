/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/pci_function.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define FUNCTIONS "/sys/bus/pci/devices"

/* The kernel is done when a write returns; a stand-in for it takes a moment. */
enum { BACK_MS = 5000, PAUSE_MS = 10, WAYS = 128, SIBLINGS = 8 };

bool function_address_good(const char *address)
{
	static const char shape[] = "xxxx:xx:xx.x";

	if (strlen(address) != strlen(shape))
		return false;
	for (size_t i = 0; shape[i]; i++)
		if (shape[i] == 'x' ? !isxdigit((unsigned char)address[i]) : address[i] != shape[i])
			return false;
	return true;
}

const char *function_path(char room[FUNCTION_PATH], const char *root, const char *fmt, ...)
{
	int n = snprintf(room, FUNCTION_PATH, "%s", root ? root : ""), more;
	va_list ap;

	if (n < FUNCTION_PATH) {
		va_start(ap, fmt);
		more = vsnprintf(room + n, (size_t)(FUNCTION_PATH - n), fmt, ap);
		va_end(ap);
		n += more;
	}
	if (n >= FUNCTION_PATH)
		room[0] = '\0';
	return room;
}

bool function_link(const char *path, char *room, unsigned size)
{
	char to[FUNCTION_PATH];
	ssize_t len = readlink(path, to, sizeof to - 1);
	const char *last;

	*room = '\0';
	if (len <= 0)
		return false;
	to[len] = '\0';
	last = strrchr(to, '/');
	last = last ? last + 1 : to;
	if (strlen(last) >= size)
		return false;
	memcpy(room, last, strlen(last) + 1);
	return *room != '\0';
}

void function_driver(const char *root, const char *address, char room[FUNCTION_NAME])
{
	char path[FUNCTION_PATH];

	function_link(function_path(path, root, FUNCTIONS "/%s/driver", address), room, FUNCTION_NAME);
}

static int function_write(const char *path, const char *text, struct fail *f)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_TRUNC), error = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	return error ? fail_errno(f, -error, error, "cannot write to '%s'", path) : 0;
}

/* Waits until it has this driver ("": none). */
static bool function_has(const char *root, const char *address, const char *driver)
{
	int64_t until = clock_ms() + BACK_MS;
	char now[FUNCTION_NAME];

	for (;;) {
		function_driver(root, address, now);
		if (strcmp(now, driver) == 0)
			return true;
		if (clock_ms() >= until)
			return false;
		poll(NULL, 0, PAUSE_MS);
	}
}

int function_unbind(const char *root, const char *address, struct fail *f)
{
	char path[FUNCTION_PATH], now[FUNCTION_NAME];
	int rc;

	function_driver(root, address, now);
	if (!*now)
		return 0;
	rc = function_write(function_path(path, root, FUNCTIONS "/%s/driver/unbind", address), address, f);
	if (!rc && !function_has(root, address, ""))
		rc = fail_set(f, -EBUSY, "the driver '%s' keeps %s", now, address);
	return rc;
}

int function_override(const char *root, const char *address, const char *driver, struct fail *f)
{
	char path[FUNCTION_PATH];

	return function_write(function_path(path, root, FUNCTIONS "/%s/driver_override", address),
		*driver ? driver : "\n", f);
}

int function_bind(const char *root, const char *address, const char *driver, struct fail *f)
{
	char path[FUNCTION_PATH], now[FUNCTION_NAME];
	int rc;

	function_driver(root, address, now);
	if (strcmp(now, driver) == 0)
		return 0;
	rc = function_write(function_path(path, root, "/sys/bus/pci/drivers/%s/bind", driver), address, f);
	if (!rc && !function_has(root, address, driver))
		rc = fail_set(f, -EIO, "the driver '%s' does not take %s", driver, address);
	return rc;
}

int function_free(const char *root, const char *address, struct fail *f)
{
	char path[FUNCTION_PATH], now[FUNCTION_NAME];
	int rc = 0;

	if (access(function_path(path, root, FUNCTIONS "/%s/driver_override", address), F_OK) == 0)
		rc = function_override(root, address, "", f);
	function_driver(root, address, now);
	if (rc || *now)
		return rc;
	return function_write(function_path(path, root, "/sys/bus/pci/drivers_probe"), address, f);
}

int function_reset(const char *root, const char *address, struct fail *f)
{
	char path[FUNCTION_PATH];

	if (access(function_path(path, root, FUNCTIONS "/%s/reset", address), W_OK) != 0)
		return fail_set(f, -ENOTSUP, "the kernel knows no way to reset %s alone", address);
	return function_write(path, "1", f);
}

/* ---- With its bus ---------------------------------------------------------------------------- */

/* "device_specific flr bus pm", in the order in which the kernel tries them; "": an old kernel does not tell. */
static void function_ways(const char *root, const char *address, char room[WAYS])
{
	char path[FUNCTION_PATH];
	struct buf b;

	buf_init(&b, 4096);
	if (buf_read_file(&b, function_path(path, root, FUNCTIONS "/%s/reset_method", address)) != 0)
		buf_clear(&b);
	snprintf(room, WAYS, "%.*s", (int)strcspn(buf_text(&b), "\n"), buf_text(&b));
	buf_release(&b);
}

bool function_resets_alone(const char *root, const char *address)
{
	char ways[WAYS];

	function_ways(root, address, ways);
	return strncmp(ways, "pm", 2) != 0;
}

static bool function_bus_is_way(const char *ways)
{
	for (const char *at = ways; *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strncmp(at, "bus", 3) == 0 && (at[3] == ' ' || !at[3]))
			return true;
	return false;
}

/* The other functions of its card. -EBUSY: something else is on its bus. */
static int function_siblings(const char *root, const char *address, char list[SIBLINGS][FUNCTION_NAME], size_t *count,
	struct fail *f)
{
	static const size_t bus = sizeof "0000:19:" - 1, slot = sizeof "0000:19:00." - 1;
	char path[FUNCTION_PATH];
	DIR *d = opendir(function_path(path, root, FUNCTIONS));
	struct dirent *e;
	int rc = d ? 0 : fail_errno(f, -errno, errno, "cannot read '%s'", path);

	*count = 0;
	while (!rc && (e = readdir(d))) {
		if (!function_address_good(e->d_name) || strncmp(e->d_name, address, bus) != 0 ||
			strcmp(e->d_name, address) == 0)
			continue;
		if (strncmp(e->d_name, address, slot) != 0 || *count == SIBLINGS)
			rc = fail_set(f, -EBUSY, "%s is on one bus with %s, so it cannot be reset", address, e->d_name);
		else
			snprintf(list[(*count)++], FUNCTION_NAME, "%.16s", e->d_name);
	}
	if (d)
		closedir(d);
	return rc;
}

/* The kernel forgets that it is there. */
static int function_remove(const char *root, const char *address, struct fail *f)
{
	char path[FUNCTION_PATH];
	int64_t until = clock_ms() + BACK_MS;
	int rc = function_write(function_path(path, root, FUNCTIONS "/%s/remove", address), "1", f);

	function_path(path, root, FUNCTIONS "/%s", address);
	while (!rc && access(path, F_OK) == 0) {
		if (clock_ms() >= until)
			rc = fail_set(f, -EBUSY, "the kernel keeps %s", address);
		poll(NULL, 0, PAUSE_MS);
	}
	return rc;
}

int function_reset_bus(const char *root, const char *address, struct fail *f)
{
	char ways[WAYS], path[FUNCTION_PATH], list[SIBLINGS][FUNCTION_NAME];
	size_t count = 0;
	int rc;

	function_ways(root, address, ways);
	if (!function_bus_is_way(ways))
		return fail_set(f, -ENOTSUP, "the kernel knows no way to reset %s that empties its memory", address);
	rc = function_siblings(root, address, list, &count, f);
	for (size_t i = 0; !rc && i < count; i++)
		rc = function_remove(root, list[i], f);
	function_path(path, root, FUNCTIONS "/%s/reset_method", address);
	rc = rc ? rc : function_write(path, "bus", f);
	rc = rc ? rc : function_reset(root, address, f);
	function_write(path, ways, NULL);
	function_rescan(root, address);
	return rc;
}

void function_rescan(const char *root, const char *address)
{
	char path[FUNCTION_PATH];

	function_write(function_path(path, root, FUNCTIONS "/%s/rescan", address), "1", NULL);
}
