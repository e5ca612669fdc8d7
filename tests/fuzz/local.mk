# tests/fuzz: each target with replay.c as its main() goes over its corpus in `make check`:
#     check_PROGRAMS += tests/fuzz/hosts
#     TESTS += tests/fuzz/hosts
#     tests_fuzz_hosts_SOURCES = tests/fuzz/hosts.c tests/fuzz/replay.c
#     tests_fuzz_hosts_LDADD = libpssh-all.la
EXTRA_DIST += tests/fuzz/fuzz.sh $(wildcard $(srcdir)/tests/fuzz/corpus/*/*)

check_PROGRAMS += tests/fuzz/hosts tests/fuzz/sshconfig
TESTS += tests/fuzz/hosts tests/fuzz/sshconfig
tests_fuzz_hosts_SOURCES = tests/fuzz/hosts.c tests/fuzz/replay.c
tests_fuzz_hosts_LDADD = libpssh-all.la
tests_fuzz_sshconfig_SOURCES = tests/fuzz/sshconfig.c tests/fuzz/replay.c
tests_fuzz_sshconfig_LDADD = libpssh-all.la

check_PROGRAMS += tests/fuzz/conf tests/fuzz/argv
TESTS += tests/fuzz/conf tests/fuzz/argv
tests_fuzz_conf_SOURCES = tests/fuzz/conf.c tests/fuzz/replay.c
tests_fuzz_conf_LDADD = libconf.la libbase.la
tests_fuzz_argv_SOURCES = tests/fuzz/argv.c tests/fuzz/replay.c
tests_fuzz_argv_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/fuzz/key tests/fuzz/knownhosts
TESTS += tests/fuzz/key tests/fuzz/knownhosts
tests_fuzz_key_SOURCES = tests/fuzz/key.c tests/fuzz/replay.c
tests_fuzz_key_LDADD = libpssh-all.la
tests_fuzz_knownhosts_SOURCES = tests/fuzz/knownhosts.c tests/fuzz/replay.c
tests_fuzz_knownhosts_LDADD = libpssh-all.la

check_PROGRAMS += tests/fuzz/sftp
TESTS += tests/fuzz/sftp
tests_fuzz_sftp_SOURCES = tests/fuzz/sftp.c tests/fuzz/replay.c
tests_fuzz_sftp_LDADD = libpssh-all.la

check_PROGRAMS += tests/fuzz/flat
TESTS += tests/fuzz/flat
tests_fuzz_flat_SOURCES = tests/fuzz/flat.c tests/fuzz/replay.c
tests_fuzz_flat_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/fuzz/journal
TESTS += tests/fuzz/journal
tests_fuzz_journal_SOURCES = tests/fuzz/journal.c tests/fuzz/replay.c
tests_fuzz_journal_LDADD = libstore.la libbase.la

check_PROGRAMS += tests/fuzz/cursor
TESTS += tests/fuzz/cursor
tests_fuzz_cursor_SOURCES = tests/fuzz/cursor.c tests/fuzz/replay.c
tests_fuzz_cursor_LDADD = libapi.la libmarket.la libbase.la

check_PROGRAMS += tests/fuzz/http
TESTS += tests/fuzz/http
tests_fuzz_http_SOURCES = tests/fuzz/http.c tests/fuzz/replay.c
tests_fuzz_http_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_http_LDADD = libmarketd.la

check_PROGRAMS += tests/fuzz/money tests/fuzz/when tests/fuzz/wire
TESTS += tests/fuzz/money tests/fuzz/when tests/fuzz/wire
tests_fuzz_money_SOURCES = tests/fuzz/money.c tests/fuzz/replay.c
tests_fuzz_money_LDADD = libmarket.la libbase.la
tests_fuzz_when_SOURCES = tests/fuzz/when.c tests/fuzz/replay.c
tests_fuzz_when_LDADD = libmarket.la libbase.la
tests_fuzz_wire_SOURCES = tests/fuzz/wire.c tests/fuzz/replay.c
tests_fuzz_wire_LDADD = libmarket.la libbase.la

check_PROGRAMS += tests/fuzz/requirements
TESTS += tests/fuzz/requirements
tests_fuzz_requirements_SOURCES = tests/fuzz/requirements.c tests/fuzz/replay.c
tests_fuzz_requirements_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_requirements_LDADD = libapi.la libstore.la libengine.la libmarket.la libbase.la $(JANSSON_LIBS)

check_PROGRAMS += tests/fuzz/userdata tests/fuzz/work
TESTS += tests/fuzz/userdata tests/fuzz/work
tests_fuzz_userdata_SOURCES = tests/fuzz/userdata.c tests/fuzz/replay.c
tests_fuzz_userdata_LDADD = libagent.la
tests_fuzz_work_SOURCES = tests/fuzz/work.c tests/fuzz/replay.c
tests_fuzz_work_LDADD = libagent.la

check_PROGRAMS += tests/fuzz/remotewire
TESTS += tests/fuzz/remotewire
tests_fuzz_remotewire_SOURCES = tests/fuzz/remotewire.c tests/fuzz/replay.c
tests_fuzz_remotewire_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/fuzz/cluster tests/fuzz/stack tests/fuzz/facts
TESTS += tests/fuzz/cluster tests/fuzz/stack tests/fuzz/facts
tests_fuzz_cluster_SOURCES = tests/fuzz/cluster.c tests/fuzz/replay.c
tests_fuzz_cluster_LDADD = libcli.la libpssh-all.la libbase.la
tests_fuzz_stack_SOURCES = tests/fuzz/stack.c tests/fuzz/replay.c
tests_fuzz_stack_LDADD = libcli.la libpssh-all.la libbase.la
tests_fuzz_facts_SOURCES = tests/fuzz/facts.c tests/fuzz/replay.c
tests_fuzz_facts_LDADD = libcli.la libpssh-all.la libbase.la
