/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod-marketd: a market for computers by the minute, as one process in the foreground. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "marketd/gateway/gatewayfile.h"
#include "marketd/policy/vectors.h"
#include "marketd/proxy/proxyserve.h"
#include "marketd/store/maintain.h"
#include "marketd/options.h"
#include "marketd/serve.h"

/* Prints one line per message, whatever is in it. */
static void main_to_stderr(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	fprintf(stderr, "nanopod-marketd: %.*s\n", (int)strcspn(text, "\r\n"), text);
}

int main(int argc, char **argv)
{
	struct log log = { .sink = main_to_stderr };
	struct options o;
	int status = options_read(&o, argc, argv);

	if (status >= 0)
		return status;
	umask(077);
	log.level = o.level;
	if (o.verb && strcmp(o.verb, "policy") == 0) {
		struct vectors how = { o.action, o.path, o.policy, o.json, stdout, stderr };

		return vectors_run(&how);
	}
	if (o.verb && strcmp(o.verb, "gateway") == 0 && strcmp(o.action, "serve") == 0)
		return proxy_run(o.path, &log);
	if (o.verb && strcmp(o.verb, "gateway") == 0) {
		struct gateway_job how = { o.action, o.path, o.out, o.watch, stdout, &log };

		return gateway_run(&how);
	}
	if (o.verb) {
		struct maintain how = { .data = o.database, .path = o.path, .force = o.force, .err = stderr };

		return maintain_run(o.verb, &how);
	}
	return serve(&o, &log);
}
