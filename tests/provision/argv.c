/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded into every program of a node (/etc/ld.so.preload) by slurm.t: writes down each command line, so that a secret
 * in one is seen, however short the program lives.
 */
#include <fcntl.h>
#include <unistd.h>

enum { LINE = 65536 };

__attribute__((constructor)) static void tell(void)
{
	static char line[LINE];
	int in = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC),
	    out = open("/run/argv.log", O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t len = in < 0 ? 0 : read(in, line, sizeof line - 1);

	for (ssize_t i = 0; i < len; i++)
		if (!line[i])
			line[i] = ' ';
	if (len > 0 && out >= 0) {
		line[len] = '\n';
		(void)!write(out, line, (size_t)len + 1);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
}
