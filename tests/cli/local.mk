# tests/cli: the command line, one test a command.

cli_tests_core = tests/cli/help.t tests/cli/version.t tests/cli/completion.t tests/cli/config.t tests/cli/doctor.t \
	tests/cli/usage.t
TESTS += $(cli_tests_core)
EXTRA_DIST += $(cli_tests_core)

# What only a terminal shows.
check_PROGRAMS += tests/lib/pty
tests_lib_pty_SOURCES = tests/lib/pty.c
tests_lib_pty_LDADD = -lutil

cli_hosts_tests = tests/cli/cp.t tests/cli/hosts.t tests/cli/run.t tests/cli/shell.t tests/cli/ssh.t
TESTS += $(cli_hosts_tests)
EXTRA_DIST += $(cli_hosts_tests)
