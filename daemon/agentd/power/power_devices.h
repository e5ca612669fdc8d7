/* SPDX-License-Identifier: Apache-2.0 */
/* All devices of this machine whose power counts. root: as in inventory.h. Both may block for seconds. */
#ifndef AGENTD_POWER_POWER_DEVICES_H
#define AGENTD_POWER_POWER_DEVICES_H

#include "agentd/power/device.h"

/* Finds all of them and reads each once. At most POWER_DEVICES; returns their number. */
size_t power_find(const char *root, struct power_device list[POWER_DEVICES]);

/* Reads enforced and draw of all again. */
void power_read(const char *root, struct power_device *list, size_t count);

#endif
