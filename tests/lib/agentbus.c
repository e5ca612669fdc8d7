/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands for the kernel behind a tree of sysfs, FAKE_BUS, in agentfake: as with the kernel, a function of the PCI bus
 * has left its driver, or been taken by it, when the write of its address returns. Nobody has to wait for another
 * process.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentd/os/pci_function.h"

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);

/* The file below the bus that the descriptor is of; false: another. */
static bool bus_file_of(int fd, const char *root, char room[PATH_MAX])
{
	char link[64], path[PATH_MAX], bus[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n < 0 ? 0 : n] = '\0';
	snprintf(bus, sizeof bus, "%s/sys/bus/pci/", root);
	if (strncmp(path, bus, strlen(bus)) != 0)
		return false;
	snprintf(room, PATH_MAX, "%s", path + strlen(bus));
	return true;
}

static void bus_obey(const char *root, const char *file, const char *address)
{
	char link[PATH_MAX], driver[FUNCTION_NAME + 16], what[16];

	snprintf(link, sizeof link, "%s/sys/bus/pci/devices/%s/driver", root, address);
	if (sscanf(file, "drivers/%63[^/]/%15s", driver + 14, what) != 2)
		return;
	memcpy(driver, "../../drivers/", 14);
	if (strcmp(what, "unbind") == 0)
		unlink(link);
	else if (strcmp(what, "bind") == 0 && symlink(driver, link) != 0)
		perror(link);
}

/* A process that may ask the kernel for nothing else writes no such thing. */
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	const char *root = len == strlen("0000:19:00.0") ? getenv("FAKE_BUS") : NULL;
	char address[16] = "", file[PATH_MAX];

	if (root) {
		memcpy(address, data, len);
		if (function_address_good(address) && bus_file_of(fd, root, file))
			bus_obey(root, file, address);
	}
	return __real_write(fd, data, len);
}
