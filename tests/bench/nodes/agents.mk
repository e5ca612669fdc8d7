# A thousand agents on one market: make tests/bench/nodes/agents && tests/bench/nodes/agents [MACHINES [IDLE SECONDS]]
EXTRA_PROGRAMS += tests/bench/nodes/agents
tests_bench_nodes_agents_SOURCES = tests/bench/nodes/agents.c tests/lib/web.c tests/lib/web.h tests/lib/webproc.c
tests_bench_nodes_agents_CFLAGS = $(AM_CFLAGS) $(CRYPTO_CFLAGS)
tests_bench_nodes_agents_LDADD = $(CRYPTO_LIBS)
