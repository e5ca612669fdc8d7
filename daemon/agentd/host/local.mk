# The host driver: the machine itself is the node, handed over by key.
noinst_LTLIBRARIES += libdriverhost.la
libdriverhost_la_SOURCES = \
	daemon/agentd/host/host_end.c \
	daemon/agentd/host/host_end.h \
	daemon/agentd/host/host_keys.c \
	daemon/agentd/host/host_keys.h \
	daemon/agentd/host/wholehost.c
libdriverhost_la_LIBADD = libdriverproc.la libos.la libbase.la
