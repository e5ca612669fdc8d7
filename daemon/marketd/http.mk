# daemon/marketd: what carries the API: sockets, HTTP, routes, schemas, figures; and the program.
noinst_LTLIBRARIES += libmarketd.la
libmarketd_la_SOURCES = \
	daemon/marketd/api/auth.c daemon/marketd/api/auth.h \
	daemon/marketd/api/builtin.c daemon/marketd/api/builtin.h \
	daemon/marketd/http/http.c daemon/marketd/http/http.h \
	daemon/marketd/http/http_conn.c \
	daemon/marketd/http/http_exchange.c \
	daemon/marketd/http/http_hooks.h daemon/marketd/http/http_own.h \
	daemon/marketd/http/http_request.c \
	daemon/marketd/http/http_stream.c \
	daemon/marketd/api/keyed.c daemon/marketd/api/keyed.h \
	daemon/marketd/http/limit.c daemon/marketd/http/limit.h \
	daemon/marketd/http/listen.c daemon/marketd/http/listen.h \
	daemon/marketd/api/metrics.c daemon/marketd/api/metrics.h \
	daemon/marketd/notify.c daemon/marketd/notify.h \
	daemon/marketd/api/openapi.c \
	daemon/marketd/options.c daemon/marketd/options.h \
	daemon/marketd/api/route.c \
	daemon/marketd/api/routes.c daemon/marketd/api/routes.h \
	daemon/marketd/api/schema.c daemon/marketd/api/schema.h \
	daemon/marketd/serve.c daemon/marketd/serve.h \
	daemon/marketd/tables.c \
	daemon/marketd/http/tlskey.c daemon/marketd/http/tlskey.h \
	daemon/marketd/http/uri.c daemon/marketd/http/uri.h
libmarketd_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS) $(CRYPTO_CFLAGS)
libmarketd_la_LIBADD = libapiv2.la libapinp.la libstore.la libengine.la libmarket.la libbase.la \
	$(MICROHTTPD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS)

sbin_PROGRAMS += nanopod-marketd
nanopod_marketd_SOURCES = daemon/marketd/main.c
nanopod_marketd_LDADD = libmarketd.la
