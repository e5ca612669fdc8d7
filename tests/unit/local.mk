# tests/unit: one test a source file. A test is three lines:
#     check_PROGRAMS += tests/unit/buf
#     TESTS += tests/unit/buf
#     tests_unit_buf_LDADD = libbase.la        (libpssh-all.la, libconf.la …)

check_PROGRAMS += tests/unit/cli/fold tests/unit/cli/diff tests/unit/cli/flat
TESTS += tests/unit/cli/fold tests/unit/cli/diff tests/unit/cli/flat
tests_unit_cli_fold_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_diff_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_flat_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/base64 tests/unit/buf tests/unit/loop tests/unit/str tests/unit/table tests/unit/pssh/hosts tests/unit/pssh/sshconfig \
	tests/unit/pssh/sshcompare
TESTS += tests/unit/base64 tests/unit/buf tests/unit/loop tests/unit/str tests/unit/table tests/unit/pssh/hosts tests/unit/pssh/sshconfig \
	tests/unit/pssh/sshcompare
tests_unit_base64_LDADD = libbase.la
tests_unit_buf_LDADD = libbase.la
tests_unit_loop_LDADD = libbase.la
tests_unit_str_LDADD = libbase.la
tests_unit_table_LDADD = libbase.la
tests_unit_pssh_hosts_LDADD = libpssh-all.la
tests_unit_pssh_sshconfig_LDADD = libpssh-all.la
tests_unit_pssh_sshcompare_LDADD = libpssh-all.la

check_PROGRAMS += tests/unit/cli/option tests/unit/cli/value tests/unit/cli/json tests/unit/cli/settings tests/unit/conf
TESTS += tests/unit/cli/option tests/unit/cli/value tests/unit/cli/json tests/unit/cli/settings tests/unit/conf
tests_unit_cli_option_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_value_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_json_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_settings_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_conf_LDADD = libconf.la libbase.la

check_PROGRAMS += tests/unit/pssh/key tests/unit/pssh/agent tests/unit/pssh/knownhosts
TESTS += tests/unit/pssh/key tests/unit/pssh/agent tests/unit/pssh/knownhosts
tests_unit_pssh_key_LDADD = libpssh-all.la $(SSH2_LIBS) $(CRYPTO_LIBS)
tests_unit_pssh_agent_LDADD = libpssh-all.la
tests_unit_pssh_knownhosts_LDADD = libpssh-all.la

check_PROGRAMS += tests/unit/pssh/copy tests/unit/pssh/copyfault
TESTS += tests/unit/pssh/copy tests/unit/pssh/copyfault
tests_unit_pssh_copy_SOURCES = tests/unit/pssh/copy.c tests/unit/pssh/copyway.h
tests_unit_pssh_copyfault_SOURCES = tests/unit/pssh/copyfault.c tests/unit/pssh/copyway.h
tests_unit_pssh_copy_LDADD = libpssh-all.la
tests_unit_pssh_copyfault_LDADD = libpssh-all.la

check_PROGRAMS += tests/unit/cli/loglevel tests/unit/cli/logmerge tests/unit/cli/logsource tests/unit/cli/logtime
TESTS += tests/unit/cli/loglevel tests/unit/cli/logmerge tests/unit/cli/logsource tests/unit/cli/logtime
tests_unit_cli_loglevel_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_logmerge_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_logsource_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_logtime_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/cli/save
TESTS += tests/unit/cli/save
tests_unit_cli_save_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/marketd/journal tests/unit/marketd/chain tests/unit/marketd/store tests/unit/marketd/storefault tests/unit/marketd/storetorn \
	tests/unit/marketd/marketcore tests/unit/marketd/watch
TESTS += tests/unit/marketd/journal tests/unit/marketd/chain tests/unit/marketd/store tests/unit/marketd/storefault tests/unit/marketd/storetorn \
	tests/unit/marketd/marketcore tests/unit/marketd/watch
tests_unit_marketd_store_SOURCES = tests/unit/marketd/store.c tests/unit/marketd/storelists.h tests/unit/marketd/storemake.h tests/unit/marketd/storesuite.h
tests_unit_marketd_storefault_SOURCES = tests/unit/marketd/storefault.c tests/unit/marketd/storemake.h
tests_unit_marketd_storetorn_SOURCES = tests/unit/marketd/storetorn.c tests/unit/marketd/storemake.h
tests_unit_marketd_marketcore_SOURCES = tests/unit/marketd/marketcore.c
tests_unit_marketd_journal_LDADD = libstore.la libbase.la
tests_unit_marketd_chain_LDADD = libstore.la libengine.la libbase.la $(CRYPTO_LIBS)
tests_unit_marketd_store_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_unit_marketd_storefault_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_marketd_storetorn_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_marketd_watch_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_unit_marketd_marketcore_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)

check_PROGRAMS += tests/unit/cli/window tests/unit/cli/resume_file tests/unit/cli/buying
TESTS += tests/unit/cli/window tests/unit/cli/resume_file tests/unit/cli/buying
tests_unit_cli_window_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_resume_file_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_cli_buying_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/marketd/cursor
TESTS += tests/unit/marketd/cursor
tests_unit_marketd_cursor_LDADD = libapi.la libmarket.la libbase.la

check_PROGRAMS += tests/unit/marketd/schema tests/unit/marketd/uri
TESTS += tests/unit/marketd/schema tests/unit/marketd/uri
tests_unit_marketd_schema_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_schema_LDADD = libmarketd.la
tests_unit_marketd_uri_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_uri_LDADD = libmarketd.la

check_PROGRAMS += tests/unit/money tests/unit/ident tests/unit/when tests/unit/wire tests/unit/client
TESTS += tests/unit/money tests/unit/ident tests/unit/when tests/unit/wire tests/unit/client
tests_unit_money_LDADD = libmarket.la libbase.la
tests_unit_ident_LDADD = libmarket.la libbase.la
tests_unit_when_LDADD = libmarket.la libbase.la
tests_unit_wire_LDADD = libmarket.la libbase.la
tests_unit_client_LDADD = libmarket.la libbase.la

check_PROGRAMS += tests/unit/marketd/route
TESTS += tests/unit/marketd/route
tests_unit_marketd_route_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_route_LDADD = libmarketd.la

# The market's engine.
check_PROGRAMS += tests/unit/marketd/engine tests/unit/marketd/engineagent tests/unit/marketd/enginelease tests/unit/marketd/engineafter tests/unit/marketd/enginekeep \
	tests/unit/marketd/engineoffers
TESTS += tests/unit/marketd/engine tests/unit/marketd/engineagent tests/unit/marketd/enginelease tests/unit/marketd/engineafter tests/unit/marketd/enginekeep \
	tests/unit/marketd/engineoffers
tests_unit_marketd_engine_SOURCES = tests/unit/marketd/engine.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineagent_SOURCES = tests/unit/marketd/engineagent.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineagent_LDADD = libengine.la libbase.la
tests_unit_marketd_enginelease_SOURCES = tests/unit/marketd/enginelease.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineafter_SOURCES = tests/unit/marketd/engineafter.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_enginekeep_SOURCES = tests/unit/marketd/enginekeep.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engine_LDADD = libengine.la libbase.la
tests_unit_marketd_enginelease_LDADD = libengine.la libbase.la
tests_unit_marketd_engineafter_LDADD = libengine.la libbase.la
tests_unit_marketd_enginekeep_LDADD = libengine.la libbase.la
tests_unit_marketd_engineoffers_SOURCES = tests/unit/marketd/engineoffers.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineoffers_LDADD = libengine.la libbase.la

check_PROGRAMS += tests/unit/file
TESTS += tests/unit/file
tests_unit_file_LDADD = libbase.la

# What a machine has, and how it is: other machines' sysfs, and a stand-in for NVIDIA's library.
check_PROGRAMS += tests/unit/agentd/inventory tests/unit/agentd/nvml
TESTS += tests/unit/agentd/inventory tests/unit/agentd/nvml
EXTRA_DIST += tests/fixtures/sysfs/README tests/fixtures/sysfs/arc-a770x2.tree tests/fixtures/sysfs/cpu-only.tree \
	tests/fixtures/sysfs/h100-sxm8.tree tests/fixtures/sysfs/mi300x8.tree tests/fixtures/sysfs/rtx4090x2.tree
tests_unit_agentd_inventory_SOURCES = tests/unit/agentd/inventory.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_inventory_LDADD = libinventory.la
tests_unit_agentd_nvml_LDADD = libinventory.la
# What these open as they run.
EXTRA_tests_unit_agentd_inventory_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_nvml_DEPENDENCIES = tests/lib/fakenvml.la tests/lib/fakenvmllacks.la
EXTRA_tests_unit_agentd_health_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_verify_DEPENDENCIES = tests/lib/fakecuda.la
check_PROGRAMS += tests/unit/agentd/health
TESTS += tests/unit/agentd/health
tests_unit_agentd_health_SOURCES = tests/unit/agentd/health.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_health_LDADD = libinventory.la
check_PROGRAMS += tests/unit/agentd/verify
TESTS += tests/unit/agentd/verify
tests_unit_agentd_verify_SOURCES = tests/unit/agentd/verify.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_verify_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_verify_LDADD = libinventory.la libbase.la $(JANSSON_LIBS)

check_PROGRAMS += tests/unit/agentd/spawn
TESTS += tests/unit/agentd/spawn
tests_unit_agentd_spawn_LDADD = libos.la libbase.la

# Of the agent's drivers: groups, names and addresses, images.
check_PROGRAMS += tests/unit/agentd/cgroup tests/unit/agentd/image tests/unit/agentd/net
TESTS += tests/unit/agentd/cgroup tests/unit/agentd/image tests/unit/agentd/net
tests_unit_agentd_cgroup_LDADD = libos.la libbase.la
tests_unit_agentd_image_LDADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_net_LDADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)

# The agent.
check_PROGRAMS += tests/unit/agentd/console tests/unit/agentd/keys tests/unit/agentd/reconcile
TESTS += tests/unit/agentd/console tests/unit/agentd/keys tests/unit/agentd/reconcile
tests_unit_agentd_console_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_console_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_keys_LDADD = libagent.la
tests_unit_agentd_reconcile_LDADD = libagent.la

# Of the vm driver: QEMU's monitor, and what a guest is handed.
check_PROGRAMS += tests/unit/agentd/qmp tests/unit/agentd/archive
TESTS += tests/unit/agentd/qmp tests/unit/agentd/archive
tests_unit_agentd_qmp_LDADD = libdrivervm.la libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_archive_LDADD = libdrivervm.la libdriverns.la libos.la libbase.la $(JANSSON_LIBS)

# Provisioning: what is kept, how it is shown, and kubectl's file.
check_PROGRAMS += tests/unit/provision/runlog tests/unit/provision/display tests/unit/provision/kubemerge
TESTS += tests/unit/provision/runlog tests/unit/provision/display tests/unit/provision/kubemerge
tests_unit_provision_runlog_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_display_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_kubemerge_LDADD = libcli.la libpssh-all.la libbase.la

# Provisioning: the order of steps, and what nodes say.
check_PROGRAMS += tests/unit/provision/graph tests/unit/provision/remotewire
TESTS += tests/unit/provision/graph tests/unit/provision/remotewire
tests_unit_provision_graph_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_remotewire_LDADD = libcli.la libpssh-all.la libbase.la

# What is wanted of a cluster, what its nodes say, and what is wrong with them.
check_PROGRAMS += tests/unit/provision/stack tests/unit/provision/cluster tests/unit/provision/write tests/unit/provision/facts \
	tests/unit/provision/gate
TESTS += tests/unit/provision/stack tests/unit/provision/cluster tests/unit/provision/write tests/unit/provision/facts \
	tests/unit/provision/gate
EXTRA_DIST += $(wildcard $(srcdir)/tests/fixtures/stacks/*/*)
tests_unit_provision_stack_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_cluster_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_write_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_facts_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_gate_LDADD = libcli.la libpssh-all.la libbase.la
