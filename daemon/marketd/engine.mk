# The engine: the market as one deterministic function. Data at the bottom, engine.c on top.
noinst_LTLIBRARIES += libengine.la
libengine_la_SOURCES = \
	daemon/marketd/engine/audit.c \
	daemon/marketd/engine/rules/buy.c daemon/marketd/engine/rules/buy.h \
	daemon/marketd/engine/live/calendar.c daemon/marketd/engine/live/calendar.h \
	daemon/marketd/engine/rules/pool.c daemon/marketd/engine/rules/pool.h \
	daemon/marketd/engine/depth.c \
	daemon/marketd/engine/rules/check.c daemon/marketd/engine/rules/check.h \
	daemon/marketd/engine/live/due.c daemon/marketd/engine/live/due.h \
	daemon/marketd/engine/dump.c \
	daemon/marketd/engine/effect.c daemon/marketd/engine/effect.h \
	daemon/marketd/engine/engine.c daemon/marketd/engine/engine.h \
	daemon/marketd/engine/live/ensure.c daemon/marketd/engine/live/ensure.h \
	daemon/marketd/engine/event.h \
	daemon/marketd/engine/live/idmap.c daemon/marketd/engine/live/idmap.h \
	daemon/marketd/engine/rules/agents.c daemon/marketd/engine/rules/agents.h \
	daemon/marketd/engine/rules/lease.c daemon/marketd/engine/rules/lease.h \
	daemon/marketd/engine/rules/ledger.c daemon/marketd/engine/rules/ledger.h \
	daemon/marketd/engine/rules/match.c daemon/marketd/engine/rules/match.h \
	daemon/marketd/engine/rules/sell_preview.c daemon/marketd/engine/rules/sell_preview.h \
	daemon/marketd/engine/rules/order.c daemon/marketd/engine/rules/order.h \
	daemon/marketd/engine/rules/partial.c \
	daemon/marketd/engine/rules/account.c daemon/marketd/engine/rules/account.h \
	daemon/marketd/engine/rules/procure.c daemon/marketd/engine/rules/procure.h \
	daemon/marketd/engine/query.c \
	daemon/marketd/engine/quote.c \
	daemon/marketd/engine/live/rank.c daemon/marketd/engine/live/rank.h \
	daemon/marketd/engine/rules/release.c daemon/marketd/engine/rules/release.h \
	daemon/marketd/engine/restore.c \
	daemon/marketd/engine/rules/resting.c daemon/marketd/engine/rules/resting.h \
	daemon/marketd/engine/rules/review.c daemon/marketd/engine/rules/review.h \
	daemon/marketd/engine/rules/sell.c daemon/marketd/engine/rules/sell.h \
	daemon/marketd/engine/live/offer_index.c daemon/marketd/engine/live/offer_index.h \
	daemon/marketd/engine/snapshot.c daemon/marketd/engine/snapshot.h \
	daemon/marketd/engine/state.h \
	daemon/marketd/engine/rules/emit.c daemon/marketd/engine/rules/emit.h \
	daemon/marketd/engine/rules/tick.c daemon/marketd/engine/rules/tick.h \
	daemon/marketd/engine/rules/live_order.c daemon/marketd/engine/rules/live_order.h \
	daemon/marketd/engine/rules/trade.c daemon/marketd/engine/rules/trade.h \
	daemon/marketd/engine/diagnose.c \
	daemon/marketd/engine/live/world.c daemon/marketd/engine/live/world.h
