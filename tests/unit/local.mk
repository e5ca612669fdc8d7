# tests/unit: one test a source file, or a part of what several do together. A test stands in its room's list, and says
# what it links: tests_unit_buf_LDADD = libbase.la. One of the command's says nothing.

# lib/base.
unit_tests_base = tests/unit/base64 tests/unit/buf tests/unit/door tests/unit/file tests/unit/keccak tests/unit/loop \
	tests/unit/secret tests/unit/str tests/unit/table
check_PROGRAMS += $(unit_tests_base)
TESTS += $(unit_tests_base)
tests_unit_base64_LDADD = libbase.la
tests_unit_buf_LDADD = libbase.la
tests_unit_door_LDADD = libbase.la
tests_unit_file_LDADD = libbase.la
tests_unit_keccak_LDADD = libbase.la
tests_unit_loop_LDADD = libbase.la
tests_unit_secret_LDADD = libbase.la
tests_unit_str_LDADD = libbase.la
tests_unit_table_LDADD = libbase.la

# lib/conf.
unit_tests_conf = tests/unit/conf
check_PROGRAMS += $(unit_tests_conf)
TESTS += $(unit_tests_conf)
tests_unit_conf_LDADD = libconf.la libbase.la

# lib/market: what the command and the daemons know of the API.
unit_tests_market = tests/unit/claims tests/unit/client tests/unit/ident tests/unit/money tests/unit/share \
	tests/unit/when tests/unit/wire
check_PROGRAMS += $(unit_tests_market)
TESTS += $(unit_tests_market)
tests_unit_claims_LDADD = libmarket.la libbase.la $(CRYPTO_LIBS)
tests_unit_client_LDADD = libmarket.la libbase.la
tests_unit_ident_LDADD = libmarket.la libbase.la
tests_unit_money_LDADD = libmarket.la libbase.la
tests_unit_share_LDADD = libmarket.la libbase.la
tests_unit_when_LDADD = libmarket.la libbase.la
tests_unit_wire_LDADD = libmarket.la libbase.la

# lib/pssh from within; tests/pssh has it by its installed face.
unit_tests_pssh = tests/unit/pssh/agent tests/unit/pssh/copy tests/unit/pssh/copyfault \
	tests/unit/pssh/copypattern tests/unit/pssh/copytask tests/unit/pssh/forward tests/unit/pssh/hosts \
	tests/unit/pssh/keeplist tests/unit/pssh/key tests/unit/pssh/knownhosts tests/unit/pssh/sshcompare \
	tests/unit/pssh/sshconfig
check_PROGRAMS += $(unit_tests_pssh)
TESTS += $(unit_tests_pssh)
tests_unit_pssh_agent_LDADD = libpssh-all.la
tests_unit_pssh_copy_SOURCES = tests/unit/pssh/copy.c tests/unit/pssh/copyway.h
tests_unit_pssh_copy_LDADD = libpssh-all.la
tests_unit_pssh_copyfault_SOURCES = tests/unit/pssh/copyfault.c tests/unit/pssh/copyway.h
tests_unit_pssh_copyfault_LDADD = libpssh-all.la
tests_unit_pssh_copypattern_SOURCES = tests/unit/pssh/copypattern.c tests/unit/pssh/copyway.h
tests_unit_pssh_copypattern_LDADD = libpssh-all.la
tests_unit_pssh_copytask_LDADD = libpssh-all.la
tests_unit_pssh_forward_LDADD = libpssh-all.la
tests_unit_pssh_hosts_LDADD = libpssh-all.la
tests_unit_pssh_keeplist_LDADD = libpssh-all.la
tests_unit_pssh_key_LDADD = libpssh-all.la $(SSH2_LIBS) $(CRYPTO_LIBS)
tests_unit_pssh_knownhosts_LDADD = libpssh-all.la
tests_unit_pssh_sshcompare_LDADD = libpssh-all.la
tests_unit_pssh_sshconfig_LDADD = libpssh-all.la

# The command: LDADD in Makefile.am has its libraries.
unit_tests_cli = tests/unit/cli/buying tests/unit/cli/diff tests/unit/cli/fit tests/unit/cli/flat \
	tests/unit/cli/fold tests/unit/cli/hours tests/unit/cli/json tests/unit/cli/keystream tests/unit/cli/localsize \
	tests/unit/cli/loglevel tests/unit/cli/logmerge tests/unit/cli/logsource tests/unit/cli/logtime \
	tests/unit/cli/option tests/unit/cli/resume_file tests/unit/cli/progress tests/unit/cli/save \
	tests/unit/cli/refused \
	tests/unit/cli/scalejobs \
	tests/unit/cli/settings tests/unit/cli/spark tests/unit/cli/treeplan tests/unit/cli/value \
	tests/unit/cli/watchpage tests/unit/cli/window
check_PROGRAMS += $(unit_tests_cli)
TESTS += $(unit_tests_cli)

# Provisioning, as well.
unit_tests_provision = tests/unit/provision/cluster tests/unit/provision/display tests/unit/provision/facts \
	tests/unit/provision/gate tests/unit/provision/graph tests/unit/provision/kubemerge \
	tests/unit/provision/remotewire tests/unit/provision/runlog tests/unit/provision/stack \
	tests/unit/provision/users tests/unit/provision/write
check_PROGRAMS += $(unit_tests_provision)
TESTS += $(unit_tests_provision)
EXTRA_DIST += $(wildcard $(srcdir)/tests/fixtures/stacks/*/*)

# The market: store, engine, HTTP and API.
unit_tests_marketd = tests/unit/marketd/chain tests/unit/marketd/cursor tests/unit/marketd/engine \
	tests/unit/marketd/engineafter tests/unit/marketd/engineagent tests/unit/marketd/enginekeep \
	tests/unit/marketd/enginelease tests/unit/marketd/engineoffers tests/unit/marketd/enginerenew \
	tests/unit/marketd/journal tests/unit/marketd/jwt tests/unit/marketd/marketcore tests/unit/marketd/outward \
	tests/unit/marketd/issuer tests/unit/marketd/policy \
	tests/unit/marketd/priceweek tests/unit/marketd/siwe \
	tests/unit/marketd/tally tests/unit/marketd/ring \
	tests/unit/marketd/route tests/unit/marketd/schema tests/unit/marketd/spool \
	tests/unit/marketd/store tests/unit/marketd/storefault \
	tests/unit/marketd/storetorn \
	tests/unit/marketd/transfers tests/unit/marketd/uri tests/unit/marketd/usagememory tests/unit/marketd/watch \
	tests/unit/marketd/watchhold
check_PROGRAMS += $(unit_tests_marketd)
TESTS += $(unit_tests_marketd)
tests_unit_marketd_ring_LDADD = libseries.la libbase.la
tests_unit_marketd_chain_LDADD = libstore.la libengine.la libmarket.la libbase.la $(CRYPTO_LIBS)
tests_unit_marketd_cursor_LDADD = libapi.la libmarket.la libbase.la
tests_unit_marketd_engine_SOURCES = tests/unit/marketd/engine.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engine_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_engineafter_SOURCES = tests/unit/marketd/engineafter.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineafter_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_engineagent_SOURCES = tests/unit/marketd/engineagent.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineagent_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_enginekeep_SOURCES = tests/unit/marketd/enginekeep.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_enginekeep_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_enginelease_SOURCES = tests/unit/marketd/enginelease.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_enginelease_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_engineoffers_SOURCES = tests/unit/marketd/engineoffers.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_engineoffers_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_enginerenew_SOURCES = tests/unit/marketd/enginerenew.c tests/unit/marketd/enginemarket.h
tests_unit_marketd_enginerenew_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=round_survey
tests_unit_marketd_enginerenew_LDADD = libengine.la libmarket.la libbase.la
tests_unit_marketd_journal_LDADD = libstore.la libbase.la
tests_unit_marketd_issuer_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_issuer_LDADD = liboidc.la
tests_unit_marketd_jwt_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_jwt_LDADD = liboidc.la
tests_unit_marketd_marketcore_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_marketd_policy_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_policy_LDADD = libpolicy.la libconf.la libmarket.la libbase.la $(JANSSON_LIBS)
# Its getaddrinfo() stands for the library's.
tests_unit_marketd_outward_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_unit_marketd_outward_LDADD = liboutward.la
tests_unit_marketd_priceweek_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_priceweek_LDADD = libmarketd.la
tests_unit_marketd_siwe_LDADD = libpassport.la
tests_unit_marketd_tally_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_tally_LDADD = libmarketd.la
tests_unit_marketd_route_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_route_LDADD = libmarketd.la
tests_unit_marketd_schema_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_schema_LDADD = libmarketd.la
tests_unit_marketd_spool_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_spool_LDADD = libproxy.la libbase.la $(JANSSON_LIBS)
tests_unit_marketd_store_SOURCES = tests/unit/marketd/store.c tests/unit/marketd/storelists.h \
	tests/unit/marketd/storemake.h tests/unit/marketd/storesuite.h
tests_unit_marketd_store_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_unit_marketd_storefault_SOURCES = tests/unit/marketd/storefault.c tests/unit/marketd/storemake.h
tests_unit_marketd_storefault_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_marketd_storetorn_SOURCES = tests/unit/marketd/storetorn.c tests/unit/marketd/storemake.h
tests_unit_marketd_storetorn_LDADD = libstore.la libengine.la libmarket.la libbase.la $(SQLITE_LIBS)
tests_unit_marketd_uri_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_uri_LDADD = libmarketd.la
tests_unit_marketd_transfers_SOURCES = tests/unit/marketd/transfers.c tests/unit/marketd/watchmarket.h
tests_unit_marketd_transfers_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_transfers_LDADD = libmarketd.la
tests_unit_marketd_usagememory_SOURCES = tests/unit/marketd/usagememory.c tests/unit/marketd/watchmarket.h
tests_unit_marketd_usagememory_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_marketd_usagememory_LDADD = libmarketd.la
tests_unit_marketd_watch_SOURCES = tests/unit/marketd/watch.c tests/unit/marketd/watchmarket.h
tests_unit_marketd_watch_LDADD = libstore.la libengine.la libmarket.la libbase.la
tests_unit_marketd_watchhold_SOURCES = tests/unit/marketd/watchhold.c tests/unit/marketd/watchmarket.h
tests_unit_marketd_watchhold_LDADD = libstore.la libengine.la libmarket.la libbase.la

# The agent and its drivers; what machines have, by other machines' sysfs and a stand-in for NVIDIA's library.
unit_tests_agentd = tests/unit/agentd/archive tests/unit/agentd/bom tests/unit/agentd/cdi \
	tests/unit/agentd/cgroup tests/unit/agentd/confine tests/unit/agentd/console \
	tests/unit/agentd/gpus tests/unit/agentd/gpushare tests/unit/agentd/gpuslices \
	tests/unit/agentd/gpuslicefaults \
	tests/unit/agentd/gpustep tests/unit/agentd/gputurn tests/unit/agentd/guard tests/unit/agentd/health \
	tests/unit/agentd/httpchild tests/unit/agentd/image tests/unit/agentd/inventory \
	tests/unit/agentd/join tests/unit/agentd/keys tests/unit/agentd/mount tests/unit/agentd/pins \
	tests/unit/agentd/net tests/unit/agentd/nvml tests/unit/agentd/opencl tests/unit/agentd/opening \
	tests/unit/agentd/power tests/unit/agentd/qmp tests/unit/agentd/reconcile tests/unit/agentd/room \
	tests/unit/agentd/sharecheck tests/unit/agentd/spawn tests/unit/agentd/throttle tests/unit/agentd/uplink \
	tests/unit/agentd/verifier tests/unit/agentd/verify tests/unit/agentd/vfio \
	tests/unit/agentd/volumes tests/unit/agentd/volumefaults tests/unit/agentd/waits
check_PROGRAMS += $(unit_tests_agentd)
TESTS += $(unit_tests_agentd)
EXTRA_DIST += $(wildcard $(srcdir)/tests/fixtures/cdi/*)
EXTRA_DIST += tests/fixtures/sysfs/README tests/fixtures/sysfs/arc-a770x2.tree tests/fixtures/sysfs/cpu-only.tree \
	tests/fixtures/sysfs/h100-sxm8.tree tests/fixtures/sysfs/mi300x8.tree tests/fixtures/sysfs/rtx4090x2.tree
tests_unit_agentd_archive_LDADD = libdrivervm.la libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_cdi_SOURCES = tests/unit/agentd/cdi.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_cdi_LDADD = libdevice.la
tests_unit_agentd_cgroup_LDADD = libos.la libbase.la
tests_unit_agentd_confine_LDADD = libos.la libbase.la
tests_unit_agentd_console_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_console_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_bom_SOURCES = tests/unit/agentd/bom.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_bom_LDADD = libagent.la
tests_unit_agentd_gpus_SOURCES = tests/unit/agentd/gpus.c tests/unit/agentd/inventorytree.h \
	tests/unit/agentd/fakebus.h
tests_unit_agentd_gpus_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_gpus_LDADD = libdevice.la $(JANSSON_LIBS)
tests_unit_agentd_gpushare_SOURCES = tests/unit/agentd/gpushare.c tests/unit/agentd/inventorytree.h \
	tests/unit/agentd/fakebus.h
tests_unit_agentd_gpushare_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_gpushare_LDADD = libdevice.la $(JANSSON_LIBS)
tests_unit_agentd_gpuslicefaults_SOURCES = tests/unit/agentd/gpuslicefaults.c tests/unit/agentd/slicetree.h \
	tests/unit/agentd/inventorytree.h tests/unit/agentd/fakebus.h
tests_unit_agentd_gpuslicefaults_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_gpuslicefaults_LDADD = libdevice.la $(JANSSON_LIBS)
tests_unit_agentd_gpuslices_SOURCES = tests/unit/agentd/gpuslices.c tests/unit/agentd/slicetree.h \
	tests/unit/agentd/inventorytree.h tests/unit/agentd/fakebus.h
tests_unit_agentd_gpuslices_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_gpuslices_LDADD = libdevice.la $(JANSSON_LIBS)
tests_unit_agentd_gpustep_SOURCES = tests/unit/agentd/gpustep.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_gpustep_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_gpustep_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_vfio_SOURCES = tests/unit/agentd/vfio.c tests/unit/agentd/inventorytree.h \
	tests/unit/agentd/fakebus.h
tests_unit_agentd_vfio_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_vfio_LDADD = libdevice.la libdrivervm.la $(JANSSON_LIBS)
tests_unit_agentd_guard_LDADD = libos.la libbase.la
tests_unit_agentd_health_SOURCES = tests/unit/agentd/health.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_health_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_health_LDADD = libdevice.la $(JANSSON_LIBS)
tests_unit_agentd_httpchild_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_httpchild_LDADD = libagentmarket.la
tests_unit_agentd_image_LDADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_inventory_SOURCES = tests/unit/agentd/inventory.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_inventory_LDADD = libinventory.la
tests_unit_agentd_join_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_join_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=verb_http -Wl,--wrap=verb_http_session
tests_unit_agentd_gputurn_SOURCES = tests/unit/agentd/gputurn.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_gputurn_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_gputurn_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=inventory_read -Wl,--wrap=health_check
tests_unit_agentd_gputurn_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_join_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_keys_LDADD = libagent.la
tests_unit_agentd_pins_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_pins_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_mount_LDADD = libos.la libbase.la
tests_unit_agentd_net_LDADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_nvml_LDADD = libinventory.la
tests_unit_agentd_opencl_SOURCES = tests/unit/agentd/opencl.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_opencl_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_opencl_LDADD = libinventory.la libmarket.la libbase.la $(JANSSON_LIBS) -ldl
tests_unit_agentd_power_SOURCES = tests/unit/agentd/power.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_power_LDADD = libpower.la
tests_unit_agentd_opening_LDADD = libagent.la
tests_unit_agentd_qmp_LDADD = libdrivervm.la libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_reconcile_LDADD = libagent.la
tests_unit_agentd_room_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_room_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_sharecheck_SOURCES = tests/unit/agentd/sharecheck.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_sharecheck_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_sharecheck_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_spawn_LDADD = libos.la libbase.la
tests_unit_agentd_throttle_LDADD = libos.la libbase.la
tests_unit_agentd_uplink_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=http_child_new -Wl,--wrap=http_child_free \
	-Wl,--wrap=http_child_ask -Wl,--wrap=http_child_wait -Wl,--wrap=clock_gettime
tests_unit_agentd_uplink_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_verifier_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_verifier_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_verify_SOURCES = tests/unit/agentd/verify.c tests/unit/agentd/inventorytree.h
tests_unit_agentd_verify_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_verify_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=speed_round_trip -Wl,--wrap=gpuchild_run
tests_unit_agentd_verify_LDADD = libinventory.la libmarket.la libbase.la $(JANSSON_LIBS)
tests_unit_agentd_volumes_SOURCES = tests/unit/agentd/volumes.c tests/unit/agentd/volumetree.h
tests_unit_agentd_volumes_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_volumes_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mount_file_busy -Wl,--wrap=mount_file_cut \
	-Wl,--wrap=disk_room -Wl,--wrap=buf_read_file -Wl,--wrap=file_replace
tests_unit_agentd_volumes_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_waits_SOURCES = tests/unit/agentd/waits.c
tests_unit_agentd_waits_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_unit_agentd_waits_LDADD = libagent.la $(JANSSON_LIBS)
tests_unit_agentd_volumefaults_SOURCES = tests/unit/agentd/volumefaults.c tests/unit/agentd/volumetree.h
tests_unit_agentd_volumefaults_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=mount_file_busy -Wl,--wrap=mount_file_cut \
	-Wl,--wrap=rename -Wl,--wrap=mkdir -Wl,--wrap=rmdir -Wl,--wrap=unlink -Wl,--wrap=unlinkat \
	-Wl,--wrap=ftruncate -Wl,--wrap=fallocate -Wl,--wrap=spawn_run -Wl,--wrap=buf_read_file -Wl,--wrap=stat
tests_unit_agentd_volumefaults_LDADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)
# What these open as they run.
EXTRA_tests_unit_agentd_gpushare_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_gpuslicefaults_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_gpuslices_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_gputurn_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_health_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_inventory_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_nvml_DEPENDENCIES = tests/lib/fakenvml.la tests/lib/fakenvmllacks.la
EXTRA_tests_unit_agentd_opencl_DEPENDENCIES = tests/lib/fakeopencl.la
EXTRA_tests_unit_agentd_power_DEPENDENCIES = tests/lib/fakenvml.la
EXTRA_tests_unit_agentd_verify_DEPENDENCIES = tests/lib/fakecuda.la tests/lib/fakeopencl.la
