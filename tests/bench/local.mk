# tests/bench: side by side with other tools. `make bench`; BENCH_FLAGS=--quick for a short one.
EXTRA_DIST += tests/bench/copies.sh tests/bench/copy tests/bench/data.sh tests/bench/fanout tests/bench/far.sh \
	tests/bench/gatewaycost tests/bench/gatewaycost.mjs tests/bench/nodes/idle \
	tests/bench/nodes/neighbour tests/bench/nodes/prompt tests/bench/nodes/samples \
	tests/bench/peers.sh tests/bench/peers/get \
	tests/bench/peers/httpd.py tests/bench/peers/with_asyncssh.py tests/bench/peers/with_parallel_ssh.py \
	tests/bench/start.sh tests/bench/tree tests/bench/via
EXTRA_DIST += tests/bench/provision/slurm tests/bench/provision/many tests/bench/provision/times.sh \
	tests/bench/provision/ansible.cfg tests/bench/provision/slurm.yml tests/bench/provision/toy.yml \
	tests/bench/provision/toy.py \
	tests/bench/provision/slurm.conf.j2 tests/bench/provision/cgroup.conf.j2 tests/bench/provision/gres.conf.j2

check_PROGRAMS += tests/bench/bareloop tests/bench/fakegateway tests/bench/farpath tests/bench/measure
tests_bench_fakegateway_SOURCES = tests/bench/fakegateway.c
tests_bench_bareloop_SOURCES = tests/bench/bareloop.c
tests_bench_bareloop_CFLAGS = $(AM_CFLAGS) $(SSH2_CFLAGS)
tests_bench_bareloop_LDADD = $(SSH2_LIBS)
tests_bench_farpath_SOURCES = tests/bench/farpath.c
tests_bench_farpath_LDADD =
tests_bench_measure_SOURCES = tests/bench/measure.c
tests_bench_measure_LDADD =

bench_script = abs_top_srcdir='$(abs_top_srcdir)' abs_top_builddir='$(abs_top_builddir)' $(BASH) $(srcdir)/tests/bench

bench: all $(check_PROGRAMS)
	BENCH_BUILD='$(abs_top_builddir)' $(BASH) $(srcdir)/tests/bench/fanout $(BENCH_FLAGS)
.PHONY: bench

# One large file, beside sftp and scp.
bench-copy: all tests/bench/measure
	BENCH_BUILD='$(abs_top_builddir)' $(bench_script)/copy $(BENCH_FLAGS)
.PHONY: bench-copy

# One large file to many hosts over slow links, from host to host and from here. Needs root.
bench-tree: all
	BENCH_BUILD='$(abs_top_builddir)' $(bench_script)/tree $(BENCH_FLAGS)
.PHONY: bench-tree
# A hundred thousand hosts behind gateways.
bench-via: all tests/bench/fakegateway tests/bench/measure
	$(bench_script)/via $(BENCH_FLAGS)
.PHONY: bench-via

include tests/bench/market/engine.mk
include tests/bench/market/reserve.mk
include tests/bench/market/store.mk
include tests/bench/market/http.mk
include tests/bench/nodes/agents.mk

# The market's: engine, store, HTTP, and how long the command line takes to start.
bench-market: all tests/bench/market/engine tests/bench/market/reserve tests/bench/market/store tests/bench/market/http
	tests/bench/market/engine
	tests/bench/market/reserve
	tests/bench/market/store $(BENCH_FLAGS)
	tests/bench/market/http
	$(SHELL) $(srcdir)/tests/bench/start.sh ./nanopod
.PHONY: bench-market

# Nodes: a thousand agents on one market, what an idle agent takes, the time from an order to a shell for each driver
# that works here, and what a greedy node costs its neighbour.
bench-nodes: all tests/bench/nodes/agents
	tests/bench/nodes/agents
	$(bench_script)/nodes/idle
	$(bench_script)/nodes/prompt $(BENCH_FLAGS)
	$(bench_script)/nodes/neighbour
.PHONY: bench-nodes

# What machines measure, taken in and shown by the market.
bench-samples: all
	$(bench_script)/nodes/samples $(BENCH_FLAGS)
.PHONY: bench-samples

# Clusters: `nanopod provision` beside Ansible, on real nodes (root, an image, packages, ansible-core) and, with Mitogen
# and pyinfra (tests/bench/peers/get), on 200 simulated ones.
bench-provision: all
	$(bench_script)/provision/slurm $(BENCH_FLAGS)
	$(bench_script)/provision/many
.PHONY: bench-provision
