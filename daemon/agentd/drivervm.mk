# The vm driver: QEMU.
noinst_LTLIBRARIES += libdrivervm.la
libdrivervm_la_SOURCES = \
	daemon/agentd/driver_vm.c daemon/agentd/driver_vm.h \
	daemon/agentd/driver_vm_start.c \
	daemon/agentd/qmp.c daemon/agentd/qmp.h \
	daemon/agentd/vmaccel.c daemon/agentd/vmaccel.h \
	daemon/agentd/vmarchive.c daemon/agentd/vmarchive.h \
	daemon/agentd/vmfreeze.c daemon/agentd/vmfreeze.h \
	daemon/agentd/vmguest.c daemon/agentd/vmguest.h \
	daemon/agentd/vmidentity.c daemon/agentd/vmidentity.h \
	daemon/agentd/vmimage.c daemon/agentd/vmimage.h \
	daemon/agentd/vminitrd.c \
	daemon/agentd/vmlaunch.c daemon/agentd/vmlaunch.h \
	daemon/agentd/vmlife.c daemon/agentd/vmlife.h \
	daemon/agentd/vmnode.c daemon/agentd/vmnode.h \
	daemon/agentd/vmproc.c daemon/agentd/vmproc.h \
	daemon/agentd/vmwire.c daemon/agentd/vmwire.h
libdrivervm_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libdrivervm_la_LIBADD = libdriverns.la libdriverproc.la libbase.la $(JANSSON_LIBS)
