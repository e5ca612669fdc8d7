/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/os/node_hostkey.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agentd/os/spawn.h"
#include "base/buf.h"
#include "base/file.h"

enum { KEY_MAX = 16 * 1024, KEYGEN_MS = 20000 };

static bool hostkey_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
}

static int hostkey_put(const char *path, const struct buf *b, mode_t mode, struct fail *f)
{
	int rc = file_replace(path, b->data, b->len, mode);

	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

/* ssh-keygen writes its file in place, so it gets another name. */
static int node_hostkey_make_private(const char *dir, const char *key, struct buf *text, struct fail *f)
{
	char fresh[PATH_MAX], fresh_pub[PATH_MAX];
	int rc;

	snprintf(fresh, sizeof fresh, "%s/hostkey.new", dir);
	snprintf(fresh_pub, sizeof fresh_pub, "%s/hostkey.new.pub", dir);
	unlink(fresh);
	unlink(fresh_pub);
	rc = spawn_words(KEYGEN_MS, f, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", fresh,
		(char *)NULL);
	if (rc)
		return rc;
	rc = buf_read_file(text, fresh);
	if (rc)
		return fail_errno(f, rc, -rc, "cannot read '%s'", fresh);
	rc = hostkey_put(key, text, 0600, f);
	unlink(fresh);
	unlink(fresh_pub);
	return rc;
}

/* The public half is computed from the private one, so that they always belong together. */
static int node_hostkey_make_public(const char *key, const char *pub, struct buf *text, struct fail *f)
{
	const char *const argv[] = { "ssh-keygen", "-y", "-P", "", "-f", key, NULL };
	int rc = spawn_run(&(struct spawn){ .argv = argv }, KEYGEN_MS, text, f);

	if (rc)
		return rc;
	if (strncmp(buf_text(text), "ssh-ed25519 ", 12) != 0)
		return fail_set(f, -EIO, "'%s' is not an ed25519 key: remove it, and the agent makes a new one", key);
	return hostkey_put(pub, text, 0644, f);
}

int hostkey_make(const char *dir, struct fail *f)
{
	char key[PATH_MAX], pub[PATH_MAX];
	struct buf text;
	int rc = 0;

	snprintf(key, sizeof key, "%s/hostkey", dir);
	snprintf(pub, sizeof pub, "%s/hostkey.pub", dir);
	buf_init(&text, KEY_MAX);
	if (!hostkey_there(key)) {
		unlink(pub);
		rc = node_hostkey_make_private(dir, key, &text, f);
	}
	buf_clear(&text);
	if (!rc && !hostkey_there(pub))
		rc = node_hostkey_make_public(key, pub, &text, f);
	if (text.data)
		explicit_bzero(text.data, text.cap);
	buf_release(&text);
	return rc;
}
