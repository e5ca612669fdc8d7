# lib/market: what client and market share; wire*.c alone knows jansson, client*.c alone curl, which is
# not linked but loaded on first use (see client_load.c).
noinst_LTLIBRARIES += libmarket.la
libmarket_la_SOURCES = \
	lib/market/challenge.c lib/market/challenge.h \
	lib/market/claims.c lib/market/claims.h \
	lib/market/client.c lib/market/client.h lib/market/client_part.h \
	lib/market/client_load.c \
	lib/market/client_stream.c \
	lib/market/client_text.c \
	lib/market/client_transfer.c \
	lib/market/curl_calls.h \
	lib/market/device_flow.c lib/market/device_flow.h \
	lib/market/ident.c lib/market/ident.h \
	lib/market/metric.c lib/market/metric.h \
	lib/market/model.h \
	lib/market/money.c lib/market/money.h \
	lib/market/proof.c lib/market/proof.h \
	lib/market/reason.c lib/market/reason.h \
	lib/market/share.c lib/market/share.h \
	lib/market/when.c lib/market/when.h \
	lib/market/wire.c lib/market/wire.h lib/market/wire_part.h \
	lib/market/wire_alert.c \
	lib/market/wire_commit.c \
	lib/market/wire_grant.c \
	lib/market/wire_node.c \
	lib/market/wire_overview.c \
	lib/market/wire_own.c \
	lib/market/wire_people.c \
	lib/market/wire_report.c \
	lib/market/wire_usage.c \
	lib/market/wire_read.c \
	lib/market/wire_sample.c \
	lib/market/wire_write.c
libmarket_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS) $(CRYPTO_CFLAGS)
libmarket_la_LIBADD = libbase.la $(JANSSON_LIBS) $(CRYPTO_LIBS) -ldl
