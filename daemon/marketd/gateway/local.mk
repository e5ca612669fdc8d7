# Files for gateways. Who links it also links libconf.la and libbase.la.
noinst_LTLIBRARIES += libgateway.la
libgateway_la_SOURCES = \
	daemon/marketd/gateway/gatelook.c \
	daemon/marketd/gateway/gatelook.h \
	daemon/marketd/gateway/gatewayfile.c \
	daemon/marketd/gateway/gatewayfile.h \
	daemon/marketd/gateway/gatewayfile_own.h \
	daemon/marketd/gateway/gatewayfile_write.c \
	daemon/marketd/gateway/gatewaynames.c \
	daemon/marketd/gateway/gatewaynames.h \
	daemon/marketd/gateway/gatewaywatch.c \
	daemon/marketd/gateway/reserved.c \
	daemon/marketd/gateway/reserved.h
libgateway_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libgateway_la_LIBADD = liboutward.la $(JANSSON_LIBS)
