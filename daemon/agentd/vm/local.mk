# The vm driver: QEMU.
noinst_LTLIBRARIES += libdrivervm.la
libdrivervm_la_SOURCES = \
	daemon/agentd/vm/accel.c \
	daemon/agentd/vm/accel.h \
	daemon/agentd/vm/archive.c \
	daemon/agentd/vm/archive.h \
	daemon/agentd/vm/bootimage.c \
	daemon/agentd/vm/bootimage.h \
	daemon/agentd/vm/freeze.c \
	daemon/agentd/vm/freeze.h \
	daemon/agentd/vm/guest.c \
	daemon/agentd/vm/guest.h \
	daemon/agentd/vm/guest_identity.c \
	daemon/agentd/vm/guest_identity.h \
	daemon/agentd/vm/initrd.c \
	daemon/agentd/vm/launch.c \
	daemon/agentd/vm/launch.h \
	daemon/agentd/vm/life.c \
	daemon/agentd/vm/life.h \
	daemon/agentd/vm/passthrough.c \
	daemon/agentd/vm/passthrough.h \
	daemon/agentd/vm/qemu.c \
	daemon/agentd/vm/qemu.h \
	daemon/agentd/vm/qmp.c \
	daemon/agentd/vm/qmp.h \
	daemon/agentd/vm/socket.c \
	daemon/agentd/vm/socket.h \
	daemon/agentd/vm/vm.c \
	daemon/agentd/vm/vm.h \
	daemon/agentd/vm/vm_node.c \
	daemon/agentd/vm/vm_node.h \
	daemon/agentd/vm/vm_start.c
libdrivervm_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libdrivervm_la_LIBADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
