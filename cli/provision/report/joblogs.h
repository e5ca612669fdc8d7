/* SPDX-License-Identifier: Apache-2.0 */
/* Which files a job of Slurm writes, and on which node they are: asked of the controller, then of the nodes. */
#ifndef CLI_PROVISION_REPORT_JOBLOGS_H
#define CLI_PROVISION_REPORT_JOBLOGS_H

#include "cli/remote/connect.h"
#include "cli/provision/report/clusterlogs.h"

/* Puts the output files of "job/ID" ("12", "12_3") into c. follow: a job that waits is waited for. An exit status. */
int joblogs_find(struct nanopod *np, struct connect *connect, struct clusterlogs *c, const char *word, bool follow);

#endif
