/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/lib/lightsshd as a test's own server, for which every address of 127/8 is a host. */
#ifndef TESTS_PSSH_LIGHT_H
#define TESTS_PSSH_LIGHT_H

#include <sys/prctl.h>

#include "../lib/tool.h"
#include "drive.h"

struct light {
	pid_t pid;
	unsigned port;
	char known[64], said[64];
};

/* Starts one with these options after our own; its messages go to the file l->said. */
static DRIVE_UNUSED void light_up(struct light *l, const char *name, const char *const *options)
{
	const char *argv[64] = { env("LIGHTSSHD"), "--life", "1400", "--known-hosts", l->known };
	char line[128] = "";
	size_t n = 5;
	int out[2];
	FILE *f;

	if (access(argv[0], X_OK) != 0)
		skip_all("lightsshd is not built (libssh is not installed)");
	snprintf(l->known, sizeof l->known, "%.20s.known", name);
	snprintf(l->said, sizeof l->said, "%.20s.said", name);
	while (options && *options && n < 63)
		argv[n++] = *options++;
	fflush(stdout);
	if (pipe(out) != 0 || (l->pid = fork()) < 0)
		exit(99);
	if (l->pid == 0) {
		int err = open(l->said, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(out[1], 1);
		dup2(err, 2);
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	close(out[1]);
	f = fdopen(out[0], "r");
	if (!f || !fgets(line, sizeof line, f) || sscanf(line, "listening on %u", &l->port) != 1) {
		printf("Bail out! lightsshd does not start\n");
		exit(99);
	}
	fclose(f);
}

static DRIVE_UNUSED void light_down(struct light *l)
{
	kill(l->pid, SIGCONT);
	tool_stop(l->pid);
}

/* A fleet that it accepts. */
static DRIVE_UNUSED void light_fleet(struct drive *d, const struct light *l)
{
	if (!drive_start(d) || pssh_add_known_hosts(d->p, l->known) != 0 ||
		pssh_add_identity(d->p, env("SSHD_KEY")) != 0)
		exit(99);
}

static DRIVE_UNUSED struct pssh_host *light_host(struct drive *d, const struct light *l, const char *address)
{
	struct pssh_host *h = host(d, address);

	pssh_host_set_port(h, l->port);
	return h;
}

static DRIVE_UNUSED struct pssh_host *light_host_number(struct drive *d, const struct light *l, unsigned net,
	unsigned i)
{
	char address[64];

	snprintf(address, sizeof address, "127.%u.%u.%u", net, i / 250, i % 250 + 1);
	return light_host(d, l, address);
}

#endif
