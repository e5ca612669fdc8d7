/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/provision/rollout/sudoask.h"

#include <errno.h>
#include <stdio.h>

#include "cli/frame/command.h"
#include "cli/frame/prompt.h"

enum { PASSWORD = 1024, QUESTION = 400 };

int sudoask(const char *node, char **out)
{
	char question[QUESTION];
	int rc;

	*out = NULL;
	if (node)
		snprintf(question, sizeof question, "Password of sudo on '%.256s' and the others (not shown): ", node);
	else
		snprintf(question, sizeof question, "Password of sudo on the nodes (not shown): ");
	rc = prompt_hidden(question, PASSWORD, out);
	return rc == -EINTR ? STATUS_INT : STATUS_OK;
}

void sudoask_free(char *password)
{
	prompt_hidden_free(password);
}
