/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/frame/localdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

char *localdir_path(const char *name)
{
	const char *xdg = getenv("XDG_DATA_HOME");
	char *base = xdg && *xdg == '/' ? strdup(xdg) : str_expand_home("~/.local/share"), *path = NULL;

	if (base && asprintf(&path, "%s/nanopod/local%s%s", base, *name ? "/" : "", name) < 0)
		path = NULL;
	free(base);
	return path;
}
