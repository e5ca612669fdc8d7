# tests/sim: the reference engine, random streams, the simulator.
reference = tests/sim/reference
noinst_HEADERS += $(reference)/reference.h $(reference)/ref.h tests/sim/rng.h tests/sim/stream.h \
	tests/sim/shadow.h tests/sim/world.h tests/sim/memstore.h tests/sim/memstore_own.h tests/sim/faulty.h \
	tests/sim/fleet.h tests/sim/proven.h tests/sim/floors.h tests/sim/gifts.h tests/sim/debts.h tests/sim/caps.h \
	tests/sim/volumes.h \
	tests/sim/tariffs.h \
	tests/sim/paidout.h \
	tests/sim/scaleworld.h \
	tests/sim/dunned.h \
	tests/sim/sim.h tests/sim/renewal.h

check_PROGRAMS += tests/sim/agents tests/sim/autoscale tests/sim/power tests/sim/property tests/sim/market \
	tests/sim/renewal
TESTS += tests/sim/agents tests/sim/autoscale tests/sim/power tests/sim/property tests/sim/market \
	tests/sim/renewal
tests_sim_property_SOURCES = tests/sim/property.c tests/sim/world.c tests/sim/oracle.c tests/sim/shrink.c \
	tests/sim/show.c tests/sim/shadow.c tests/sim/proven.c tests/sim/stream.c \
	tests/sim/streamtrade.c tests/sim/streamwrong.c \
	tests/sim/streamagent.c tests/sim/streamproof.c tests/sim/streamprice.c tests/sim/streamgrant.c \
	tests/sim/streampeople.c tests/sim/streampay.c tests/sim/floors.c tests/sim/gifts.c tests/sim/debts.c \
	tests/sim/duty.c tests/sim/caps.c tests/sim/streamcap.c $(reference)/refcap.c \
	tests/sim/volumes.c tests/sim/streamvolume.c $(reference)/refvolume.c \
	tests/sim/tariffs.c tests/sim/streamtariff.c $(reference)/reftariff.c \
	tests/sim/paidout.c tests/sim/streampayout.c $(reference)/refpayout.c \
	tests/sim/dunned.c tests/sim/streamdunning.c $(reference)/refdebt.c \
	$(reference)/reference.c $(reference)/refagent.c $(reference)/refpayment.c $(reference)/refpeople.c \
	$(reference)/refdump.c $(reference)/refevent.c $(reference)/refgrant.c $(reference)/refledger.c \
	$(reference)/reforder.c \
	$(reference)/refpieces.c $(reference)/refplan.c $(reference)/refprocure.c $(reference)/refthings.c \
	$(reference)/reftime.c
tests_sim_autoscale_SOURCES = tests/sim/autoscale.c tests/sim/scaleworld.c
tests_sim_property_LDADD = libengine.la libstore.la libmarket.la libbase.la
tests_sim_power_LDADD = libpower.la
tests_sim_market_SOURCES = tests/sim/market.c tests/sim/simaudit.c tests/sim/simclient.c tests/sim/simmarket.c \
	tests/sim/shadow.c tests/sim/memstore.c tests/sim/memlog.c tests/sim/faulty.c
tests_sim_market_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_sim_renewal_SOURCES = tests/sim/renewal.c tests/sim/renewaldeeds.c tests/sim/renewaldrain.c
tests_sim_renewal_LDADD = libengine.la libmarket.la libbase.la
tests_sim_agents_SOURCES = tests/sim/agents.c tests/sim/fleet.c tests/sim/fleetaudit.c tests/sim/fleetbuyer.c \
	tests/sim/fleetmachine.c tests/sim/fleetpost.c tests/sim/memstore.c tests/sim/memlog.c tests/sim/faulty.c
tests_sim_agents_LDADD = libstore.la libengine.la libmarket.la libbase.la

# make sim-long EVENTS=50000000 HOURS=240: new seeds each time. TRACES: machines with power limits, always the same.
TRACES = 100000
EVENTS = 10000000
HOURS = 24
sim-long: tests/sim/property tests/sim/agents tests/sim/renewal tests/sim/power
	tests/sim/property long $(EVENTS)
	tests/sim/renewal long $(EVENTS)
	tests/sim/agents long $(HOURS)
	tests/sim/power long $(TRACES)
.PHONY: sim-long
