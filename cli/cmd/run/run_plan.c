/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/run/run_plan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "cli/frame/json.h"
#include "cli/frame/print.h"
#include "cli/remote/select.h"

enum { PLAN_NAMES = 400, PLAN_LABEL = 40, PLAN_LINE = 1 << 20 };

static int plan_random(uint64_t *out)
{
	return getrandom(out, sizeof *out, 0) == (ssize_t)sizeof *out ? 0 : -1;
}

int run_plan_pick(struct nanopod *np, struct pssh_list **list, size_t n)
{
	size_t count = pssh_list_count(*list), picked = 0;
	const char **names = calloc(n < count ? n + 1 : 1, sizeof *names);
	struct pssh_list *some;
	uint64_t number;
	char *folded;
	int status, rc = 0;

	if (!names)
		command_nomem();
	if (n >= count) {
		free(names);
		return STATUS_OK;
	}
	status = select_new(np, &some);
	/* Each host with the chance that makes all choices equally likely. */
	for (size_t i = 0; !status && !rc && picked < n; i++) {
		rc = plan_random(&number);
		if (rc || number % (count - i) >= n - picked)
			continue;
		names[picked++] = pssh_list_get(*list, i);
		rc = pssh_list_add(some, pssh_list_get(*list, i));
	}
	if (!status && rc)
		status = print_fail_field(np, STATUS_FAILURE, "--pick", NULL, "cannot pick hosts: %s",
			*pssh_list_error(some) ? pssh_list_error(some) : "the system gives no random bytes");
	if (!status) {
		folded = select_fold_names(names, picked, PLAN_NAMES);
		print_note(np, "picked %s", folded);
		free(folded);
		pssh_list_free(*list);
		*list = some;
	} else {
		pssh_list_free(some);
	}
	free(names);
	return status;
}

static void plan_json(struct nanopod *np, struct buf *line, const char *name, const char *command)
{
	struct json j = json_to(line);

	json_begin_object(&j, NULL);
	json_text(&j, "host", name);
	json_text(&j, "command", command);
	json_end(&j);
	if (j.error)
		command_nomem();
	fwrite(buf_text(line), 1, line->len, np->out);
}

int run_plan_show(struct nanopod *np, const struct pssh_list *hosts, const struct perhost *p, const char *user)
{
	size_t count = pssh_list_count(hosts), width = 0;
	bool json = np->format == FORMAT_JSON, lines = np->format == FORMAT_JSONL;
	struct buf command, line;
	struct fail f = { 0 };
	int status = STATUS_OK;

	buf_init(&command, PLAN_LINE);
	buf_init(&line, 8 * PLAN_LINE);
	for (size_t i = 0; i < count; i++) {
		size_t n = print_width(pssh_list_get(hosts, i));

		width = n > width && n <= PLAN_LABEL ? n : width;
	}
	if (json)
		fputc('[', np->out);
	for (size_t i = 0; !status && i < count; i++) {
		const char *name = pssh_list_get(hosts, i);

		buf_clear(&command);
		buf_clear(&line);
		if (user && buf_addf(&command, strcmp(user, "root") == 0 ? "sudo " : "sudo -u %s ", user) != 0)
			command_nomem();
		if (perhost_fill(p, name, &command, &f) != 0) {
			status = print_fail(np, STATUS_USAGE, NULL, "%s", f.text);
		} else if (json || lines) {
			fputs(json && i ? ",\n" : "", np->out);
			plan_json(np, &line, name, command.data);
			fputs(lines ? "\n" : "", np->out);
		} else {
			fprintf(np->out, "%s:%*s %s\n", name,
				(int)(width > print_width(name) ? width - print_width(name) : 0), "", command.data);
		}
	}
	if (json)
		fputs("]\n", np->out);
	buf_release(&command);
	buf_release(&line);
	if (!status)
		print_note(np, "%zu host%s, nothing was started", count, count == 1 ? "" : "s");
	return status;
}
