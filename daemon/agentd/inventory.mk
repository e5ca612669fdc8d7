# What this machine has, how it is, and whether it is as good as it says.
noinst_LTLIBRARIES += libinventory.la
libinventory_la_SOURCES = \
	daemon/agentd/gpu.c daemon/agentd/gpu.h \
	daemon/agentd/gpu_challenge.c daemon/agentd/gpu_challenge.h \
	daemon/agentd/gpu_table.c \
	daemon/agentd/gpuchild.c daemon/agentd/gpuchild.h \
	daemon/agentd/health.c daemon/agentd/health.h \
	daemon/agentd/inventory.c daemon/agentd/inventory.h \
	daemon/agentd/inventory_match.c \
	daemon/agentd/inventory_show.c \
	daemon/agentd/nvml.c daemon/agentd/nvml.h \
	daemon/agentd/pci.c daemon/agentd/pci.h \
	daemon/agentd/speed.c daemon/agentd/speed.h \
	daemon/agentd/sysfs.c daemon/agentd/sysfs.h \
	daemon/agentd/verify.c daemon/agentd/verify.h \
	daemon/agentd/verify_gpu.c \
	daemon/agentd/verify_machine.c \
	daemon/agentd/verify_part.c daemon/agentd/verify_part.h \
	daemon/agentd/verify_ssh.c
libinventory_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libinventory_la_LIBADD = libbase.la $(JANSSON_LIBS)
