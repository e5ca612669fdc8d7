/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/remote/outcome.h"

#include <signal.h>
#include <string.h>

#include "cli/frame/command.h"

bool outcome_ended(const struct outcome *o)
{
	return o->state >= OUTCOME_EXIT;
}

bool outcome_ok(const struct outcome *o)
{
	return o->state == OUTCOME_EXIT && o->status == 0;
}

int outcome_signal(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} rows[] = {
		{ "HUP", SIGHUP }, { "INT", SIGINT }, { "QUIT", SIGQUIT }, { "ILL", SIGILL }, { "TRAP", SIGTRAP },
		{ "ABRT", SIGABRT }, { "BUS", SIGBUS }, { "FPE", SIGFPE }, { "KILL", SIGKILL }, { "USR1", SIGUSR1 },
		{ "SEGV", SIGSEGV }, { "USR2", SIGUSR2 }, { "PIPE", SIGPIPE }, { "ALRM", SIGALRM }, { "TERM", SIGTERM },
		{ "XCPU", SIGXCPU }, { "XFSZ", SIGXFSZ }, { "SYS", SIGSYS },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].number;
	return 0;
}

const char *outcome_address(const struct outcome *o)
{
	return o->address ? o->address : pssh_host_address(o->host);
}

const char *outcome_fingerprint(const struct outcome *o)
{
	return o->fingerprint ? o->fingerprint : pssh_host_fingerprint(o->host);
}

int outcome_status(const struct outcome *o)
{
	if (o->state == OUTCOME_EXIT)
		return o->status & 255;
	if (o->state == OUTCOME_SIGNAL)
		return outcome_signal(o->text) ? 128 + outcome_signal(o->text) : STATUS_TRANSPORT;
	return STATUS_TRANSPORT;
}
