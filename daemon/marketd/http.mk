# daemon/marketd: what carries the API: sockets, HTTP, routes, schemas, figures; and the program.
noinst_LTLIBRARIES += libmarketd.la
libmarketd_la_SOURCES = \
	daemon/marketd/auth.c daemon/marketd/auth.h \
	daemon/marketd/builtin.c daemon/marketd/builtin.h \
	daemon/marketd/http.c daemon/marketd/http.h \
	daemon/marketd/http_conn.c \
	daemon/marketd/http_exchange.c \
	daemon/marketd/http_hooks.h daemon/marketd/http_own.h \
	daemon/marketd/http_request.c \
	daemon/marketd/http_stream.c \
	daemon/marketd/keyed.c daemon/marketd/keyed.h \
	daemon/marketd/limit.c daemon/marketd/limit.h \
	daemon/marketd/listen.c daemon/marketd/listen.h \
	daemon/marketd/metrics.c daemon/marketd/metrics.h \
	daemon/marketd/notify.c daemon/marketd/notify.h \
	daemon/marketd/openapi.c \
	daemon/marketd/options.c daemon/marketd/options.h \
	daemon/marketd/route.c \
	daemon/marketd/routes.c daemon/marketd/routes.h \
	daemon/marketd/schema.c daemon/marketd/schema.h \
	daemon/marketd/serve.c daemon/marketd/serve.h \
	daemon/marketd/tables.c \
	daemon/marketd/tlskey.c daemon/marketd/tlskey.h \
	daemon/marketd/uri.c daemon/marketd/uri.h
libmarketd_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS) $(CRYPTO_CFLAGS)
libmarketd_la_LIBADD = libapiv2.la libapinp.la libstore.la libengine.la libmarket.la libbase.la \
	$(MICROHTTPD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS)

sbin_PROGRAMS += nanopod-marketd
nanopod_marketd_SOURCES = daemon/marketd/main.c
nanopod_marketd_LDADD = libmarketd.la
