/* SPDX-License-Identifier: Apache-2.0 */
#include "marketd/policy/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/tar.h"

enum {
	BUNDLE_FILE = 1 << 20,
	BUNDLE_FILES = 256,
	BUNDLE_TAR = 8 << 20,
	BUNDLE_PACKED = 9 << 20,
	BUNDLE_PATH = 4096,
	BUNDLE_MODE = 0644,
	GZIP_WINDOW = 15 + 16 /* zlib: a header of gzip's, not its own */
};

#define BUNDLE_MANIFEST ".manifest"
#define BUNDLE_DATA "data.json"

static bool bundle_ends(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && strcmp(name + len - n, end) == 0;
}

static int bundle_wants(const struct dirent *d)
{
	if (strcmp(d->d_name, BUNDLE_DATA) == 0)
		return 1;
	return d->d_name[0] != '.' && bundle_ends(d->d_name, ".rego") && !bundle_ends(d->d_name, "_test.rego");
}

/* ---- Packing ------------------------------------------------------------------------------- */

static int bundle_hash(const struct buf *tar, char room[INPUTKEY_HEX])
{
	uint8_t sum[INPUTKEY];
	unsigned len = 0;

	if (EVP_Digest(tar->data, tar->len, sum, &len, EVP_sha256(), NULL) != 1)
		return -ENOMEM;
	inputkey_hex(sum, room);
	return 0;
}

static int bundle_pack(const struct buf *tar, struct buf *out)
{
	z_stream z = { 0 };
	uLong most;
	int rc;

	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	most = deflateBound(&z, tar->len);
	rc = buf_reserve(out, most);
	if (rc == 0) {
		z.next_in = (Bytef *)tar->data;
		z.avail_in = (uInt)tar->len;
		z.next_out = (Bytef *)out->data;
		z.avail_out = (uInt)most;
		rc = deflate(&z, Z_FINISH) == Z_STREAM_END ? 0 : -EIO;
		out->len = rc ? 0 : z.total_out;
		out->data[out->len] = '\0';
	}
	deflateEnd(&z);
	return rc;
}

/* ---- The folder ------------------------------------------------------------------------- */

static int bundle_file(const char *folder, const char *name, struct buf *text, struct fail *f)
{
	char path[BUNDLE_PATH];
	int rc;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	buf_clear(text);
	rc = strlen(name) < TAR_NAME ? buf_read_file(text, path) : -ENAMETOOLONG;
	return rc ? fail_errno(f, rc, -rc, "cannot read '%s'", path) : 0;
}

/* What the folder's own manifest says, with the revision in it, which is of that, too. */
static int bundle_manifest_add(json_t *m, struct buf *tar, char revision[INPUTKEY_HEX])
{
	size_t files = tar->len;
	char *text = json_dumps(m, JSON_COMPACT | JSON_SORT_KEYS);
	int rc = text ? buf_adds(tar, text) : -ENOMEM;

	rc = rc ? rc : bundle_hash(tar, revision);
	buf_cut(tar, files);
	free(text);
	json_object_set_new(m, "revision", json_string(revision));
	text = rc ? NULL : json_dumps(m, JSON_COMPACT | JSON_SORT_KEYS);
	if (rc == 0)
		rc = text ? tar_add(tar, BUNDLE_MANIFEST, BUNDLE_MODE, text, strlen(text)) : -ENOMEM;
	free(text);
	return rc;
}

static int bundle_manifest(const char *folder, struct buf *tar, char revision[INPUTKEY_HEX], struct fail *f)
{
	char path[BUNDLE_PATH];
	struct stat st;
	json_t *m;
	int rc;

	snprintf(path, sizeof path, "%s/" BUNDLE_MANIFEST, folder);
	m = stat(path, &st) == 0 ? json_load_file(path, JSON_REJECT_DUPLICATES, NULL) : json_object();
	if (!json_is_object(m)) {
		json_decref(m);
		return fail_set(f, -EINVAL, "'%s' is not a JSON object", path);
	}
	json_object_del(m, "revision");
	rc = bundle_manifest_add(m, tar, revision);
	json_decref(m);
	return rc ? fail_errno(f, rc, -rc, "cannot pack '%s'", path) : 0;
}

static int bundle_files(const char *folder, struct dirent **list, int count, struct buf *tar, struct fail *f)
{
	struct buf text;
	int rc = 0;

	buf_init(&text, BUNDLE_FILE);
	for (int i = 0; rc == 0 && i < count; i++) {
		rc = bundle_file(folder, list[i]->d_name, &text, f);
		if (rc == 0 && tar_add(tar, list[i]->d_name, BUNDLE_MODE, buf_text(&text), text.len) != 0)
			rc = fail_set(f, -EFBIG, "the policy in '%s' is larger than %d MiB", folder, BUNDLE_TAR >> 20);
	}
	buf_release(&text);
	return rc;
}

static int bundle_make(const char *folder, struct dirent **list, int count, struct bundle *b, struct fail *f)
{
	struct buf tar;
	int rc;

	if (count == 0 || count > BUNDLE_FILES)
		return fail_set(f, -EINVAL, "'%s' must have 1 to %d files *.rego", folder, BUNDLE_FILES);
	buf_init(&tar, BUNDLE_TAR);
	rc = bundle_files(folder, list, count, &tar, f);
	rc = rc ? rc : bundle_manifest(folder, &tar, b->revision, f);
	if (rc == 0) {
		rc = tar_end(&tar);
		rc = rc ? rc : bundle_pack(&tar, &b->packed);
		if (rc)
			fail_errno(f, rc, -rc, "cannot pack the policy in '%s'", folder);
	}
	buf_release(&tar);
	return rc;
}

int bundle_read(const char *folder, struct bundle *out, struct fail *f)
{
	struct bundle b = { 0 };
	struct dirent **list = NULL;
	int count = scandir(folder, &list, bundle_wants, alphasort), rc;

	if (count < 0)
		return fail_errno(f, -errno, errno, "cannot read the folder '%s'", folder);
	buf_init(&b.packed, BUNDLE_PACKED);
	rc = bundle_make(folder, list, count, &b, f);
	for (int i = 0; i < count; i++)
		free(list[i]);
	free(list);
	if (rc) {
		bundle_release(&b);
		return rc;
	}
	bundle_release(out);
	*out = b;
	return 0;
}

void bundle_release(struct bundle *b)
{
	buf_release(&b->packed);
	b->revision[0] = '\0';
}
