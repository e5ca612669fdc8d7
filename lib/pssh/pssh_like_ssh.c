/* SPDX-License-Identifier: Apache-2.0 */
/* The settings that ssh would use, read by one call. */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "pssh/entry.h"
#include "pssh/pssh.h"

enum like_what { LIKE_CONFIG, LIKE_KNOWN_HOSTS, LIKE_IDENTITY };

static int like_file(struct pssh *p, enum like_what what, const char *path)
{
	int rc;

	switch (what) {
	case LIKE_CONFIG:
		rc = pssh_read_config(p, path);
		return rc == PSSH_ENOENT ? 0 : rc;
	case LIKE_KNOWN_HOSTS:
		return pssh_add_known_hosts(p, path);
	default:
		return pssh_add_identity(p, path);
	}
}

int pssh_like_ssh(struct pssh *p, const char *directory)
{
	static const struct {
		enum like_what what;
		const char *name;
		bool absolute;
	} files[] = {
		{ LIKE_CONFIG, "config", false },
		{ LIKE_CONFIG, "/etc/ssh/ssh_config", true },
		{ LIKE_KNOWN_HOSTS, "known_hosts", false },
		{ LIKE_KNOWN_HOSTS, "known_hosts2", false },
		{ LIKE_KNOWN_HOSTS, "/etc/ssh/ssh_known_hosts", true },
		{ LIKE_KNOWN_HOSTS, "/etc/ssh/ssh_known_hosts2", true },
		{ LIKE_IDENTITY, "id_ed25519", false },
		{ LIKE_IDENTITY, "id_ecdsa", false },
		{ LIKE_IDENTITY, "id_rsa", false },
	};
	const char *agent = getenv("SSH_AUTH_SOCK");
	char *home = directory ? NULL : str_expand_home("~/.ssh");
	char path[4096];
	int rc = 0;

	if (!directory && !home)
		return fail_set(&p->why, PSSH_ENOENT, "this user has no home directory; name the directory to read");
	for (size_t i = 0; i < sizeof files / sizeof *files && !rc; i++) {
		if (files[i].absolute && directory)
			continue;
		if (snprintf(path, sizeof path, "%s%s%s",
			    files[i].absolute ? ""
				    : home    ? home
					      : directory,
			    files[i].absolute ? "" : "/", files[i].name) >= (int)sizeof path)
			rc = entry_refuse(p, "the directory's path is too long");
		else
			rc = like_file(p, files[i].what, path);
	}
	free(home);
	return rc ? rc : pssh_set_agent(p, agent && *agent ? agent : NULL);
}
