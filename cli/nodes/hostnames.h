/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists plain host names of ssh_config and known_hosts files for completion. It skips what it does not
 * understand, where libpssh would refuse the file.
 */
#ifndef CLI_NODES_HOSTNAMES_H
#define CLI_NODES_HOSTNAMES_H

/* An unreadable file has none. Follows Include. A name may come more than once. */
void hostnames_config(const char *path, void (*found)(void *arg, const char *name), void *arg);

/* Leaves out hashed names, patterns and revoked keys; "[h]:2222" comes as "h:2222". */
void hostnames_known(const char *path, void (*found)(void *arg, const char *name), void *arg);

#endif
