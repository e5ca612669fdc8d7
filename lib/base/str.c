/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <errno.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_among(char *const *list, const char *s)
{
	for (; list && *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

int str_to_long(const char *s, long min, long max, long *out)
{
	char *end;
	long v;

	if (!(*s == '-' || (*s >= '0' && *s <= '9')))
		return -EINVAL;
	errno = 0;
	v = strtol(s, &end, 10);
	if (end == s || *end)
		return -EINVAL;
	if (errno || v < min || v > max)
		return -ERANGE;
	*out = v;
	return 0;
}

static size_t str_min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

size_t str_distance(const char *a, const char *b)
{
	enum { MAX = 64 };
	size_t d[MAX + 1][MAX + 1], n = strlen(a), m = strlen(b);

	if (n > MAX || m > MAX)
		return SIZE_MAX;
	for (size_t i = 0; i <= n; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		for (size_t j = 1; j <= m; j++) {
			d[i][j] = str_min3(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				d[i - 2][j - 2] + 1 < d[i][j])
				d[i][j] = d[i - 2][j - 2] + 1;
		}
	}
	return d[n][m];
}

static char *home_dir(void)
{
	const char *home = getenv("HOME");
	struct passwd pw, *found = NULL;
	char room[4096];

	if (home && *home)
		return strdup(home);
	if (getpwuid_r(getuid(), &pw, room, sizeof room, &found) == 0 && found)
		return strdup(found->pw_dir);
	return NULL;
}

char *str_expand_home(const char *path)
{
	char *home, *out = NULL;

	if (path[0] != '~' || (path[1] && path[1] != '/'))
		return strdup(path);
	home = home_dir();
	if (home && asprintf(&out, "%s%s", home, path + 1) < 0)
		out = NULL;
	free(home);
	return out;
}

bool str_glob(const char *p, const char *s)
{
	const char *star = NULL, *resume = NULL;

	while (*s) {
		if (*p == '*') {
			star = p++;
			resume = s;
		} else if (*p == '?' || *p == *s) {
			p++;
			s++;
		} else if (star) {
			p = star + 1;
			s = ++resume;
		} else {
			return false;
		}
	}
	while (*p == '*')
		p++;
	return !*p;
}

int str_quote_sh(struct buf *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
	int rc;

	if (*s && !s[strspn(s, plain)])
		return buf_adds(b, s);
	rc = buf_addc(b, '\'');
	for (; !rc && *s; s++)
		rc = *s == '\'' ? buf_adds(b, "'\\''") : buf_addc(b, *s);
	return rc ? rc : buf_addc(b, '\'');
}
