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

enum { KEY_FILE_MAX = 65536, DOCUMENT_MAX = 48 * 1024 }; /* 64 KiB in base64, the most that a market takes */

static bool is_key(const char *line)
{
	static const char *const kinds[] = { "ssh-ed25519 ", "ssh-rsa ", "ecdsa-sha2-", "sk-ssh-ed25519@",
		"sk-ecdsa-sha2-", "ssh-dss " };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (str_starts(line, kinds[i]))
			return true;
	return false;
}

/* "/home/you/.ssh/id.pub" as people write it. */
static int userdata_add_name(struct buf *names, const char *path)
{
	const char *home = getenv("HOME");
	size_t len = home ? strlen(home) : 0;
	bool below = len > 1 && strncmp(path, home, len) == 0 && path[len] == '/';

	return buf_addf(names, "%s%s%s", names->len ? ", " : "", below ? "~" : "", below ? path + len : path);
}

/* A private key that was named by mistake must not leave this machine: only lines of known kinds pass. */
static int userdata_add_file(struct json *j, const char *path, size_t *keys, struct buf *names, struct fail *f)
{
	size_t before = *keys;
	char *expanded = str_expand_home(path), *rest, *line;
	struct buf text;
	int rc;

	buf_init(&text, KEY_FILE_MAX);
	rc = expanded ? buf_read_file(&text, expanded) : -ENOMEM;
	if (rc)
		fail_errno(f, rc, -rc, "cannot read '%s'", path);
	else if (strstr(buf_text(&text), "PRIVATE KEY"))
		rc = fail_set(f, -EINVAL,
			"cannot use '%s': it is a private key; use the public one, whose name ends in '.pub'", path);
	for (rest = rc ? NULL : text.data; !rc && (line = strsep(&rest, "\n"));) {
		line[strcspn(line, "\r")] = '\0';
		line += strspn(line, " \t");
		if (!*line || *line == '#')
			continue;
		if (!is_key(line))
			rc = fail_set(f, -EINVAL, "cannot use '%s': a line of it is not a public key", path);
		else
			json_text(j, NULL, line);
		*keys += !rc;
	}
	if (*keys > before && !rc && userdata_add_name(names, path))
		rc = fail_set(f, -ENOMEM, "out of memory");
	buf_release(&text);
	free(expanded);
	return rc;
}

/* The keys that ssh would offer by itself, as far as their files exist. */
static int userdata_add_own(const struct settings *s, struct json *j, size_t *keys, struct buf *names, struct fail *f)
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
		rc = userdata_add_file(j, path, keys, names, &why);
		free(path);
		if (rc && rc != -ENOENT)
			return fail_set(f, rc, "%s", why.text);
	}
	if (settings_local_identity(s)) {
		if (asprintf(&path, "%s.pub", settings_local_identity(s)) < 0)
			return fail_set(f, -ENOMEM, "out of memory");
		own = userdata_add_file(j, path, keys, names, &why) == 0;
		free(path);
	}
	for (size_t i = 0; *keys <= own && i < sizeof usual / sizeof *usual; i++) {
		int rc = userdata_add_file(j, usual[i], keys, names, &why);

		if (rc && rc != -ENOENT && rc != -ENOTDIR)
			return fail_set(f, rc, "%s", why.text);
	}
	return 0;
}

/* A JSON array is valid YAML, and its quoting is safe for whatever the comment of a key says. */
int userdata_make(const struct settings *s, const char *const *files, size_t count, char **out, size_t *keys,
	struct buf *names, struct fail *f)
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
		rc = userdata_add_file(&j, files[i], &found, names, f);
	if (!rc && !count)
		rc = userdata_add_own(s, &j, &found, names, f);
	json_end(&j);
	if (!rc && (j.error || buf_adds(&b, "\n")))
		rc = fail_set(f, -EFBIG, "too many SSH keys for one node; name fewer with '--ssh-key'");
	if (!rc) {
		*out = found ? buf_steal(&b) : NULL;
		*keys = found;
	}
	buf_release(&b);
	return rc;
}
