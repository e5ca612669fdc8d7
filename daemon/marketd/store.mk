# daemon/marketd: what is kept. The store_sql*.c files alone know sqlite3.
noinst_LTLIBRARIES += libstore.la
libstore_la_SOURCES = \
	daemon/marketd/care.c daemon/marketd/care.h \
	daemon/marketd/chain.c daemon/marketd/chain.h \
	daemon/marketd/journal.c daemon/marketd/journal.h \
	daemon/marketd/market.c daemon/marketd/market.h \
	daemon/marketd/store.c daemon/marketd/store.h \
	daemon/marketd/store_sqlcare.c \
	daemon/marketd/store_sqlconn.c \
	daemon/marketd/store_sqlfile.c \
	daemon/marketd/store_sqlite.c daemon/marketd/store_sqlite.h \
	daemon/marketd/store_sqllog.c \
	daemon/marketd/store_sqlorders.c \
	daemon/marketd/store_sqlread.c \
	daemon/marketd/store_sqlrows.c \
	daemon/marketd/watch.c daemon/marketd/watch.h
libstore_la_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
# Who links it also links libengine.la, libmarket.la and libbase.la.
libstore_la_LIBADD = $(SQLITE_LIBS) $(CRYPTO_LIBS)
