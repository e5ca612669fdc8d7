/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/process/sshd_conf.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/process/node_processes.h"
#include "agentd/process/space.h"
#include "base/buf.h"
#include "base/file.h"

enum { CONF_MAX = 64 * 1024 };

int process_program(char *room, size_t size, struct fail *f)
{
	const char *told = getenv("NANOPOD_LIBEXEC");
	char self[PATH_MAX], *slash;
	ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);

	if (told) {
		snprintf(room, size, "%s/nanopod-node", told);
		return access(room, X_OK) == 0 ? 0 : fail_set(f, -ENOENT, "'%s' is missing or cannot be run", room);
	}
	self[len < 0 ? 0 : len] = '\0';
	slash = strrchr(self, '/');
	if (slash) {
		*slash = '\0';
		snprintf(room, size, "%s/nanopod-node", self);
		if (access(room, X_OK) == 0)
			return 0;
		snprintf(room, size, "%s/../libexec/nanopod/nanopod-node", self);
		if (access(room, X_OK) == 0)
			return 0;
	}
	snprintf(room, size, "%s/nanopod-node", PKGLIBEXECDIR);
	return access(room, X_OK) == 0 ? 0
				       : fail_set(f, -ENOENT, "'nanopod-node' is not installed beside nanopod-agentd");
}

/* An sshd run by root refuses locked accounts; without PAM a '!' before the password means locked. */
static bool sshd_conf_wants_pam(const char *user)
{
	char want[256];
	struct buf b;
	const char *at;
	bool locked;

	snprintf(want, sizeof want, "%s:!", user);
	buf_init(&b, 1 << 20);
	at = geteuid() || buf_read_file(&b, "/etc/shadow") ? NULL : strstr(buf_text(&b), want);
	locked = at && (at == b.data || at[-1] == '\n');
	buf_release(&b);
	return locked;
}

static int sshd_conf_words(struct buf *b, const struct node_spec *n, bool plain, const char *program, const char *at)
{
	const struct passwd *pw = getpwuid(geteuid());
	const char *user = pw ? pw->pw_name : "root";
	char mark[128];
	int rc;

	process_mark(n, mark, sizeof mark);
	rc = buf_addf(b, "ListenAddress %s\nPort %u\nHostKey %s/hostkey\nAuthorizedKeysFile %s/authorized_keys\n",
		n->setup->listen, n->port, at, at);
	if (!rc)
		rc = buf_addf(b,
			"AllowUsers %s\nPermitRootLogin prohibit-password\nPidFile none\nStrictModes no\nUsePAM %s\n"
			"PubkeyAuthentication yes\nPasswordAuthentication no\nKbdInteractiveAuthentication "
			"no\nHostbasedAuthentication no\n"
			"PermitUserRC no\nPermitUserEnvironment no\nUseDNS no\nPrintMotd no\nPrintLastLog no\nLogLevel "
			"INFO\n"
			"MaxStartups 200\nMaxSessions 200\nLoginGraceTime 60\nClientAliveInterval 60\nX11Forwarding "
			"no\n",
			user, plain && sshd_conf_wants_pam(user) ? "yes" : "no");
	if (rc)
		return rc;
	if (!plain)
		return buf_addf(b, "SetEnv NANOPOD_NODE=%s\nSubsystem sftp internal-sftp\n", mark);
	return buf_addf(b,
		"SetEnv NANOPOD_NODE=%s \"HOME=%s/home\"\nForceCommand '%s' --session '%s/home'\nSubsystem sftp %s\n",
		mark, n->dir, program, n->dir,
		access("/usr/lib/openssh/sftp-server", X_OK) == 0 ? "/usr/lib/openssh/sftp-server"
								  : "/usr/libexec/openssh/sftp-server");
}

static int sshd_conf_copy_key(const struct node_spec *n, struct fail *f)
{
	char path[PATH_MAX];
	struct buf b;
	int rc;

	buf_init(&b, CONF_MAX);
	snprintf(path, sizeof path, "%s/hostkey", n->dir);
	rc = buf_read_file(&b, path);
	snprintf(path, sizeof path, "%s/ssh/hostkey", n->dir);
	if (!rc)
		rc = file_replace(path, buf_text(&b), b.len, 0600);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	buf_release(&b);
	return rc ? fail_errno(f, rc, -rc, "cannot copy the host key of '%s'", n->id) : 0;
}

int process_conf(const struct node_spec *n, bool plain, const char *program, struct fail *f)
{
	char at[PATH_MAX], path[PATH_MAX];
	struct buf b;
	int rc;

	if (strpbrk(n->dir, "\"'\n\\ %") || strpbrk(program, "\"'\n\\"))
		return fail_set(f, -EINVAL,
			"the path '%s' has characters that sshd_config cannot hold: choose another folder", n->dir);
	snprintf(at, sizeof at, "%s%s", plain ? n->dir : SPACE_SSH, plain ? "/ssh" : "");
	snprintf(path, sizeof path, "%s/ssh/sshd_config", n->dir);
	/* An sshd run by root needs its privilege separation folder, which only the system's start script makes. */
	if (plain && geteuid() == 0)
		mkdir("/run/sshd", 0755);
	buf_init(&b, CONF_MAX);
	rc = sshd_conf_words(&b, n, plain, program, at);
	if (!rc)
		rc = file_replace(path, b.data, b.len, 0600);
	buf_release(&b);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : sshd_conf_copy_key(n, f);
}
