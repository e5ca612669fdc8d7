# What drivers need of the system: running programs, control groups, processes, mounts, files.
noinst_LTLIBRARIES += libos.la
libos_la_SOURCES = \
	daemon/agentd/os/cgroup_cores.c \
	daemon/agentd/os/cgroup.c \
	daemon/agentd/os/cgroup.h \
	daemon/agentd/os/cgroup_part.h \
	daemon/agentd/os/cgroup_use.c \
	daemon/agentd/os/cgroup_path.c \
	daemon/agentd/os/confine.c \
	daemon/agentd/os/confine.h \
	daemon/agentd/os/device_guard.c daemon/agentd/os/device_guard.h daemon/agentd/os/devices.c \
	daemon/agentd/os/devices.h daemon/agentd/os/disk.c daemon/agentd/os/disk.h \
	daemon/agentd/os/node_hostkey.c \
	daemon/agentd/os/node_hostkey.h \
	daemon/agentd/os/gpu_turn.c \
	daemon/agentd/os/gpu_turn.h \
	daemon/agentd/os/job.c \
	daemon/agentd/os/job.h \
	daemon/agentd/os/opening.c \
	daemon/agentd/os/opening.h \
	daemon/agentd/os/kept_volumes.c \
	daemon/agentd/os/kept_volumes.h \
	daemon/agentd/os/statefile.c \
	daemon/agentd/os/statefile.h \
	daemon/agentd/os/mount.c \
	daemon/agentd/os/mount.h \
	daemon/agentd/os/pci_function.c \
	daemon/agentd/os/pci_function.h \
	daemon/agentd/os/port.c \
	daemon/agentd/os/port.h \
	daemon/agentd/os/proctree.c \
	daemon/agentd/os/proctree.h \
	daemon/agentd/os/spawn.c \
	daemon/agentd/os/spawn.h \
	daemon/agentd/os/throttle.c \
	daemon/agentd/os/throttle.h \
	daemon/agentd/os/vendor_calls.c \
	daemon/agentd/os/vendor_calls.h \
	daemon/agentd/os/wipe.c \
	daemon/agentd/os/wipe.h
libos_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libos_la_LIBADD = libbase.la $(JANSSON_LIBS)
