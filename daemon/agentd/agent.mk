# The agent: link, work, reconcile; and the program. All but agentd.c are a convenience library, for the tests.
noinst_LTLIBRARIES += libagent.la
libagent_la_SOURCES = \
	daemon/agentd/act.c daemon/agentd/act.h \
	daemon/agentd/base64.c daemon/agentd/base64.h \
	daemon/agentd/machine/chore.c daemon/agentd/machine/chore.h \
	daemon/agentd/market/console.c daemon/agentd/market/console.h \
	daemon/agentd/market/courier.c daemon/agentd/market/courier.h \
	daemon/agentd/crew.c daemon/agentd/crew.h \
	daemon/agentd/drivers.c daemon/agentd/drivers.h \
	daemon/agentd/market/errand.c daemon/agentd/market/errand.h \
	daemon/agentd/flags.c daemon/agentd/flags.h \
	daemon/agentd/handwork.c daemon/agentd/handwork.h \
	daemon/agentd/market/identity.c daemon/agentd/market/identity.h \
	daemon/agentd/os/job.c daemon/agentd/os/job.h \
	daemon/agentd/os/keep.c daemon/agentd/os/keep.h \
	daemon/agentd/keyline.c daemon/agentd/keyline.h \
	daemon/agentd/market/link.c daemon/agentd/market/link.h \
	daemon/agentd/lookout.c daemon/agentd/lookout.h \
	daemon/agentd/node.c daemon/agentd/node.h \
	daemon/agentd/place.c daemon/agentd/place.h \
	daemon/agentd/pump.c daemon/agentd/pump.h \
	daemon/agentd/reconcile.c daemon/agentd/reconcile.h \
	daemon/agentd/roster.c daemon/agentd/roster.h \
	daemon/agentd/run.c daemon/agentd/run.h \
	daemon/agentd/market/session.c daemon/agentd/market/session.h \
	daemon/agentd/userdata.c daemon/agentd/userdata.h \
	daemon/agentd/verb_join.c \
	daemon/agentd/verb_nodes.c \
	daemon/agentd/verbs.h \
	daemon/agentd/market/wallclock.c daemon/agentd/market/wallclock.h \
	daemon/agentd/market/work.c daemon/agentd/market/work.h
libagent_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
libagent_la_LIBADD = libinventory.la libmarket.la libconf.la libbase.la $(JANSSON_LIBS) $(CRYPTO_LIBS)

sbin_PROGRAMS += nanopod-agentd
nanopod_agentd_SOURCES = daemon/agentd/main.c
nanopod_agentd_LDADD = libagent.la libdrivervm.la libdriverns.la libdriverproc.la libbase.la
