/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain host names in ssh_config and known_hosts files, for completion: a quick look that
 * skips what it does not understand, where libpssh would refuse it.
 */
#ifndef CLI_NODES_HOSTNAMES_H
#define CLI_NODES_HOSTNAMES_H

/* A file that cannot be read has none. Follows Include. The same name may come more than once. */
void hostnames_config(const char *path, void (*found)(void *arg, const char *name), void *arg);

/* Hashed names, patterns and revoked keys are left out; "[h]:2222" comes as "h:2222". */
void hostnames_known(const char *path, void (*found)(void *arg, const char *name), void *arg);

#endif
