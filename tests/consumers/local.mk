# tests/consumers: programs as others write them, each built from an installed library and by pkg-config alone.
consumers_tests = tests/consumers/consumers.t tests/consumers/alone.t
TESTS += $(consumers_tests)
tests/consumers/consumers.log: $(lib_LTLIBRARIES) $(archive_DATA)
EXTRA_DIST += $(consumers_tests) tests/consumers/glib.c tests/consumers/uv.c tests/consumers/static.c \
	tests/consumers/raii.cc
