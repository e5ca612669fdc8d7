# The link to the market: this machine's identity, the market's work document, and reports.
noinst_LTLIBRARIES += libagentmarket.la
libagentmarket_la_SOURCES = \
	daemon/agentd/market/http_child.c \
	daemon/agentd/market/http_child.h \
	daemon/agentd/market/http_main.c \
	daemon/agentd/market/http_main.h \
	daemon/agentd/market/http_wire.c \
	daemon/agentd/market/http_wire.h \
	daemon/agentd/market/uplink_speed.c \
	daemon/agentd/market/uplink_speed.h \
	daemon/agentd/market/verb_http.c \
	daemon/agentd/market/verb_http.h \
	daemon/agentd/market/identity.c \
	daemon/agentd/market/identity.h \
	daemon/agentd/market/link.c \
	daemon/agentd/market/link.h \
	daemon/agentd/market/resources.c \
	daemon/agentd/market/resources.h \
	daemon/agentd/market/wallclock.c \
	daemon/agentd/market/wallclock.h \
	daemon/agentd/market/volume_ends.c \
	daemon/agentd/market/volume_ends.h \
	daemon/agentd/market/work.c \
	daemon/agentd/market/work.h
libagentmarket_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
libagentmarket_la_LIBADD = libos.la libmarket.la libbase.la $(JANSSON_LIBS) $(CRYPTO_LIBS)
