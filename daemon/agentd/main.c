/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod-agentd: makes the nodes that were sold of this machine, in one foreground process. Names the drivers. */
#include "agentd/verbs/command_line.h"
#include "agentd/driver.h"

/* Best first. */
static const struct driver *const all[] = {
	&driver_vm, &driver_ns, &driver_process, &driver_host, NULL,
};

int main(int argc, char **argv)
{
	return command_line(argc, argv, all);
}
