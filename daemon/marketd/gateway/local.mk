# Files for gateways. Who links it also links libconf.la and libbase.la.
noinst_LTLIBRARIES += libgateway.la
libgateway_la_SOURCES = \
	daemon/marketd/gateway/gatewayfile.c \
	daemon/marketd/gateway/gatewayfile.h \
	daemon/marketd/gateway/gatewayfile_own.h \
	daemon/marketd/gateway/gatewayfile_write.c
