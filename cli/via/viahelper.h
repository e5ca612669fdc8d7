/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs on a gateway: reads a job and hosts as frames from standard input, runs the command on them, writes
 * results as frames to standard output, and ends what runs when standard input closes.
 */
#ifndef CLI_VIA_VIAHELPER_H
#define CLI_VIA_VIAHELPER_H

#include "cli/frame/command.h"

/* An exit status. */
int viahelper_run(struct nanopod *np);

#endif
