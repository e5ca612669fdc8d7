/* SPDX-License-Identifier: Apache-2.0 */
/* Runs nanopod-agentd for all of nanopod host, and turns its errors into ours. */
#include <stdlib.h>

#include "cli/local/daemons.h"
#include "cli/cmd/host/host.h"
#include "cli/frame/plan.h"
#include "cli/frame/print.h"

void host_agentd_add(struct host_agentd *a, const char *word)
{
	if (word && a->count + 1 < HOST_WORDS)
		a->words[a->count++] = word;
}

int host_agentd_can_ask(struct nanopod *np, const struct options *o, const char *verb)
{
	if (option_given(o, "explain"))
		return print_fail_field(np, STATUS_USAGE, "--explain", "'--dry-run' only shows the plan",
			"cannot explain 'host %s': the agent on this machine sends its requests", verb);
	return plan_can_ask(np, o);
}

int host_agentd_find(struct nanopod *np, const struct options *o, struct host_agentd *out)
{
	struct fail f = { 0 };

	*out = (struct host_agentd){ .program = agentd_find(AGENTD, &f) };
	if (!out->program)
		return print_fail(np, STATUS_NOTFOUND, "install it or add it to PATH", "cannot do that here: %s",
			f.text);
	for (size_t i = 0; i < 2; i++) {
		static const char *const names[] = { "data", "sysfs-root" },
					 *const flags[] = { "--data", "--sysfs-root" };

		if (option_given(o, names[i])) {
			host_agentd_add(out, flags[i]);
			host_agentd_add(out, option_text(o, names[i]));
		}
	}
	return 0;
}

void host_agentd_release(struct host_agentd *a)
{
	free(a->program);
	a->program = NULL;
}

/* Its exit status where we have the same one, else a failure. */
static enum status host_agent_status_of(int status)
{
	static const enum status all[] = {
#define STATUS_X(name, status, code, retryable, text) name,
		STATUSES(STATUS_X)
#undef STATUS_X
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if ((int)all[i] == status)
			return all[i];
	return STATUS_FAILURE;
}

int host_agentd_run(struct nanopod *np, const struct host_agentd *a, const char *const *env, struct buf *out,
	int64_t deadline_ms, const char *what)
{
	struct agentd_call call = { .program = a->program,
		.words = a->words,
		.env = env,
		.out = out,
		.deadline_ms = deadline_ms };
	struct fail f = { 0 };
	struct buf said;
	int status = 0, rc;

	buf_init(&said, HOST_SAID_MAX);
	call.err = what ? &said : NULL;
	fflush(np->out);
	rc = agentd_run(&call, &status, &f);
	if (rc)
		status = print_fail(np, STATUS_FAILURE, NULL, "%s: %s", what ? what : "cannot do that here", f.text);
	else if (status && !what)
		status = print_fail(np, host_agent_status_of(status), NULL,
			"nothing was changed; see the reason above");
	else if (status && status != STATUS_CHECK)
		status = print_fail(np, host_agent_status_of(status), NULL, "%s: %s", what,
			*agentd_last_line(&said) ? agentd_last_line(&said) : "nanopod-agentd did not say why");
	buf_release(&said);
	return status;
}
