# tests/meta: rules that hold themselves.
tests_meta = \
	tests/meta/layers.t \
	tests/meta/symbols.t \
	tests/meta/headers.t \
	tests/meta/style.t \
	tests/meta/man.t \
	tests/meta/examples.t
TESTS += $(tests_meta)
EXTRA_DIST += $(tests_meta) tests/meta/arrows tests/meta/exceptions
