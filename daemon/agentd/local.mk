# daemon/agentd: runs the nodes that were sold of a machine. Each room is a convenience library, so that tests can link
# it.
include daemon/agentd/os/local.mk
include daemon/agentd/process/local.mk
include daemon/agentd/host/local.mk
include daemon/agentd/ns/local.mk
include daemon/agentd/vm/local.mk
include daemon/agentd/machine/local.mk
include daemon/agentd/power/local.mk
include daemon/agentd/device/local.mk
include daemon/agentd/market/local.mk

# The agent itself: what the market wants, what runs, the next step of each node. Only main.c names the drivers.
noinst_LTLIBRARIES += libagent.la
libagent_la_SOURCES = \
	daemon/agentd/verbs/bom.c \
	daemon/agentd/verbs/bom.h \
	daemon/agentd/selfcheck.c \
	daemon/agentd/selfcheck.h \
	daemon/agentd/console.c \
	daemon/agentd/console.h \
	daemon/agentd/verbs/command_line.c \
	daemon/agentd/verbs/command_line.h \
	daemon/agentd/wanted_gpus.c \
	daemon/agentd/wanted_gpus.h \
	daemon/agentd/workers.c \
	daemon/agentd/workers.h \
	daemon/agentd/contract.h \
	daemon/agentd/driver.h \
	daemon/agentd/drivers.c \
	daemon/agentd/drivers.h \
	daemon/agentd/flags.c \
	daemon/agentd/flags.h \
	daemon/agentd/step_child.c \
	daemon/agentd/step_child.h \
	daemon/agentd/keyline.c \
	daemon/agentd/keyline.h \
	daemon/agentd/scan.c \
	daemon/agentd/scan.h \
	daemon/agentd/node_journal.c \
	daemon/agentd/node_journal.h \
	daemon/agentd/datadir.c \
	daemon/agentd/datadir.h \
	daemon/agentd/reporter.c \
	daemon/agentd/reporter.h \
	daemon/agentd/sampler.c \
	daemon/agentd/sampler.h \
	daemon/agentd/verifier.c \
	daemon/agentd/verifier.h \
	daemon/agentd/powercheck.c \
	daemon/agentd/powercheck.h \
	daemon/agentd/sharecheck.c \
	daemon/agentd/sharecheck.h \
	daemon/agentd/reconcile.c \
	daemon/agentd/reconcile.h \
	daemon/agentd/room.c \
	daemon/agentd/room.h \
	daemon/agentd/roster.c \
	daemon/agentd/roster.h \
	daemon/agentd/run.c \
	daemon/agentd/run.h \
	daemon/agentd/userdata.c \
	daemon/agentd/userdata.h \
	daemon/agentd/verbs/verb_gpus.c \
	daemon/agentd/verbs/verb_join.c \
	daemon/agentd/verbs/verb_nodes.c \
	daemon/agentd/verbs/verb_power.c \
	daemon/agentd/verbs/verb_verify.c \
	daemon/agentd/verbs/verbs.h
libagent_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
libagent_la_LIBADD = libagentmarket.la libpower.la libdevice.la libinventory.la libos.la libmarket.la libconf.la \
	libbase.la \
	$(JANSSON_LIBS) $(CRYPTO_LIBS)

sbin_PROGRAMS += nanopod-agentd
nanopod_agentd_SOURCES = daemon/agentd/main.c
nanopod_agentd_LDADD = libagent.la libdrivervm.la libdriverns.la libdriverhost.la libdriverproc.la libos.la libbase.la
