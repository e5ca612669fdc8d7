# Programs of others (spawn.c), and the drivers that give no machine of its own: process and host.
noinst_LTLIBRARIES += libdriverproc.la
libdriverproc_la_SOURCES = \
	daemon/agentd/driver.h \
	daemon/agentd/os/cgroup.c daemon/agentd/os/cgroup.h daemon/agentd/os/cgroup_part.h daemon/agentd/os/cgroup_path.c \
	daemon/agentd/host/wholehost.c \
	daemon/agentd/host/host_end.c daemon/agentd/host/host_end.h \
	daemon/agentd/host/host_keys.c daemon/agentd/host/host_keys.h \
	daemon/agentd/process/process.c \
	daemon/agentd/os/hostkey.c daemon/agentd/os/hostkey.h \
	daemon/agentd/process/sshd_conf.c daemon/agentd/process/sshd_conf.h \
	daemon/agentd/process/node_processes.c daemon/agentd/process/node_processes.h \
	daemon/agentd/os/proctree.c daemon/agentd/os/proctree.h \
	daemon/agentd/os/wipe.c daemon/agentd/os/wipe.h \
	daemon/agentd/os/spawn.c daemon/agentd/os/spawn.h
libdriverproc_la_CPPFLAGS = $(AM_CPPFLAGS) -DPKGLIBEXECDIR='"$(pkglibexecdir)"'
libdriverproc_la_LIBADD = libbase.la

# The first process of a node of the process driver: small, for there is one a node.
pkglibexec_PROGRAMS = nanopod-node
nanopod_node_SOURCES = daemon/agentd/process/node_main.c \
	daemon/agentd/process/newroot.c daemon/agentd/process/newroot.h \
	daemon/agentd/process/space.c daemon/agentd/process/space.h \
	daemon/agentd/os/proctree.c daemon/agentd/os/proctree.h
nanopod_node_LDADD = libbase.la
