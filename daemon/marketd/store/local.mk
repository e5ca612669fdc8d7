# What is kept. The sql*.c files alone know sqlite3.
noinst_LTLIBRARIES += libstore.la
libstore_la_SOURCES = \
	daemon/marketd/store/maintain.c \
	daemon/marketd/store/maintain.h \
	daemon/marketd/store/chain.c \
	daemon/marketd/store/chain.h \
	daemon/marketd/store/journal.c \
	daemon/marketd/store/journal.h \
	daemon/marketd/store/market.c \
	daemon/marketd/store/market.h \
	daemon/marketd/store/sqlmaintain.c \
	daemon/marketd/store/sqlconn.c \
	daemon/marketd/store/sqlfile.c \
	daemon/marketd/store/sqlite.c \
	daemon/marketd/store/sqlite.h \
	daemon/marketd/store/sqllog.c \
	daemon/marketd/store/sqlorders.c \
	daemon/marketd/store/sqlread.c \
	daemon/marketd/store/sqlrows.c \
	daemon/marketd/store/store.c \
	daemon/marketd/store/store.h \
	daemon/marketd/store/sick.c \
	daemon/marketd/store/sick.h \
	daemon/marketd/store/watch.c \
	daemon/marketd/store/watch.h \
	daemon/marketd/store/watchhold.c \
	daemon/marketd/store/watchhold.h
libstore_la_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(CRYPTO_CFLAGS)
# Who links it also links libengine.la, libmarket.la and libbase.la.
libstore_la_LIBADD = $(SQLITE_LIBS) $(CRYPTO_LIBS)
