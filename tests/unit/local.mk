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

check_PROGRAMS += tests/unit/loglevel tests/unit/logmerge tests/unit/logsource tests/unit/logtime
TESTS += tests/unit/loglevel tests/unit/logmerge tests/unit/logsource tests/unit/logtime
tests_unit_loglevel_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_logmerge_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_logsource_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_logtime_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/save
TESTS += tests/unit/save
tests_unit_save_LDADD = libcli.la libpssh-all.la libbase.la

check_PROGRAMS += tests/unit/journal tests/unit/chain tests/unit/store tests/unit/storefault tests/unit/storetorn \
	tests/unit/marketcore tests/unit/watch
TESTS += tests/unit/journal tests/unit/chain tests/unit/store tests/unit/storefault tests/unit/storetorn \
	tests/unit/marketcore tests/unit/watch
tests_unit_store_SOURCES = tests/unit/store.c tests/unit/storelists.h tests/unit/storemake.h tests/unit/storesuite.h
tests_unit_storefault_SOURCES = tests/unit/storefault.c tests/unit/storemake.h
tests_unit_storetorn_SOURCES = tests/unit/storetorn.c tests/unit/storemake.h
tests_unit_marketcore_SOURCES = tests/unit/marketcore.c
tests_unit_journal_LDADD = libstore.la libbase.la
tests_unit_chain_LDADD = libstore.la libengine.la libbase.la $(CRYPTO_LIBS)
tests_unit_store_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_unit_storefault_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_storetorn_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_watch_LDADD = libstore.la libengine.la libmarket.la libbase.la
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
check_PROGRAMS += tests/unit/engine tests/unit/engineagent tests/unit/enginelease tests/unit/engineafter tests/unit/enginekeep \
	tests/unit/engineshelf
TESTS += tests/unit/engine tests/unit/engineagent tests/unit/enginelease tests/unit/engineafter tests/unit/enginekeep \
	tests/unit/engineshelf
tests_unit_engine_SOURCES = tests/unit/engine.c tests/unit/enginemarket.h
tests_unit_engineagent_SOURCES = tests/unit/engineagent.c tests/unit/enginemarket.h
tests_unit_engineagent_LDADD = libengine.la libbase.la
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

# What a machine has, and how it is: other machines' sysfs, and a stand-in for NVIDIA's library.
check_PROGRAMS += tests/unit/inventory tests/unit/nvml
TESTS += tests/unit/inventory tests/unit/nvml
EXTRA_DIST += tests/fixtures/sysfs/README tests/fixtures/sysfs/arc-a770x2.tree tests/fixtures/sysfs/cpu-only.tree \
	tests/fixtures/sysfs/h100-sxm8.tree tests/fixtures/sysfs/mi300x8.tree tests/fixtures/sysfs/rtx4090x2.tree
tests_unit_inventory_SOURCES = tests/unit/inventory.c tests/unit/inventorytree.h
tests_unit_inventory_LDADD = libinventory.la
tests_unit_nvml_LDADD = libinventory.la
check_PROGRAMS += tests/unit/health
TESTS += tests/unit/health
tests_unit_health_SOURCES = tests/unit/health.c tests/unit/inventorytree.h
tests_unit_health_LDADD = libinventory.la
check_PROGRAMS += tests/unit/verify
TESTS += tests/unit/verify
tests_unit_verify_SOURCES = tests/unit/verify.c tests/unit/inventorytree.h
tests_unit_verify_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_verify_LDADD = libinventory.la libbase.la $(JANSSON_LIBS)

check_PROGRAMS += tests/unit/spawn
TESTS += tests/unit/spawn
tests_unit_spawn_LDADD = libdriverproc.la libbase.la

# Of the agent's drivers: groups, names and addresses, images.
check_PROGRAMS += tests/unit/cgroup tests/unit/image tests/unit/net
TESTS += tests/unit/cgroup tests/unit/image tests/unit/net
tests_unit_cgroup_LDADD = libdriverproc.la libbase.la
tests_unit_image_LDADD = libdriverns.la libdriverproc.la libbase.la $(JANSSON_LIBS)
tests_unit_net_LDADD = libdriverns.la libdriverproc.la libbase.la $(JANSSON_LIBS)

# The agent.
check_PROGRAMS += tests/unit/agentconsole tests/unit/agentkeys tests/unit/agentreconcile
TESTS += tests/unit/agentconsole tests/unit/agentkeys tests/unit/agentreconcile
tests_unit_agentconsole_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentconsole_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentkeys_LDADD = libagent.la
tests_unit_agentreconcile_LDADD = libagent.la

# Of the vm driver: QEMU's monitor, and what a guest is handed.
check_PROGRAMS += tests/unit/qmp tests/unit/vmarchive
TESTS += tests/unit/qmp tests/unit/vmarchive
tests_unit_qmp_LDADD = libdrivervm.la libdriverns.la libdriverproc.la libbase.la $(JANSSON_LIBS)
tests_unit_vmarchive_LDADD = libdrivervm.la libdriverns.la libdriverproc.la libbase.la $(JANSSON_LIBS)

# Provisioning: what is kept, how it is shown, and kubectl's file.
check_PROGRAMS += tests/unit/provision_journal tests/unit/provision_display tests/unit/kubemerge
TESTS += tests/unit/provision_journal tests/unit/provision_display tests/unit/kubemerge
tests_unit_provision_journal_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_display_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_kubemerge_LDADD = libcli.la libpssh-all.la libbase.la

# Provisioning: the order of steps, and what nodes say.
check_PROGRAMS += tests/unit/provision_graph tests/unit/provision_remotewire
TESTS += tests/unit/provision_graph tests/unit/provision_remotewire
tests_unit_provision_graph_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_remotewire_LDADD = libcli.la libpssh-all.la libbase.la

# What is wanted of a cluster, what its nodes say, and what is wrong with them.
check_PROGRAMS += tests/unit/provision_stack tests/unit/provision_cluster tests/unit/provision_write tests/unit/provision_facts \
	tests/unit/provision_gate
TESTS += tests/unit/provision_stack tests/unit/provision_cluster tests/unit/provision_write tests/unit/provision_facts \
	tests/unit/provision_gate
EXTRA_DIST += $(wildcard $(srcdir)/tests/fixtures/stacks/*/*)
tests_unit_provision_stack_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_cluster_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_write_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_facts_LDADD = libcli.la libpssh-all.la libbase.la
tests_unit_provision_gate_LDADD = libcli.la libpssh-all.la libbase.la
