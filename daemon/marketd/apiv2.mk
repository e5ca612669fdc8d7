# daemon/marketd: SF Compute's v2, and what the handlers of every generation share. Who links it also links libstore.la,
# libengine.la, libmarket.la and libbase.la.
noinst_LTLIBRARIES += libapiv2.la
libapiv2_la_SOURCES = \
	daemon/marketd/api/api.c daemon/marketd/api/api.h \
	daemon/marketd/api/v2/v2.h daemon/marketd/api/v2/v2.c \
	daemon/marketd/api/v2/accounts.c \
	daemon/marketd/api/v2/book.c daemon/marketd/api/v2/book.h \
	daemon/marketd/api/v2/fills.c \
	daemon/marketd/api/v2/instance.c daemon/marketd/api/v2/instance.h \
	daemon/marketd/api/v2/instances.c \
	daemon/marketd/api/v2/orders.c \
	daemon/marketd/api/v2/pools.c \
	daemon/marketd/api/v2/preview.c \
	daemon/marketd/api/v2/procurements.c \
	daemon/marketd/api/v2/skus.c \
	daemon/marketd/api/body.c \
	daemon/marketd/api/cursor.c daemon/marketd/api/cursor.h \
	daemon/marketd/api/find.c \
	daemon/marketd/api/render.c daemon/marketd/api/render.h \
	daemon/marketd/api/render_order.c \
	daemon/marketd/api/render_sku.c \
	daemon/marketd/api/render_thing.c \
	daemon/marketd/api/v2/v2_schemas.c daemon/marketd/api/v2/v2_schemas.h \
	daemon/marketd/api/v2/v2_answers.c \
	daemon/marketd/api/v2/v2_requests.c
libapiv2_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
