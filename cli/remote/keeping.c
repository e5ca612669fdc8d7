/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/keeping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "cli/frame/print.h"
#include "cli/frame/settings.h"

char *keeping_folder(bool make)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char *path = NULL;

	if (run && *run == '/' && access(run, W_OK) == 0) {
		if (asprintf(&path, "%s/nanopod", run) < 0)
			path = NULL;
	} else {
		path = str_expand_home("~/.local/state/nanopod/keep");
	}
	if (!path)
		command_nomem();
	if (make) {
		file_folders(path); /* pssh_set_keep says it if that failed */
	} else if (access(path, F_OK) != 0) {
		free(path);
		path = NULL;
	}
	return path;
}

void keeping_apply(struct nanopod *np, struct pssh *fleet)
{
	int64_t ms = settings_ms(np->settings, SETTING_ID_KEEP);
	char *folder;

	if (!ms)
		return;
	folder = keeping_folder(true);
	if (pssh_set_keep(fleet, folder, (unsigned)((ms + 999) / 1000)) != 0)
		print_warn(np, "connections are not kept: %s", pssh_error(fleet));
	free(folder);
}

int keeping_list(struct nanopod *np, bool stop, struct pssh_kept **list, size_t *count, size_t *silent)
{
	char *folder = keeping_folder(false);
	struct pssh *fleet;
	size_t quiet = 0;
	int rc;

	*list = NULL;
	*count = 0;
	if (!folder)
		return STATUS_OK;
	if (pssh_new(&fleet) != 0)
		command_nomem();
	rc = pssh_set_keep(fleet, folder, 0);
	if (!rc)
		rc = (stop ? pssh_keep_stop : pssh_keep_list)(fleet, list, count, &quiet);
	if (rc)
		rc = print_fail(np, STATUS_FAILURE, NULL, "%s", pssh_error(fleet));
	else if (silent)
		*silent = quiet;
	else if (quiet && stop)
		print_warn(np, "ended the keeper of %zu connection%s, which did not answer", quiet,
			quiet == 1 ? "" : "s");
	else if (quiet)
		print_warn(np, "%zu kept connection%s: the keeper does not answer; end it: nanopod keep stop", quiet,
			quiet == 1 ? "" : "s");
	pssh_free(fleet);
	free(folder);
	return rc;
}
