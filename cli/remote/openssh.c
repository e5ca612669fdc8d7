/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/openssh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/frame/command.h"

enum { OPTION_MAX = 100000 };

bool openssh_has_port(const char *spec)
{
	const char *bare = str_starts(spec, "ssh://") ? spec + 6 : spec, *at = strrchr(bare, '@');
	const char *name = at ? at + 1 : bare, *colon = strrchr(name, ':');

	return colon && (colon == strchr(name, ':') || (colon > name && colon[-1] == ']'));
}

char *openssh_destination(const char *spec)
{
	bool uri = openssh_has_port(spec) && !str_starts(spec, "ssh://");
	char *text;

	if (asprintf(&text, "%s%s", uri ? "ssh://" : "", spec) < 0)
		command_nomem();
	return text;
}

char *openssh_path_option(const char *name, const char *path)
{
	struct buf b;
	int rc;

	buf_init(&b, OPTION_MAX);
	rc = buf_addf(&b, "-o%s=\"", name);
	for (; *path; path++)
		rc |= strchr("\"\\", *path) ? buf_addf(&b, "\\%c", *path)
			: *path == '%'      ? buf_adds(&b, "%%")
					    : buf_addc(&b, *path);
	if (rc | buf_addc(&b, '"'))
		command_nomem();
	return buf_steal(&b);
}

/* Adds a word of a ProxyCommand: ssh expands its '%', then a shell reads it. */
static void openssh_proxy_word(struct buf *b, const char *word)
{
	struct buf doubled;

	buf_init(&doubled, OPTION_MAX);
	for (; *word; word++)
		if (buf_adds(&doubled, *word == '%' ? "%%" : (char[]){ *word, '\0' }) != 0)
			command_nomem();
	if (str_quote_sh(b, buf_text(&doubled)) != 0 || buf_addc(b, ' ') != 0)
		command_nomem();
	buf_release(&doubled);
}

char *openssh_jump_option(const char *jumps, char *const *options, size_t count)
{
	char *inner = NULL;

	while (*jumps) {
		size_t len = strcspn(jumps, ",");
		char *hop = strndup(jumps, len), *to = hop ? openssh_destination(hop) : NULL;
		struct buf b;

		buf_init(&b, OPTION_MAX);
		if (!to || buf_adds(&b, "-oProxyCommand=ssh ") != 0)
			command_nomem();
		for (size_t i = 0; i < count; i++)
			openssh_proxy_word(&b, options[i]);
		if (inner)
			openssh_proxy_word(&b, inner);
		if (buf_adds(&b, "-W '[%h]:%p' -- ") != 0)
			command_nomem();
		openssh_proxy_word(&b, to);
		free(inner);
		inner = buf_steal(&b);
		free(hop);
		free(to);
		jumps += len + (jumps[len] == ',');
	}
	return inner;
}
