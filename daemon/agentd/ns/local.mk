# The ns driver: systemd-nspawn on an overlay, in its own network; and the images.
noinst_LTLIBRARIES += libdriverns.la
libdriverns_la_SOURCES = \
	daemon/agentd/ns/boot.c \
	daemon/agentd/ns/image.c \
	daemon/agentd/ns/image.h \
	daemon/agentd/ns/image_build.c \
	daemon/agentd/ns/image_part.h \
	daemon/agentd/ns/image_verb.c \
	daemon/agentd/ns/layer.c \
	daemon/agentd/ns/net.c \
	daemon/agentd/ns/net.h \
	daemon/agentd/ns/net_door.c \
	daemon/agentd/ns/net_part.h \
	daemon/agentd/ns/net_space.c \
	daemon/agentd/ns/net_uplink.c \
	daemon/agentd/ns/net_rate.c \
	daemon/agentd/ns/net_wall.c \
	daemon/agentd/ns/node_devices.c \
	daemon/agentd/ns/node_disk.c \
	daemon/agentd/ns/shared_folder.c \
	daemon/agentd/ns/node_volumes.c \
	daemon/agentd/ns/node_files.c \
	daemon/agentd/ns/ns.c \
	daemon/agentd/ns/ns.h
libdriverns_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libdriverns_la_LIBADD = libos.la libbase.la $(JANSSON_LIBS)
