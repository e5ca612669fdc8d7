# The hardware of this machine, its health, and whether it is as good as it claims.
noinst_LTLIBRARIES += libinventory.la
libinventory_la_SOURCES = \
	daemon/agentd/machine/capacity.c \
	daemon/agentd/machine/capacity.h \
	daemon/agentd/machine/challenge_check.c \
	daemon/agentd/machine/challenge_check.h \
	daemon/agentd/machine/gauges.c \
	daemon/agentd/machine/gauges.h \
	daemon/agentd/machine/gpu.c \
	daemon/agentd/machine/gpu.h \
	daemon/agentd/machine/gpu_bandwidth.c \
	daemon/agentd/machine/gpu_challenge.c \
	daemon/agentd/machine/gpu_challenge.h \
	daemon/agentd/machine/gpu_table.c \
	daemon/agentd/machine/gpuchild.c \
	daemon/agentd/machine/gpuchild.h \
	daemon/agentd/machine/health.c \
	daemon/agentd/machine/health.h \
	daemon/agentd/machine/health_report.c \
	daemon/agentd/machine/health_report.h \
	daemon/agentd/machine/inventory.c \
	daemon/agentd/machine/inventory.h \
	daemon/agentd/machine/inventory_match.c \
	daemon/agentd/machine/inventory_show.c \
	daemon/agentd/machine/iommu.c \
	daemon/agentd/machine/iommu.h \
	daemon/agentd/machine/nvml.c \
	daemon/agentd/machine/nvml.h \
	daemon/agentd/machine/nvml_mig.c \
	daemon/agentd/machine/nvml_mig.h \
	daemon/agentd/machine/nvml_processes.c \
	daemon/agentd/machine/nvml_processes.h \
	daemon/agentd/machine/opencl.c \
	daemon/agentd/machine/opencl.h \
	daemon/agentd/machine/opencl_challenge.c \
	daemon/agentd/machine/opencl_challenge.h \
	daemon/agentd/machine/pci.c \
	daemon/agentd/machine/pci.h \
	daemon/agentd/machine/probe.c \
	daemon/agentd/machine/probe.h \
	daemon/agentd/machine/speed.c \
	daemon/agentd/machine/speed.h \
	daemon/agentd/machine/speed_small.c \
	daemon/agentd/machine/sysfs.c \
	daemon/agentd/machine/sysfs.h \
	daemon/agentd/machine/verify/verify.c \
	daemon/agentd/machine/verify/verify.h \
	daemon/agentd/machine/verify/verify_device.c \
	daemon/agentd/machine/verify/verify_device.h \
	daemon/agentd/machine/verify/verify_gpu.c \
	daemon/agentd/machine/verify/verify_links.c \
	daemon/agentd/machine/verify/verify_machine.c \
	daemon/agentd/machine/verify/verify_opencl.c \
	daemon/agentd/machine/verify/verify_part.c \
	daemon/agentd/machine/verify/verify_part.h \
	daemon/agentd/machine/verify/verify_ssh.c \
	daemon/agentd/machine/xid.c \
	daemon/agentd/machine/xid.h
libinventory_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libinventory_la_LIBADD = libos.la libmarket.la libbase.la $(JANSSON_LIBS)
