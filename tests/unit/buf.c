/* SPDX-License-Identifier: Apache-2.0 */
/* lib/base/buf.c: growth, ceilings, and that a failure adds nothing. */
#include "base/buf.h"

#include <errno.h>
#include <unistd.h>

#include "../lib/tap.h"

static void test_text(void)
{
	struct buf b;
	char *mine;

	buf_init(&b, 1000);
	is_str(buf_text(&b), "", "a new buffer is an empty text");
	is_int(buf_adds(&b, "abc"), 0, "text is added");
	is_int(buf_addc(&b, 'd'), 0, "a character");
	is_int(buf_addf(&b, "%d-%s", 42, "x"), 0, "formatted text");
	is_str(buf_text(&b), "abcd42-x", "one after the other");
	buf_drop(&b, 2);
	is_str(buf_text(&b), "cd42-x", "the first bytes are dropped");
	buf_cut(&b, 2);
	is_str(buf_text(&b), "cd", "the last are cut");
	buf_cut(&b, 50);
	is_str(buf_text(&b), "cd", "cutting beyond the end does nothing");
	is_int(buf_add(&b, "a\0b", 3), 0, "bytes with a NUL");
	ok(b.len == 5 && memcmp(b.data, "cda\0b", 6) == 0, "are kept, and a NUL follows");
	buf_drop(&b, 99);
	is_int(b.len, 0, "dropping more than there is empties");
	buf_adds(&b, "left");
	mine = buf_steal(&b);
	is_str(mine, "left", "the text is handed over");
	ok(!b.data && !b.len, "and the buffer is empty");
	free(mine);
	mine = buf_steal(&b);
	is_str(mine, "", "an empty buffer gives an empty text");
	free(mine);
	buf_adds(&b, "x");
	buf_clear(&b);
	ok(b.len == 0 && b.cap && *b.data == '\0', "cleared: empty, memory kept");
	buf_release(&b);
	ok(!b.data && b.max == 1000, "released: the ceiling stays");
}

static void test_ceiling(void)
{
	struct buf b;
	int rc = 0, added = 0;

	buf_init(&b, 10);
	is_int(buf_adds(&b, "0123456789"), 0, "up to the ceiling");
	is_int(buf_addc(&b, 'x'), -EFBIG, "not beyond");
	is_str(buf_text(&b), "0123456789", "and nothing is added");
	is_int(buf_add(&b, "", 0), 0, "nothing fits always");
	buf_cut(&b, 8);
	is_int(buf_adds(&b, "abc"), -EFBIG, "three do not fit where two do");
	is_int(buf_adds(&b, "ab"), 0, "two do");
	is_int(buf_reserve(&b, (size_t)-1), -EFBIG, "no size is too large to refuse");
	buf_release(&b);
	buf_init(&b, 100000);
	while (!(rc = buf_adds(&b, "1234567")))
		added++;
	is_int(rc, -EFBIG, "growing ends at the ceiling");
	is_int(added, 100000 / 7, "and not before");
	is_int(b.len, added * 7, "with all that was added");
	buf_release(&b);
}

static void test_files(void)
{
	char path[] = "/tmp/nanopod-buf-XXXXXX", chunk[20000];
	int fd = mkstemp(path);
	struct buf b;

	if (fd < 0)
		abort();
	memset(chunk, 'q', sizeof chunk);
	if (write(fd, chunk, sizeof chunk) != (ssize_t)sizeof chunk || write(fd, chunk, sizeof chunk) < 0)
		abort();
	close(fd);
	buf_init(&b, 40000);
	is_int(buf_read_file(&b, path), 0, "a file");
	is_int(b.len, 40000, "whole");
	buf_release(&b);
	buf_init(&b, 39999);
	is_int(buf_read_file(&b, path), -EFBIG, "a file above the ceiling");
	buf_release(&b);
	unlink(path);
	is_int(buf_read_file(&b, path), -ENOENT, "a file that is not there");
	is_int(buf_read_file(&b, "/"), -EISDIR, "a folder");
	buf_release(&b);
}

int main(void)
{
	plan_none;
	test_text();
	test_ceiling();
	test_files();
	return done();
}
