# The process driver: an sshd of this same user.
noinst_LTLIBRARIES += libdriverproc.la
libdriverproc_la_SOURCES = \
	daemon/agentd/process/node_processes.c \
	daemon/agentd/process/node_processes.h \
	daemon/agentd/process/process.c \
	daemon/agentd/process/sshd_conf.c \
	daemon/agentd/process/sshd_conf.h
libdriverproc_la_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
libdriverproc_la_LIBADD = libos.la libbase.la

# The first process of a node: small, since each node runs one.
pkglibexec_PROGRAMS = nanopod-node
nanopod_node_SOURCES = \
	daemon/agentd/process/newroot.c \
	daemon/agentd/process/newroot.h \
	daemon/agentd/process/node_main.c \
	daemon/agentd/process/space.c \
	daemon/agentd/process/space.h \
	daemon/agentd/os/proctree.c \
	daemon/agentd/os/proctree.h
nanopod_node_LDADD = libbase.la
