/* SPDX-License-Identifier: Apache-2.0 */
#include "agentd/vm/guest_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agentd/vm/launch.h"
#include "base/tar.h"

enum { SEED = 128, KEY_MAX = 64 * 1024 };

static int guest_identity_add_text(struct buf *b, const char *name, const char *text)
{
	return tar_add(b, name, 0600, text, strlen(text));
}

static int guest_identity_add_file(struct buf *b, const char *name, const char *folder)
{
	char path[1024];
	struct buf data;
	int rc;

	if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
		return -ENAMETOOLONG;
	buf_init(&data, KEY_MAX);
	rc = buf_read_file(&data, path);
	if (!rc)
		rc = tar_add(b, name, 0600, data.data, data.len);
	buf_release(&data);
	return rc;
}

static int guest_identity_compose(const struct vmidentity *d, const char *serial, struct buf *b)
{
	unsigned char seed[SEED];
	int rc = guest_identity_add_text(b, "serial", serial);

	if (!rc && getrandom(seed, sizeof seed, 0) != sizeof seed)
		rc = -EIO;
	if (!rc)
		rc = tar_add(b, "seed", 0600, seed, sizeof seed);
	if (!rc)
		rc = guest_identity_add_text(b, "name", d->name);
	if (!rc)
		rc = guest_identity_add_text(b, "address", d->address);
	if (!rc)
		rc = guest_identity_add_text(b, "resolv.conf", d->resolv);
	if (!rc)
		rc = guest_identity_add_text(b, "machine-id", d->machine_id);
	if (!rc)
		rc = guest_identity_add_text(b, "authorized_keys", d->keys);
	if (!rc && d->hostkey)
		rc = guest_identity_add_file(b, "hostkey", d->hostkey);
	if (!rc && d->hostkey)
		rc = guest_identity_add_file(b, "hostkey.pub", d->hostkey);
	if (!rc && d->script)
		rc = guest_identity_add_text(b, "script", d->script);
	if (!rc)
		rc = guest_identity_add_text(b, "end", serial);
	return rc ? rc : tar_end(b);
}

static int guest_identity_put(int fd, const struct buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = pwrite(fd, b->data + done, b->len - done, (off_t)done);

		if (n < 0 && errno != EINTR)
			return -errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return ftruncate(fd, VMLAUNCH_IDENTITY) != 0 || fsync(fd) != 0 ? -errno : 0;
}

static int guest_identity_keep(const struct buf *b, const char *path, gid_t group, struct fail *f)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), rc;

	if (fd < 0)
		return fail_errno(f, -errno, errno, "cannot write '%s'", path);
	rc = guest_identity_put(fd, b);
	if (!rc && geteuid() == 0 && (fchown(fd, 0, group) != 0 || fchmod(fd, 0640) != 0))
		rc = -errno;
	close(fd);
	return rc ? fail_errno(f, rc, -rc, "cannot write '%s'", path) : 0;
}

int vmidentity_write(const struct vmidentity *d, const char *path, gid_t group, int64_t *serial, struct fail *f)
{
	struct timespec now;
	char text[32];
	struct buf b;
	int64_t made;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	made = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	snprintf(text, sizeof text, "%lld", (long long)made);
	buf_init(&b, VMLAUNCH_IDENTITY);
	rc = guest_identity_compose(d, text, &b);
	if (rc == -EFBIG)
		fail_set(f, rc, "the first boot's script is too long for a virtual machine (at most about 1000 kB)");
	else if (rc)
		fail_errno(f, rc, -rc, "cannot build the identity of '%s'", d->name);
	else
		rc = guest_identity_keep(&b, path, group, f);
	if (b.data)
		explicit_bzero(b.data, b.cap);
	buf_release(&b);
	if (!rc)
		*serial = made;
	return rc;
}
