/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/script.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/str.h"

enum { LONGEST_INTERPRETER = 1024 };

int script_join(char *const *words, struct buf *out)
{
	int rc = 0;

	for (size_t i = 0; !rc && words[i]; i++) {
		if (i)
			rc = buf_addc(out, ' ');
		if (!rc)
			rc = buf_adds(out, words[i]);
	}
	return rc;
}

/* "#! /usr/bin/env -S python3 -u": a program and the rest as one argument, as the kernel reads it. */
static int add_interpreter(const struct buf *content, struct buf *out)
{
	char line[LONGEST_INTERPRETER];
	const char *end = memchr(content->data, '\n', content->len);
	size_t n = end ? (size_t)(end - content->data) : content->len, program;
	char *p, *rest;
	int rc;

	if (n >= sizeof line)
		return -EINVAL;
	memcpy(line, content->data, n);
	line[n] = '\0';
	while (n > 2 && (line[n - 1] == ' ' || line[n - 1] == '\t' || line[n - 1] == '\r'))
		line[--n] = '\0';
	p = line + 2 + strspn(line + 2, " \t");
	if (!*p)
		return -EINVAL;
	program = strcspn(p, " \t");
	rest = p + program;
	if (*rest) {
		*rest++ = '\0';
		rest += strspn(rest, " \t");
	}
	rc = str_quote_sh(out, p);
	if (!rc && *rest)
		rc = buf_addc(out, ' ');
	if (!rc && *rest)
		rc = str_quote_sh(out, rest);
	return rc;
}

/*
 * The shell opens the file, removes its name, and only then fills it, so no file stays whatever happens. It runs
 * the script only if all of it arrived. The person's shell there may be of any kind, so it gets one line that
 * calls sh.
 */
int script_command(const char *path, char *const *arguments, struct buf *content, struct buf *command, struct fail *f)
{
	struct buf inner;
	int rc = buf_read_file(content, path);

	if (rc == -EFBIG)
		return fail_set(f, rc, "'%s' is too large for a script; copy it with 'nanopod cp' and run it there",
			path);
	if (rc)
		return fail_set(f, rc, "cannot read '%s': %s", path, strerror(-rc));
	if (!content->len)
		return fail_set(f, -EINVAL, "'%s' is empty", path);
	buf_init(&inner, 1 << 20);
	rc = buf_addf(&inner,
		"f=$(mktemp \"${TMPDIR:-/tmp}/nanopod.XXXXXXXXXX\")&&exec 8>\"$f\" 9<\"$f\"&&chmod 700 \"$f\"&&rm -f "
		"\"$f\"&&"
		"head -c %zu >&8&&exec 8>&-&&[ $(wc -c </dev/fd/9) -eq %zu ]||"
		"{ echo \"nanopod: the script did not arrive\" >&2;exit 126;};exec ",
		content->len, content->len);
	if (!rc && content->len > 2 && memcmp(content->data, "#!", 2) == 0) {
		rc = add_interpreter(content, &inner);
		if (rc == -EINVAL) {
			buf_release(&inner);
			return fail_set(f, rc, "the first line of '%s' names no interpreter", path);
		}
	} else if (!rc && (content->len < 4 || memcmp(content->data, "\177ELF", 4) != 0)) {
		rc = buf_adds(&inner, "/bin/sh");
	}
	if (!rc)
		rc = buf_adds(&inner, " /dev/fd/9 \"$@\"");
	if (!rc)
		rc = buf_adds(command, "exec /bin/sh -c ");
	if (!rc)
		rc = str_quote_sh(command, inner.data);
	if (!rc)
		rc = buf_addc(command, ' ');
	if (!rc)
		rc = str_quote_sh(command, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	for (size_t i = 0; !rc && arguments[i]; i++) {
		rc = buf_addc(command, ' ');
		if (!rc)
			rc = str_quote_sh(command, arguments[i]);
	}
	buf_release(&inner);
	return rc ? fail_set(f, rc, "the command is too long") : 0;
}
