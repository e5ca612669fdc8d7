/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile SFTP server against a copy. The first two bytes say what is copied and how, and whether
 * the rest is the server's bytes as they are or what it answers to each request it got.
 */
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "pssh/copy/copy.h"
#include "pssh/pssh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *at;
	size_t len;
};

static unsigned take(struct input *in)
{
	if (!in->len)
		return 0;
	in->len--;
	return *in->at++;
}

static void put32(struct buf *b, uint32_t v)
{
	char c[4] = { (char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v };

	buf_add(b, c, 4);
}

static void put_bytes(struct buf *b, struct input *in, size_t n)
{
	if (n > in->len)
		n = in->len;
	put32(b, (uint32_t)n);
	buf_add(b, in->at, n);
	in->at += n;
	in->len -= n;
}

static void put_attrs(struct buf *b, struct input *in)
{
	static const uint32_t modes[] = { 0100644, 0040755, 0120777, 0010600, 0100000, 0100444, 0, 0140000 };
	unsigned how = take(in);

	put32(b, 0xd & (how >> 4 | 4));
	if ((how >> 4 | 4) & 1) {
		put32(b, how & 8 ? 0xffffffff : 0);
		put32(b, take(in) << (how & 15));
	}
	put32(b, modes[how % 8]);
	if ((how >> 4 | 4) & 8) {
		put32(b, 1);
		put32(b, take(in));
	}
}

/* An answer that fits the request, or nearly. */
static void answer(struct buf *out, struct input *in, unsigned type, uint32_t id, uint32_t asked)
{
	unsigned how = take(in), n;
	struct buf b;

	buf_init(&b, 1 << 20);
	if (how % 8 == 0) {
		buf_addc(&b, 101);
		put32(&b, id + (how == 8));
		put32(&b, how >> 4);
	} else if (type == 3 || type == 11) {
		buf_addc(&b, 102);
		put32(&b, id);
		put_bytes(&b, in, how & 7);
	} else if (type == 5) {
		buf_addc(&b, 103);
		put32(&b, id);
		n = how & 1 ? asked : how;
		put32(&b, n);
		while (n--)
			buf_addc(&b, (char)how);
	} else if (type == 12 || type == 16) {
		buf_addc(&b, 104);
		put32(&b, id);
		n = type == 16 ? 1 : how & 7;
		put32(&b, n);
		while (n--) {
			put_bytes(&b, in, take(in) & 15);
			put32(&b, 0);
			put_attrs(&b, in);
		}
	} else if (type == 7 || type == 8 || type == 17) {
		buf_addc(&b, 105);
		put32(&b, id);
		put_attrs(&b, in);
	} else if (how & 64) {
		buf_addc(&b, (char)201);
		put32(&b, id);
		for (n = 0; n < 88; n++)
			buf_addc(&b, (char)how);
	} else {
		buf_addc(&b, 101);
		put32(&b, id);
		put32(&b, 0);
	}
	put32(out, (uint32_t)b.len);
	buf_add(out, b.data, b.len);
	buf_release(&b);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void answer_all(struct buf *out, struct input *in, const uint8_t *p, size_t len)
{
	while (len) {
		uint32_t n = get32(p);

		if (p[4] == 1) {
			buf_add(out, "\0\0\0\5\2\0\0\0\3", 9);
		} else {
			uint32_t asked = p[4] == 5 ? get32(p + n) : 0;

			answer(out, in, p[4], get32(p + 5), asked > 300000 ? 0 : asked);
		}
		p += 4 + n;
		len -= 4 + n;
	}
}

static void serve(struct copy *c, struct input *in, bool raw)
{
	struct buf out;
	struct fail f;

	buf_init(&out, 8 << 20);
	for (unsigned round = 0; round < 200 && !copy_finished(c); round++) {
		const char *data;
		size_t len, chunk;

		copy_output(c, &data, &len);
		buf_clear(&out);
		if (raw) {
			chunk = 1 + take(in) * 3;
			chunk = chunk < in->len ? chunk : in->len;
			buf_add(&out, in->at, chunk);
			in->at += chunk;
			in->len -= chunk;
		} else {
			answer_all(&out, in, (const uint8_t *)data, len);
		}
		copy_sent(c, len);
		if (copy_checksum_command(c))
			copy_checksum_result(c, round % 3 == 0 ? 0 : -1,
				"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64);
		if (out.len)
			copy_input(c, out.data, out.len, &f);
		if (!out.len && !copy_busy(c) && !in->len)
			break;
	}
	buf_release(&out);
	copy_result(c, &f);
	while (copy_note(c, &f))
		;
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rlimit limit = { 32 << 20, 32 << 20 };
	struct input in = { data, size };
	struct copy_source *s = NULL;
	struct copy *c = NULL;
	struct fail f;
	char dir[] = "/tmp/fuzz-sftp-XXXXXX", path[64];
	unsigned how = take(&in), flags = PSSH_COPY_RECURSIVE | (take(&in) & 0x1f);

	if (!mkdtemp(dir))
		return 0;
	setrlimit(RLIMIT_FSIZE, &limit);
	if (how & 1) {
		snprintf(path, sizeof path, "%s/out", dir);
		copy_new_get(how & 8      ? "d*/n*"
				: how & 2 ? "."
					  : "dir/name",
			how & 4 ? path : dir, flags | (how & 8 ? PSSH_COPY_GLOB : 0), &c, &f);
	} else {
		copy_source_new(how & 2 ? dir : "/etc/passwd", PSSH_COPY_RECURSIVE, &s, &f);
		if (s)
			copy_new_put(s, how & 4 ? "a/b" : "a/", flags, &c, &f);
	}
	if (c)
		serve(c, &in, how & 128);
	copy_free(c);
	copy_source_free(s);
	nftw(dir, forget, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}
