/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network side of the agent: a process that has neither root nor the agent's key. It alone loads libcurl and TLS,
 * and carries one request at a time to the market.
 */
#ifndef AGENTD_MARKET_HTTP_MAIN_H
#define AGENTD_MARKET_HTTP_MAIN_H

/* `nanopod-agentd http`, as http_child.c starts it. Returns the exit status where a person started it. */
int http_main(void);

#endif
