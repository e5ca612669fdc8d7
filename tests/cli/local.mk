# tests/cli: the command line, one test a command.

cli_tests_core = tests/cli/help.t tests/cli/version.t tests/cli/completion.t tests/cli/config.t tests/cli/doctor.t \
	tests/cli/usage.t
TESTS += $(cli_tests_core)
EXTRA_DIST += $(cli_tests_core)
