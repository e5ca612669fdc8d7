/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `nanopod-marketd gateway serve`: OpenAI's API before servers on leased nodes, in a process of its own, so that no
 * stream can hold up the ledger. The market says who may pass, and each answer's tokens are on disk before its end
 * leaves.
 */
#ifndef MARKETD_PROXY_PROXYSERVE_H
#define MARKETD_PROXY_PROXYSERVE_H

#include "base/log.h"

/* Until SIGTERM. An exit status: 0 or 1. */
int proxy_run(const char *path, const struct log *log);

#endif
