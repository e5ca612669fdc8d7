# The engine: the market as one deterministic function. Data at the bottom, engine.c on top.
noinst_LTLIBRARIES += libengine.la
libengine_la_SOURCES = \
	daemon/marketd/audit.c \
	daemon/marketd/buy.c daemon/marketd/buy.h \
	daemon/marketd/calendar.c daemon/marketd/calendar.h \
	daemon/marketd/depot.c daemon/marketd/depot.h \
	daemon/marketd/depth.c \
	daemon/marketd/door.c daemon/marketd/door.h \
	daemon/marketd/due.c daemon/marketd/due.h \
	daemon/marketd/dump.c \
	daemon/marketd/effect.c daemon/marketd/effect.h \
	daemon/marketd/engine.c daemon/marketd/engine.h \
	daemon/marketd/ensure.c daemon/marketd/ensure.h \
	daemon/marketd/event.h \
	daemon/marketd/idmap.c daemon/marketd/idmap.h \
	daemon/marketd/keeper.c daemon/marketd/keeper.h \
	daemon/marketd/lease.c daemon/marketd/lease.h \
	daemon/marketd/ledger.c daemon/marketd/ledger.h \
	daemon/marketd/match.c daemon/marketd/match.h \
	daemon/marketd/offtake.c daemon/marketd/offtake.h \
	daemon/marketd/order.c daemon/marketd/order.h \
	daemon/marketd/partial.c \
	daemon/marketd/party.c daemon/marketd/party.h \
	daemon/marketd/procure.c daemon/marketd/procure.h \
	daemon/marketd/query.c \
	daemon/marketd/quote.c \
	daemon/marketd/rank.c daemon/marketd/rank.h \
	daemon/marketd/release.c daemon/marketd/release.h \
	daemon/marketd/restore.c \
	daemon/marketd/resting.c daemon/marketd/resting.h \
	daemon/marketd/review.c daemon/marketd/review.h \
	daemon/marketd/sell.c daemon/marketd/sell.h \
	daemon/marketd/shelf.c daemon/marketd/shelf.h \
	daemon/marketd/snapshot.c daemon/marketd/snapshot.h \
	daemon/marketd/state.h \
	daemon/marketd/tell.c daemon/marketd/tell.h \
	daemon/marketd/tick.c daemon/marketd/tick.h \
	daemon/marketd/ticket.c daemon/marketd/ticket.h \
	daemon/marketd/trade.c daemon/marketd/trade.h \
	daemon/marketd/why.c \
	daemon/marketd/world.c daemon/marketd/world.h
