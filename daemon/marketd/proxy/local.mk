# OpenAI's API before servers on leased nodes: `nanopod-marketd gateway serve`.
noinst_LTLIBRARIES += libproxy.la
libproxy_la_SOURCES = \
	daemon/marketd/proxy/asking.c \
	daemon/marketd/proxy/backends.c \
	daemon/marketd/proxy/caller.c \
	daemon/marketd/proxy/counting.c \
	daemon/marketd/proxy/following.c \
	daemon/marketd/proxy/parked.c \
	daemon/marketd/proxy/proxy_own.h \
	daemon/marketd/proxy/proxydoors.c \
	daemon/marketd/proxy/proxyfile.c \
	daemon/marketd/proxy/proxyfile.h \
	daemon/marketd/proxy/proxyserve.c \
	daemon/marketd/proxy/proxyserve.h \
	daemon/marketd/proxy/refusal.c \
	daemon/marketd/proxy/relay.c \
	daemon/marketd/proxy/spool.c \
	daemon/marketd/proxy/spool.h \
	daemon/marketd/proxy/sse.c \
	daemon/marketd/proxy/sse.h \
	daemon/marketd/proxy/tokenbudget.c \
	daemon/marketd/proxy/tokenbudget.h \
	daemon/marketd/proxy/tokens.c \
	daemon/marketd/proxy/tokens.h \
	daemon/marketd/proxy/underway.c
libproxy_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS) $(CRYPTO_CFLAGS)
libproxy_la_LIBADD = libmarkethttp.la libgateway.la liboutward.la libmarket.la libconf.la libbase.la \
	$(MICROHTTPD_LIBS) $(JANSSON_LIBS) $(CRYPTO_LIBS)
