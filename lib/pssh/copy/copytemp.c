/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/copy/copytemp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "pssh/copy/copytree.h"

/* KEEP cuts the target's name, so that the temporary name is never longer than a file name may be. */
enum { TEMP_KEEP = 200, TEMP_HEX = 24, TEMP_DAY = 24 * 3600 };

static const char suffix[] = ".pssh-part";

uint32_t temp_machine(void)
{
	char boot[64] = "";
	struct stat st;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, boot, sizeof boot - 1);
	uint64_t h;

	if (fd >= 0)
		close(fd);
	if (n < 32 || stat("/proc/self/ns/pid", &st))
		return 0;
	h = hash_more(HASH_BEGIN ^ st.st_ino, boot, strlen(boot));
	return (uint32_t)(h ^ h >> 32);
}

char *temp_path(const char *target, uint32_t machine, bool resume)
{
	const char *base = path_base(target);
	int head = (int)(base - target), keep = (int)strlen(base), n;
	unsigned long long mark = 0;
	char *p;

	if (keep > TEMP_KEEP) {
		keep = TEMP_KEEP;
		mark = hash_more(HASH_BEGIN, base, strlen(base));
	}
	if (!resume && getrandom(&mark, sizeof mark, GRND_NONBLOCK) != (ssize_t)sizeof mark)
		return NULL;
	if (!resume)
		n = asprintf(&p, "%.*s.%.*s.%08x%06x%010llx%s", head, target, keep, base, machine,
			(unsigned)getpid() & 0xffffff, mark & 0xffffffffff, suffix);
	else if (mark)
		n = asprintf(&p, "%.*s.%.*s.%016llx%s", head, target, keep, base, mark, suffix);
	else
		n = asprintf(&p, "%.*s.%.*s%s", head, target, keep, base, suffix);
	return n < 0 ? NULL : p;
}

/* Whether a name is one that temp_path() makes without `resume`; where, and by which process. */
static bool temp_owner(const char *name, size_t len, unsigned *machine, unsigned *pid)
{
	const size_t tail = TEMP_HEX + sizeof suffix - 1;
	char hex[TEMP_HEX + 1];

	if (len < tail + 3 || name[0] != '.' || name[len - tail - 1] != '.' ||
		memcmp(name + len - (sizeof suffix - 1), suffix, sizeof suffix - 1) != 0)
		return false;
	memcpy(hex, name + len - tail, TEMP_HEX);
	hex[TEMP_HEX] = '\0';
	return strspn(hex, "0123456789abcdef") == TEMP_HEX && sscanf(hex, "%8x%6x", machine, pid) == 2;
}

bool temp_is_ours(const char *name, size_t len)
{
	unsigned owner, pid;

	return temp_owner(name, len, &owner, &pid);
}

bool temp_is_left(const char *name, size_t len, uint32_t machine, int64_t written, int64_t dir_changed)
{
	unsigned owner, pid;

	if (!temp_owner(name, len, &owner, &pid))
		return false;
	if (machine && owner == machine && pid)
		return kill((pid_t)pid, 0) && errno == ESRCH;
	return dir_changed - written > TEMP_DAY;
}

void temp_tidy(const char *dir, uint32_t machine)
{
	DIR *d = opendir(dir);
	struct dirent *de;
	struct stat at, st;

	if (!d || fstat(dirfd(d), &at)) {
		if (d)
			closedir(d);
		return;
	}
	while ((de = readdir(d))) {
		size_t len = strlen(de->d_name);

		if (temp_is_ours(de->d_name, len) && fstatat(dirfd(d), de->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode) &&
			temp_is_left(de->d_name, len, machine, st.st_mtim.tv_sec, at.st_mtim.tv_sec))
			unlinkat(dirfd(d), de->d_name, 0);
	}
	closedir(d);
}
