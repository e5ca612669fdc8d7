# daemon/agentd: what makes sold time real on a machine. Each part is a convenience library, for its tests.
include daemon/agentd/driverproc.mk
include daemon/agentd/driverns.mk
include daemon/agentd/drivervm.mk
include daemon/agentd/inventory.mk
include daemon/agentd/agent.mk
