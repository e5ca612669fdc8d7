# What carries the API: sockets, HTTP, limits. The http*.c files alone know libmicrohttpd.
noinst_LTLIBRARIES += libmarkethttp.la
libmarkethttp_la_SOURCES = \
	daemon/marketd/http/http.c \
	daemon/marketd/http/http.h \
	daemon/marketd/http/http_conn.c \
	daemon/marketd/http/http_cookie.c \
	daemon/marketd/http/http_exchange.c \
	daemon/marketd/http/http_head.c \
	daemon/marketd/http/http_head.h \
	daemon/marketd/http/http_hooks.h \
	daemon/marketd/http/http_own.h \
	daemon/marketd/http/http_page.c \
	daemon/marketd/http/http_request.c \
	daemon/marketd/http/http_stream.c \
	daemon/marketd/http/http_upload.c \
	daemon/marketd/http/jsonbounds.c \
	daemon/marketd/http/jsonbounds.h \
	daemon/marketd/http/limit.c \
	daemon/marketd/http/limit.h \
	daemon/marketd/http/listen.c \
	daemon/marketd/http/listen.h \
	daemon/marketd/http/trusted.c \
	daemon/marketd/http/trusted.h \
	daemon/marketd/http/uri.c \
	daemon/marketd/http/uri.h
libmarkethttp_la_LIBADD = libmarketweb.la
libmarkethttp_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(MICROHTTPD_CFLAGS) $(CRYPTO_CFLAGS)
