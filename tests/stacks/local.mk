# tests/stacks: what stacks write and do, on this machine and, in *-ns.t, on nodes of the driver ns (Makefile.am lists
# those).

stacks_tests = tests/stacks/clustermax.t tests/stacks/lib.t tests/stacks/facts.t tests/stacks/users.t \
	tests/stacks/slurm-conf.t tests/stacks/slurm-health.t
TESTS += $(stacks_tests)
EXTRA_DIST += $(stacks_tests) tests/stacks/step.sh tests/stacks/slurm-conf \
	tests/stacks/clustermax.tsv

# K3s: against a double of it (tests/lib/k3s-double), or against itself where NANOPOD_K3S_BUNDLE names a folder with it.
k3s_tests = tests/stacks/k3s-conf.t tests/stacks/k3s-demand.t
TESTS += $(k3s_tests)
EXTRA_DIST += $(k3s_tests) tests/stacks/k3s.sh tests/stacks/k3s-conf tests/lib/k3s-double/k3s

# A real Kubernetes behind the double: where NANOPOD_K8S names a folder that k8s-build made; else skipped at once.
k8s_tests = tests/stacks/k8s-real.t tests/stacks/k8s-servers.t tests/stacks/k8s-demand.t \
	tests/stacks/k8s-scale.t
TESTS += $(k8s_tests)
$(k8s_tests:.t=.log): $(node_programs)
EXTRA_DIST += $(k8s_tests) tests/stacks/k8s.sh tests/stacks/k8s-build tests/lib/k8s-double/k8s \
	tests/lib/k8s-double/image tests/lib/k8s-double/pack.sh tests/lib/k8s-double/nodes.sh

# Stacks on top: GPUs, monitoring, storage, Ray. Manifests against the schemas of their kinds.
check_PROGRAMS += tests/stacks/manifest
tests_stacks_manifest_SOURCES = tests/stacks/manifest.c tests/daemon/jsonschema.c tests/daemon/jsonschema.h
tests_stacks_manifest_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(YAML_CFLAGS)
tests_stacks_manifest_LDADD = $(JANSSON_LIBS) $(YAML_LIBS)
stacks_tests_addons = tests/stacks/gpu-operator.t tests/stacks/monitoring.t tests/stacks/ray.t tests/stacks/storage.t
TESTS += $(stacks_tests_addons)
$(stacks_tests_addons:.t=.log): tests/stacks/manifest$(EXEEXT)
EXTRA_DIST += $(stacks_tests_addons) tests/lib/s3double.py tests/stacks/addons.sh tests/stacks/addons-ns.sh \
	tests/stacks/grafanadouble.sh tests/stacks/monitoring-rules.yml tests/stacks/raydouble.sh \
	tests/stacks/schema/kinds.json
