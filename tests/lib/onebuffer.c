/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: libmicrohttpd 1.0's way to answer questions about a connection, on top of any release. All answers
 * come in one buffer, so that the next question overwrites the last answer.
 */
#include <microhttpd.h>

#include <dlfcn.h>
#include <stddef.h>

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
	enum MHD_ConnectionInfoType what, ...)
{
	static union MHD_ConnectionInfo buffer;
	const union MHD_ConnectionInfo *(*next)(struct MHD_Connection *, enum MHD_ConnectionInfoType, ...);
	const union MHD_ConnectionInfo *info;

	*(void **)&next = dlsym(RTLD_NEXT, "MHD_get_connection_info");
	info = next ? next(connection, what) : NULL;
	if (!info)
		return NULL;
	buffer = *info;
	return &buffer;
}
