# examples: not built here; tests/meta/examples.t builds them against an installed copy.
examplesdir = $(datarootdir)/doc/libpssh/examples
dist_examples_DATA = $(wildcard $(srcdir)/examples/*.c $(srcdir)/examples/*.py)
EXTRA_DIST += $(wildcard $(srcdir)/examples/*.yaml $(srcdir)/examples/*.rego)
