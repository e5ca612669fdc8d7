/* SPDX-License-Identifier: Apache-2.0 */
/* nanopod-agentd: makes what was sold of this machine real, as one process in the foreground. Names the drivers and the verbs. */
#include "agentd/command_line.h"
#include "agentd/driver.h"

/* Best first. */
static const struct driver *const all[] = {
	&driver_vm, &driver_ns, &driver_process, &driver_host, NULL,
};

int main(int argc, char **argv)
{
	return command_line(argc, argv, all);
}
