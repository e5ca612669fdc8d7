# What the market asks of others, over HTTP. Nothing else of marketd knows libcurl, which is loaded on first use.
noinst_LTLIBRARIES += liboutward.la
liboutward_la_SOURCES = \
	daemon/marketd/outward/errand.c \
	daemon/marketd/outward/outward.c \
	daemon/marketd/outward/outward.h \
	daemon/marketd/outward/outward_own.h
liboutward_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
liboutward_la_LIBADD = libmarket.la libbase.la
