/* SPDX-License-Identifier: Apache-2.0 */
/* Words for the command line of the system's ssh, as it reads them: its own quotes, its '%', its URIs. */
#ifndef CLI_REMOTE_OPENSSH_H
#define CLI_REMOTE_OPENSSH_H

#include <stdbool.h>
#include <stddef.h>

/* The results are malloc'd; all exit where memory runs out. */

/* True for "name:port", "[address]:port" and the like with "user@" or "ssh://" in front. */
bool openssh_has_port(const char *spec);

/* How ssh wants the host that `spec` names. */
char *openssh_destination(const char *spec);

/* "-oNAME="VALUE"" for a path: ssh would split it at blanks and expand its '%'. */
char *openssh_path_option(const char *name, const char *path);

/*
 * "-oProxyCommand=ssh …" through each of "a,user@b:22" with the same `count` options. ProxyJump would not do:
 * ssh gives its jump hosts the configuration file alone and none of the options.
 */
char *openssh_jump_option(const char *jumps, char *const *options, size_t count);

#endif
