# daemon/marketd: SF Compute's v2, and what the handlers of every generation share. Who links it also links libstore.la,
# libengine.la, libmarket.la and libbase.la.
noinst_LTLIBRARIES += libapiv2.la
libapiv2_la_SOURCES = \
	daemon/marketd/api/api.c daemon/marketd/api/api.h \
	daemon/marketd/api_v2.h daemon/marketd/api_v2.c \
	daemon/marketd/api_v2account.c \
	daemon/marketd/api_v2book.c daemon/marketd/api_v2book.h \
	daemon/marketd/api_v2fills.c \
	daemon/marketd/api_v2instance.c daemon/marketd/api_v2instance.h \
	daemon/marketd/api_v2instances.c \
	daemon/marketd/api_v2orders.c \
	daemon/marketd/api_v2pools.c \
	daemon/marketd/api_v2preview.c \
	daemon/marketd/api_v2procurements.c \
	daemon/marketd/api_v2skus.c \
	daemon/marketd/api/body.c \
	daemon/marketd/api/cursor.c daemon/marketd/api/cursor.h \
	daemon/marketd/api/find.c \
	daemon/marketd/api/render.c daemon/marketd/api/render.h \
	daemon/marketd/api/render_order.c \
	daemon/marketd/api/render_sku.c \
	daemon/marketd/api/render_thing.c \
	daemon/marketd/schema_v2.c daemon/marketd/schema_v2.h \
	daemon/marketd/schema_v2answers.c \
	daemon/marketd/schema_v2requests.c
libapiv2_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
