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

check_PROGRAMS += tests/unit/journal tests/unit/chain tests/unit/store tests/unit/storefault tests/unit/storetorn \
	tests/unit/marketcore
TESTS += tests/unit/journal tests/unit/chain tests/unit/store tests/unit/storefault tests/unit/storetorn \
	tests/unit/marketcore
tests_unit_store_SOURCES = tests/unit/store.c tests/unit/storelists.h tests/unit/storemake.h tests/unit/storesuite.h
tests_unit_storefault_SOURCES = tests/unit/storefault.c tests/unit/storemake.h
tests_unit_storetorn_SOURCES = tests/unit/storetorn.c tests/unit/storemake.h
tests_unit_marketcore_SOURCES = tests/unit/marketcore.c
tests_unit_journal_LDADD = libstore.la libbase.la
tests_unit_chain_LDADD = libstore.la libengine.la libbase.la $(CRYPTO_LIBS)
tests_unit_store_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_unit_storefault_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_storetorn_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_marketcore_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)

check_PROGRAMS += tests/unit/window tests/unit/intent tests/unit/buying
TESTS += tests/unit/window tests/unit/intent tests/unit/buying
tests_unit_window_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_intent_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_buying_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/cursor
TESTS += tests/unit/cursor
tests_unit_cursor_LDADD = libapiv2.la libmarket.la libbase.la

check_PROGRAMS += tests/unit/schema tests/unit/uri
TESTS += tests/unit/schema tests/unit/uri
tests_unit_schema_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_schema_LDADD = libmarketd.la
tests_unit_uri_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_uri_LDADD = libmarketd.la

check_PROGRAMS += tests/unit/money tests/unit/ident tests/unit/when tests/unit/wire tests/unit/client
TESTS += tests/unit/money tests/unit/ident tests/unit/when tests/unit/wire tests/unit/client
tests_unit_money_LDADD = libmarket.la libbase.la
tests_unit_ident_LDADD = libmarket.la libbase.la
tests_unit_when_LDADD = libmarket.la libbase.la
tests_unit_wire_LDADD = libmarket.la libbase.la
tests_unit_client_LDADD = libmarket.la libbase.la

check_PROGRAMS += tests/unit/route
TESTS += tests/unit/route
tests_unit_route_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_route_LDADD = libmarketd.la

# The market's engine.
check_PROGRAMS += tests/unit/engine tests/unit/enginelease tests/unit/engineafter tests/unit/enginekeep \
	tests/unit/engineshelf
TESTS += tests/unit/engine tests/unit/enginelease tests/unit/engineafter tests/unit/enginekeep \
	tests/unit/engineshelf
tests_unit_engine_SOURCES = tests/unit/engine.c tests/unit/enginemarket.h
tests_unit_enginelease_SOURCES = tests/unit/enginelease.c tests/unit/enginemarket.h
tests_unit_engineafter_SOURCES = tests/unit/engineafter.c tests/unit/enginemarket.h
tests_unit_enginekeep_SOURCES = tests/unit/enginekeep.c tests/unit/enginemarket.h
tests_unit_engine_LDADD = libengine.la libbase.la
tests_unit_enginelease_LDADD = libengine.la libbase.la
tests_unit_engineafter_LDADD = libengine.la libbase.la
tests_unit_enginekeep_LDADD = libengine.la libbase.la
tests_unit_engineshelf_SOURCES = tests/unit/engineshelf.c tests/unit/enginemarket.h
tests_unit_engineshelf_LDADD = libengine.la libbase.la

check_PROGRAMS += tests/unit/file
TESTS += tests/unit/file
tests_unit_file_LDADD = libbase.la
