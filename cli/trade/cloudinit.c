/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trade/cloudinit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/json.h"
#include "cli/frame/settings.h"

enum { KEY_FILE_MAX = 65536, DOCUMENT_MAX = 48 * 1024 }; /* in base64 that makes 64 KiB, the most that a market takes */

static bool is_key(const char *line)
{
	static const char *const kinds[] = { "ssh-ed25519 ", "ssh-rsa ", "ecdsa-sha2-", "sk-ssh-ed25519@",
		"sk-ecdsa-sha2-", "ssh-dss " };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (str_starts(line, kinds[i]))
			return true;
	return false;
}

/* The lines of one file. A private key that was named by mistake must not travel: only known kinds pass. */
static int userdata_add_file(struct json *j, const char *path, size_t *keys, struct fail *f)
{
	char *expanded = str_expand_home(path), *rest, *line;
	struct buf text;
	int rc;

	buf_init(&text, KEY_FILE_MAX);
	rc = expanded ? buf_read_file(&text, expanded) : -ENOMEM;
	if (rc)
		fail_errno(f, rc, -rc, "cannot read '%s'", path);
	else if (strstr(buf_text(&text), "PRIVATE KEY"))
		rc = fail_set(f, -EINVAL,
			"cannot use '%s': it is a private key; the public one is beside it, with '.pub'", path);
	for (rest = rc ? NULL : text.data; !rc && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		if (!is_key(line))
			rc = fail_set(f, -EINVAL, "cannot use '%s': it has a line that is no public key", path);
		else
			json_text(j, NULL, line);
		*keys += !rc;
	}
	buf_release(&text);
	free(expanded);
	return rc;
}

/* Those that ssh would offer by itself. One that is not there is no mistake. */
static int userdata_add_own(const struct settings *s, struct json *j, size_t *keys, struct fail *f)
{
	static const char *const usual[] = { "~/.ssh/id_ed25519.pub", "~/.ssh/id_ecdsa.pub", "~/.ssh/id_rsa.pub",
		"~/.ssh/id_ed25519_sk.pub", "~/.ssh/id_ecdsa_sk.pub" };
	struct fail why = { 0 };
	const char *item;
	size_t own = 0;
	char *path;

	for (size_t i = 0; (item = settings_item(s, SETTING_ID_IDENTITY, i)); i++) {
		int rc;

		if (asprintf(&path, "%s.pub", item) < 0)
			return fail_set(f, -ENOMEM, "out of memory");
		rc = userdata_add_file(j, path, keys, &why);
		free(path);
		if (rc && rc != -ENOENT)
			return fail_set(f, rc, "%s", why.text);
	}
	if (settings_local_identity(s)) {
		if (asprintf(&path, "%s.pub", settings_local_identity(s)) < 0)
			return fail_set(f, -ENOMEM, "out of memory");
		own = userdata_add_file(j, path, keys, &why) == 0;
		free(path);
	}
	for (size_t i = 0; *keys <= own && i < sizeof usual / sizeof *usual; i++) {
		int rc = userdata_add_file(j, usual[i], keys, &why);

		if (rc && rc != -ENOENT && rc != -ENOTDIR)
			return fail_set(f, rc, "%s", why.text);
	}
	return 0;
}

/* A JSON array of strings is a YAML one, and its quotes hold whatever a key's comment says. */
int userdata_make(const struct settings *s, const char *const *files, size_t count, char **out, size_t *keys,
	struct fail *f)
{
	size_t found = 0;
	struct buf b;
	struct json j;
	int rc = 0;

	buf_init(&b, DOCUMENT_MAX);
	rc = buf_adds(&b, "#cloud-config\nssh_authorized_keys: ");
	j = json_to(&b);
	json_begin_array(&j, NULL);
	for (size_t i = 0; !rc && i < count; i++)
		rc = userdata_add_file(&j, files[i], &found, f);
	if (!rc && !count)
		rc = userdata_add_own(s, &j, &found, f);
	json_end(&j);
	if (!rc && (j.error || buf_adds(&b, "\n")))
		rc = fail_set(f, -EFBIG, "cannot give a node that many keys: name fewer with '--ssh-key'");
	if (!rc) {
		*out = found ? buf_steal(&b) : NULL;
		*keys = found;
	}
	buf_release(&b);
	return rc;
}
