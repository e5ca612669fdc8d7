# The ns driver: systemd-nspawn on an overlay, in a network of its own; and the images.
noinst_LTLIBRARIES += libdriverns.la
libdriverns_la_SOURCES = \
	daemon/agentd/driver_ns.c \
	daemon/agentd/image.c daemon/agentd/image.h \
	daemon/agentd/image_build.c \
	daemon/agentd/image_part.h \
	daemon/agentd/image_verb.c \
	daemon/agentd/os/mount.c daemon/agentd/os/mount.h \
	daemon/agentd/net.c daemon/agentd/net.h \
	daemon/agentd/net_door.c \
	daemon/agentd/net_part.h \
	daemon/agentd/net_space.c \
	daemon/agentd/net_uplink.c \
	daemon/agentd/ns.h \
	daemon/agentd/ns_boot.c \
	daemon/agentd/ns_files.c \
	daemon/agentd/ns_layer.c
libdriverns_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libdriverns_la_LIBADD = libdriverproc.la libbase.la $(JANSSON_LIBS)
