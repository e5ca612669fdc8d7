/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in as a person, at the issuer of identities that the market names. */
#ifndef CLI_CMD_PEOPLE_LOGIN_PERSON_H
#define CLI_CMD_PEOPLE_LOGIN_PERSON_H

#include "cli/trade/market_link.h"

/* Whether the market names an issuer: 1, 0, or an exit status below 0 (negated) after saying why. */
int login_issuer(struct market_link *m);

/*
 * Shows where to type which code, waits until the person did, and takes a token of the market. invite: the code of an
 * invitation; account: the name of the account that a first sign-in makes; NULL. *token is malloc'd. An exit status.
 */
int login_person(struct market_link *m, const char *invite, const char *account, char **token);

#endif
