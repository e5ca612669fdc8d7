/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the controller which files a Slurm job writes, then the nodes who has them. */
#ifndef CLI_PROVISION_REPORT_JOBLOGS_H
#define CLI_PROVISION_REPORT_JOBLOGS_H

#include "cli/remote/connect.h"
#include "cli/provision/report/clusterlogs.h"

/*
 * Adds the output files of "job/ID" ("12", "12_3") to c. follow: wait for a job that has not started. An exit status.
 */
int joblogs_find(struct nanopod *np, struct connect *connect, struct clusterlogs *c, const char *word, bool follow);

#endif
