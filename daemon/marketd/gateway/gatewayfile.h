/* SPDX-License-Identifier: Apache-2.0 */
/* `nanopod-marketd gateway nginx | apisix`: the files of a gateway that asks GET /np/v1/authz before each request. */
#ifndef MARKETD_GATEWAY_GATEWAYFILE_H
#define MARKETD_GATEWAY_GATEWAYFILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/log.h"

struct gateway_job {
	const char *kind; /* "nginx" or "apisix" */
	const char *path; /* backends and the market, in YAML */
	const char *to;   /* replaces this file whole; NULL: prints it */
	bool watch;       /* writes it again as nodes of reservations come and go, until a signal ends it */
	FILE *out;
	const struct log *log;
};

/* An exit status: 0 or 1. */
int gateway_run(const struct gateway_job *job);

#endif
