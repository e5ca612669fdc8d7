/* SPDX-License-Identifier: Apache-2.0 */
/* Between np_payments.c and np_topups.c. */
#ifndef MARKETD_API_NP_NP_PAYMENTS_H
#define MARKETD_API_NP_NP_PAYMENTS_H

#include "marketd/api/np/np_schemas.h"

int np_topup(struct api *api, const struct request *q, struct reply *r); /* np_topups.c: the page where one pays */

#endif
