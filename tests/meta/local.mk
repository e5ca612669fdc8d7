# tests/meta: rules that hold themselves.
tests_meta = \
	tests/meta/docs.t \
	tests/meta/layers.t \
	tests/meta/symbols.t \
	tests/meta/headers.t \
	tests/meta/style.t \
	tests/meta/man.t \
	tests/meta/examples.t \
	tests/meta/libc.t \
	tests/meta/leaves.t \
	tests/meta/words.t
TESTS += $(tests_meta)
# What is built: its objects' arrows, the symbols of the library, what a command says of itself, what is installed.
tests/meta/layers.log tests/meta/examples.log: $(node_programs) $(lib_LTLIBRARIES)
tests/meta/symbols.log tests/meta/libc.log: $(lib_LTLIBRARIES)
tests/meta/man.log: $(bin_PROGRAMS)
EXTRA_DIST += $(tests_meta) tests/meta/arrows tests/meta/exceptions tests/meta/phrases
