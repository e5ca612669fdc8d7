# tests/bench/market: store. `make tests/bench/market/store && tests/bench/market/store [--quick] [--million] [FOLDER]`
EXTRA_PROGRAMS += tests/bench/market/store
tests_bench_market_store_SOURCES = tests/bench/market/store.c tests/unit/marketd/storemake.h
tests_bench_market_store_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS)
tests_bench_market_store_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
