/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of the sockets of a user's keepers, one for each kept connection. A name has the key of
 * its connection and a number, as there may be several of one key. Sockets that nobody listens on any
 * more are removed by whoever finds them.
 */
#ifndef PSSH_KEEP_KEEPFOLDER_H
#define PSSH_KEEP_KEEPFOLDER_H

#include "base/fail.h"
#include "pssh/keep/keepkey.h"

enum { KEEPFOLDER_SLOTS = 4, KEEPFOLDER_NAME = KEEPKEY_NAME + 8 };

/* Makes it if it does not exist. 0; or PSSH_ELOCAL: above all, it is another user's or others may write to it. */
int keepfolder_open(const char *path, int *fd, struct fail *f);

/* A socket to whoever listens on that name, if that is the same user; or -1. */
int keepfolder_connect(int folder, const char *name);
/* The same for one of a key's sockets. */
int keepfolder_find(int folder, const char *key, unsigned slot);

/* Removes what a keeper left that died before its socket had a name: nobody else would look at it. */
void keepfolder_sweep(int folder, const char *name);

/* Listens on a free name of that key. 0, or -1: there is none. */
int keepfolder_listen(int folder, const char *key, char name[KEEPFOLDER_NAME], int *fd);

#endif
