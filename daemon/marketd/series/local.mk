# What agents measured: ring files, never the ledger's database.
noinst_LTLIBRARIES += libseries.la
libseries_la_SOURCES = \
	daemon/marketd/series/ring.c \
	daemon/marketd/series/ring.h \
	daemon/marketd/series/series.c \
	daemon/marketd/series/series.h \
	daemon/marketd/series/value16.c \
	daemon/marketd/series/value16.h
# Who links it also links libbase.la.
