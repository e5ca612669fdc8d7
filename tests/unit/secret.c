/* SPDX-License-Identifier: Apache-2.0 */
/* A secret counts where no other user can read it; root may lend one to a service, by a group. */
#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/tap.h"
#include "base/secret.h"

enum { NOBODY = 65534 };

static int reads(const char *path, mode_t mode, const char *text)
{
	struct fail why = { 0 };
	struct buf b;
	int rc;

	if (text && chmod(path, mode) != 0)
		return 99;
	rc = secret_read(&b, path, 64, &why);
	secret_wipe(&b);
	return rc;
}

/* As nobody, what is root's and of nobody's group. */
static int lent(const char *path, mode_t mode)
{
	int rc;

	if (chmod(path, mode) != 0 || setegid(NOBODY) != 0 || seteuid(NOBODY) != 0)
		return 99;
	rc = reads(path, mode, NULL);
	return seteuid(0) == 0 && setegid(0) == 0 ? rc : 99;
}

int main(void)
{
	static const mode_t closed[] = { 0600, 0400 }, open[] = { 0640, 0440, 0644, 0620, 0602, 0601 };
	static const mode_t loan[] = { 0640, 0440 }, no_loan[] = { 0644, 0660, 0444, 0650, 0641 };
	char path[] = "/tmp/nanopod-secret.XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0 || write(fd, "word", 4) != 4 || close(fd) != 0)
		return 99;
	for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
		is_int(reads(path, closed[i], path), 0, "mode %04o is closed", (unsigned)closed[i]);
	for (size_t i = 0; i < sizeof open / sizeof *open; i++)
		ok(reads(path, open[i], path) < 0, "mode %04o is open", (unsigned)open[i]);
	if (geteuid() != 0 || setgroups(0, NULL) != 0 || chown(path, 0, NOBODY) != 0) {
		skip("only root lends");
	} else {
		for (size_t i = 0; i < sizeof loan / sizeof *loan; i++)
			is_int(lent(path, loan[i]), 0, "root's of mode %04o is lent to a group", (unsigned)loan[i]);
		for (size_t i = 0; i < sizeof no_loan / sizeof *no_loan; i++)
			ok(lent(path, no_loan[i]) < 0, "but of mode %04o it is open", (unsigned)no_loan[i]);
	}
	unlink(path);
	return done();
}
