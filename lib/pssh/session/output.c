/* SPDX-License-Identifier: Apache-2.0 */
#include "pssh/session/output.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void output_init(struct output *o)
{
	*o = (struct output){ .spill = -1 };
	buf_init(&o->held, SIZE_MAX / 2);
}

void output_release(struct output *o)
{
	if (o->map)
		munmap(o->map, o->spilled);
	if (o->spill >= 0)
		close(o->spill);
	buf_release(&o->held);
	output_init(o);
}

static int spill_open(struct output *o, struct fail *f)
{
	char path[] = P_tmpdir "/pssh-XXXXXX";

	o->spill = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (o->spill < 0) {
		o->spill = mkostemp(path, O_CLOEXEC);
		if (o->spill >= 0)
			unlink(path);
	}
	if (o->spill < 0)
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot make a file in '%s' for output", P_tmpdir);
	return 0;
}

static int spill_write(struct output *o, const char *data, size_t len, struct fail *f)
{
	while (len) {
		ssize_t n = write(o->spill, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(f, PSSH_ELOCAL, errno, "cannot keep the output in '%s'", P_tmpdir);
		o->spilled += (uint64_t)n;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

static int output_spill(struct output *o, const char *data, size_t len, struct fail *f)
{
	int rc = o->spill < 0 ? spill_open(o, f) : 0;

	if (!rc && o->held.len) {
		rc = spill_write(o, o->held.data, o->held.len, f);
		buf_release(&o->held);
	}
	return rc ? rc : spill_write(o, data, len, f);
}

/* Drops the oldest bytes, a quarter of the ceiling at a time so that it rarely moves memory. */
static void output_forget(struct output *o, size_t ceiling, size_t len)
{
	size_t over = o->held.len + len - ceiling, step = over > ceiling / 4 ? over : ceiling / 4;

	step = step > o->held.len ? o->held.len : step;
	o->dropped += step;
	buf_drop(&o->held, step);
}

static int output_gather(struct output *o, const struct output_rule *rule, const char *data, size_t len, struct fail *f)
{
	bool over = o->held.len + len > rule->ceiling;

	assert(!o->ended && (!o->spilled || !o->held.len));
	if (rule->policy == PSSH_OVERFLOW_SPILL && (over || o->spill >= 0))
		return output_spill(o, data, len, f);
	if (over) {
		if (len > rule->ceiling) {
			o->dropped += len - rule->ceiling;
			data += len - rule->ceiling;
			len = rule->ceiling;
		}
		output_forget(o, rule->ceiling, len);
	}
	return buf_add(&o->held, data, len) ? fail_set(f, PSSH_ENOMEM, "out of memory") : 0;
}

/* Emits up to the last line end. Of a line longer than the ceiling it emits what has come so far. */
static int output_lines(struct output *o, const struct output_rule *rule, const char *data, size_t len,
	struct buf *join, const char **emit, size_t *emit_len)
{
	const char *end = memrchr(data, '\n', len);
	size_t head = end ? (size_t)(end - data) + 1 : 0;

	if (!end && o->held.len + len > rule->ceiling)
		head = len;
	if (head && !o->held.len) {
		*emit = data;
		*emit_len = head;
	} else if (head) {
		buf_clear(join);
		if (buf_add(join, o->held.data, o->held.len) || buf_add(join, data, head))
			return PSSH_ENOMEM;
		buf_release(&o->held);
		*emit = join->data;
		*emit_len = join->len;
	}
	return len > head && buf_add(&o->held, data + head, len - head) ? PSSH_ENOMEM : 0;
}

int output_feed(struct output *o, const struct output_rule *rule, const char *data, size_t len, struct buf *join,
	const char **emit, size_t *emit_len, struct fail *f)
{
	*emit = "";
	*emit_len = 0;
	if (rule->mode == PSSH_OUTPUT_GATHER)
		return output_gather(o, rule, data, len, f);
	if (rule->mode == PSSH_OUTPUT_LINES)
		return output_lines(o, rule, data, len, join, emit, emit_len)
			? fail_set(f, PSSH_ENOMEM, "out of memory")
			: 0;
	*emit = data;
	*emit_len = len;
	return 0;
}

int output_end(struct output *o, const char **emit, size_t *emit_len, struct fail *f)
{
	*emit = buf_text(&o->held);
	*emit_len = o->held.len;
	o->ended = true;
	if (o->spill < 0 || !o->spilled)
		return 0;
	o->map = mmap(NULL, o->spilled, PROT_READ, MAP_PRIVATE, o->spill, 0);
	if (o->map == MAP_FAILED) {
		o->map = NULL;
		return fail_errno(f, PSSH_ELOCAL, errno, "cannot read the kept output back");
	}
	*emit = o->map;
	*emit_len = o->spilled;
	return 0;
}
