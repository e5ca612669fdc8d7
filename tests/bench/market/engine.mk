# The engine's speed: make tests/bench/market/engine && tests/bench/market/engine [OPERATIONS [HOSTS]]
EXTRA_PROGRAMS += tests/bench/market/engine
tests_bench_market_engine_SOURCES = tests/bench/market/engine.c
tests_bench_market_engine_LDADD = libengine.la libmarket.la libbase.la
