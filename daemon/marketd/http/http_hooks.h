/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that libmicrohttpd calls, for http.c, which registers them. Include <microhttpd.h> first. */
#ifndef MARKETD_HTTP_HTTP_HOOKS_H
#define MARKETD_HTTP_HTTP_HOOKS_H

#include "marketd/http/http_own.h"

void hook_connection(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_ConnectionNotificationCode what);
enum MHD_Result hook_request(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
	const char *version, const char *data, size_t *len, void **context);
void hook_completed(void *cls, struct MHD_Connection *mhd, void **context, enum MHD_RequestTerminationCode how);

#endif
