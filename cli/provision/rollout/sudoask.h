/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the person for the password of sudo on the nodes, on the terminal, without showing it. */
#ifndef CLI_PROVISION_ROLLOUT_SUDOASK_H
#define CLI_PROVISION_ROLLOUT_SUDOASK_H

/*
 * node: the one that wants it, NULL: nobody yet. STATUS_OK with *out NULL where there is no terminal; STATUS_INT on
 * Ctrl-C where signals are caught.
 */
int sudoask(const char *node, char **out);
void sudoask_free(char *password);   /* wipes */

#endif
