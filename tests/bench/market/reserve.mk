# Nodes in a large reservation: make tests/bench/market/reserve && tests/bench/market/reserve [LEASES]
EXTRA_PROGRAMS += tests/bench/market/reserve
tests_bench_market_reserve_SOURCES = tests/bench/market/reserve.c
tests_bench_market_reserve_LDADD = libengine.la libmarket.la libbase.la
