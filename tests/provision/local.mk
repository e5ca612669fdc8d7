# tests/provision: `nanopod provision` from end to end, on real nodes; each is skipped, with its reason, where there are
# none. They are in Makefile.am's cluster_tests.
EXTRA_DIST += tests/provision/argv.c tests/provision/look.sh tests/provision/newer.sh tests/provision/picture.sh \
	tests/lib/cluster.sh tests/lib/ticks.sh tests/lib/scaling.sh \
	tests/provision/stacks/tiny/stack.yaml tests/provision/stacks/tiny/file.sh tests/provision/stacks/tiny/last.sh \
	tests/provision/stacks/tiny/slow.sh
