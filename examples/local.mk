# examples: not built here; tests/meta/examples.t builds them against an installed copy.
EXTRA_DIST += $(wildcard $(srcdir)/examples/*.c $(srcdir)/examples/*.py $(srcdir)/examples/*.yaml)
