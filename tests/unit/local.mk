# tests/unit: one test a source file. A test is three lines:
#     check_PROGRAMS += tests/unit/buf
#     TESTS += tests/unit/buf
#     tests_unit_buf_LDADD = libbase.la        (libpssh-all.la, libconf.la …)

check_PROGRAMS += tests/unit/fold tests/unit/diff tests/unit/flat
TESTS += tests/unit/fold tests/unit/diff tests/unit/flat
tests_unit_fold_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_diff_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_flat_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/buf tests/unit/loop tests/unit/str tests/unit/table tests/unit/hosts tests/unit/sshconfig \
	tests/unit/sshcompare
TESTS += tests/unit/buf tests/unit/loop tests/unit/str tests/unit/table tests/unit/hosts tests/unit/sshconfig \
	tests/unit/sshcompare
tests_unit_buf_LDADD = libbase.la
tests_unit_loop_LDADD = libbase.la
tests_unit_str_LDADD = libbase.la
tests_unit_table_LDADD = libbase.la
tests_unit_hosts_LDADD = libpssh-all.la
tests_unit_sshconfig_LDADD = libpssh-all.la
tests_unit_sshcompare_LDADD = libpssh-all.la

check_PROGRAMS += tests/unit/option tests/unit/value tests/unit/json tests/unit/settings tests/unit/conf
TESTS += tests/unit/option tests/unit/value tests/unit/json tests/unit/settings tests/unit/conf
tests_unit_option_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_value_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_json_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_settings_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_conf_LDADD = libconf.la libbase.la

check_PROGRAMS += tests/unit/key tests/unit/agent tests/unit/knownhosts
TESTS += tests/unit/key tests/unit/agent tests/unit/knownhosts
tests_unit_key_LDADD = libpssh-all.la $(SSH2_LIBS) $(CRYPTO_LIBS)
tests_unit_agent_LDADD = libpssh-all.la
tests_unit_knownhosts_LDADD = libpssh-all.la

check_PROGRAMS += tests/unit/copy tests/unit/copyfault
TESTS += tests/unit/copy tests/unit/copyfault
tests_unit_copy_SOURCES = tests/unit/copy.c tests/unit/copyway.h
tests_unit_copyfault_SOURCES = tests/unit/copyfault.c tests/unit/copyway.h
tests_unit_copy_LDADD = libpssh-all.la
tests_unit_copyfault_LDADD = libpssh-all.la

check_PROGRAMS += tests/unit/save
TESTS += tests/unit/save
tests_unit_save_LDADD = libcli.la libpssh-all.la libbase.la
