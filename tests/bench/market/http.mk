# tests/bench/market: http
EXTRA_PROGRAMS += tests/bench/market/http
tests_bench_market_http_SOURCES = tests/bench/market/http.c tests/lib/web.c tests/lib/web.h tests/lib/webproc.c
tests_bench_market_http_LDADD =
