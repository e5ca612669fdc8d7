# GPUs for nodes: what each needs inside (CDI files, or what the kernel shows), which host has which, and its health.
noinst_LTLIBRARIES += libdevice.la
libdevice_la_SOURCES = \
	daemon/agentd/device/cdi.c \
	daemon/agentd/device/cdi.h \
	daemon/agentd/device/cdi_write.c \
	daemon/agentd/device/gpu_book.c \
	daemon/agentd/device/gpu_book.h \
	daemon/agentd/device/gpu_holders.c \
	daemon/agentd/device/gpu_holders.h \
	daemon/agentd/device/gpu_needs.c \
	daemon/agentd/device/gpu_needs.h \
	daemon/agentd/device/gpu_nodes.c \
	daemon/agentd/device/gpu_nodes.h \
	daemon/agentd/device/gpu_reset.c \
	daemon/agentd/device/gpu_reset.h \
	daemon/agentd/device/gpu_slices.c \
	daemon/agentd/device/gpu_slices.h \
	daemon/agentd/device/guest_gpus.c \
	daemon/agentd/device/guest_gpus.h \
	daemon/agentd/device/host_gpus.c \
	daemon/agentd/device/host_gpus.h \
	daemon/agentd/device/host_gpus_fix.c \
	daemon/agentd/device/hosthealth.c \
	daemon/agentd/device/hosthealth.h \
	daemon/agentd/device/vfio.c \
	daemon/agentd/device/vfio.h
libdevice_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libdevice_la_LIBADD = libinventory.la libos.la libconf.la libbase.la $(JANSSON_LIBS)
