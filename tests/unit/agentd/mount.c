/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of nodes: an empty folder where the folders above it are missing too, as /run/systemd is on a small Debian. */
#include "agentd/os/mount.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/tap.h"

enum { TMPFS = 0x01021994 };

/* In a child, whose mount namespace ends with it. */
static int empty_below(const char *room)
{
	char path[128];
	struct statfs st;
	struct fail f = { 0 };

	snprintf(path, sizeof path, "%s/run/systemd/nspawn", room);
	if (mount_alone(&f) != 0 || mount_empty(path, &f) != 0) {
		fprintf(stderr, "# %s\n", f.text);
		return 1;
	}
	return statfs(path, &st) == 0 && st.f_type == TMPFS ? 0 : 2;
}

int main(void)
{
	char room[] = "/tmp/mount.XXXXXX", path[64];
	static const char *const made[] = { "/run/systemd/nspawn", "/run/systemd", "/run", "" };
	struct stat st;
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		skip_all("only root can mount");
	if (!mkdtemp(room))
		return 1;
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(empty_below(room));
	ok(waitpid(pid, &status, 0) == pid && status == 0, "an empty folder is mounted, and those above it are made");
	snprintf(path, sizeof path, "%s/run/systemd", room);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0755, "which others may pass");
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		snprintf(path, sizeof path, "%s%s", room, made[i]);
		rmdir(path);
	}
	ok(stat(room, &st) != 0, "the mount ended with its process");
	return done();
}
