# tests/fuzz: each target with replay.c as its main() goes over its corpus in `make check`. A target of the command says
# nothing of what it links: LDADD in Makefile.am has that.
EXTRA_DIST += tests/fuzz/fuzz.sh $(wildcard $(srcdir)/tests/fuzz/corpus/*/*)

fuzz_tests = tests/fuzz/answer tests/fuzz/argv tests/fuzz/bom tests/fuzz/cdi tests/fuzz/claims tests/fuzz/cluster \
	tests/fuzz/conf tests/fuzz/cursor tests/fuzz/facts tests/fuzz/flat \
	tests/fuzz/hostbook tests/fuzz/hosts tests/fuzz/http tests/fuzz/journal tests/fuzz/jwt tests/fuzz/keepwire \
	tests/fuzz/kexinit tests/fuzz/key tests/fuzz/kmsg tests/fuzz/knownhosts tests/fuzz/money tests/fuzz/nodecache \
	tests/fuzz/decisionlog tests/fuzz/policy tests/fuzz/power tests/fuzz/ssestream \
	tests/fuzz/remotewire tests/fuzz/requirements tests/fuzz/sftp tests/fuzz/socks tests/fuzz/sshconfig \
	tests/fuzz/siwe tests/fuzz/stack tests/fuzz/tally tests/fuzz/userdata tests/fuzz/viaframe tests/fuzz/webhook \
	tests/fuzz/when tests/fuzz/wire \
	tests/fuzz/work
check_PROGRAMS += $(fuzz_tests)
TESTS += $(fuzz_tests)
tests_fuzz_answer_SOURCES = tests/fuzz/answer.c tests/fuzz/replay.c
tests_fuzz_answer_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_answer_LDADD = libagentmarket.la
tests_fuzz_argv_SOURCES = tests/fuzz/argv.c tests/fuzz/replay.c
tests_fuzz_bom_SOURCES = tests/fuzz/bom.c tests/fuzz/replay.c
tests_fuzz_bom_LDADD = libagent.la
tests_fuzz_claims_SOURCES = tests/fuzz/claims.c tests/fuzz/replay.c
tests_fuzz_claims_LDADD = libmarket.la libbase.la
tests_fuzz_cdi_SOURCES = tests/fuzz/cdi.c tests/fuzz/replay.c
tests_fuzz_cdi_LDADD = libdevice.la
tests_fuzz_cluster_SOURCES = tests/fuzz/cluster.c tests/fuzz/replay.c
tests_fuzz_conf_SOURCES = tests/fuzz/conf.c tests/fuzz/replay.c
tests_fuzz_conf_LDADD = libconf.la libbase.la
tests_fuzz_cursor_SOURCES = tests/fuzz/cursor.c tests/fuzz/replay.c
tests_fuzz_cursor_LDADD = libapi.la libmarket.la libbase.la
tests_fuzz_facts_SOURCES = tests/fuzz/facts.c tests/fuzz/replay.c
tests_fuzz_flat_SOURCES = tests/fuzz/flat.c tests/fuzz/replay.c
tests_fuzz_hostbook_SOURCES = tests/fuzz/hostbook.c tests/fuzz/replay.c
tests_fuzz_hosts_SOURCES = tests/fuzz/hosts.c tests/fuzz/replay.c
tests_fuzz_hosts_LDADD = libpssh-all.la
tests_fuzz_http_SOURCES = tests/fuzz/http.c tests/fuzz/replay.c
tests_fuzz_http_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_http_LDADD = libmarketd.la
tests_fuzz_journal_SOURCES = tests/fuzz/journal.c tests/fuzz/replay.c
tests_fuzz_journal_LDADD = libstore.la libbase.la
tests_fuzz_jwt_SOURCES = tests/fuzz/jwt.c tests/fuzz/replay.c
tests_fuzz_jwt_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_jwt_LDADD = liboidc.la
tests_fuzz_keepwire_SOURCES = tests/fuzz/keepwire.c tests/fuzz/replay.c
tests_fuzz_keepwire_LDADD = libpssh-all.la
tests_fuzz_kexinit_SOURCES = tests/fuzz/kexinit.c tests/fuzz/replay.c
tests_fuzz_kexinit_LDADD = libpssh-all.la
tests_fuzz_key_SOURCES = tests/fuzz/key.c tests/fuzz/replay.c
tests_fuzz_key_LDADD = libpssh-all.la
tests_fuzz_kmsg_SOURCES = tests/fuzz/kmsg.c tests/fuzz/replay.c
tests_fuzz_kmsg_LDADD = libinventory.la
tests_fuzz_knownhosts_SOURCES = tests/fuzz/knownhosts.c tests/fuzz/replay.c
tests_fuzz_knownhosts_LDADD = libpssh-all.la
tests_fuzz_money_SOURCES = tests/fuzz/money.c tests/fuzz/replay.c
tests_fuzz_money_LDADD = libmarket.la libbase.la
tests_fuzz_nodecache_SOURCES = tests/fuzz/nodecache.c tests/fuzz/replay.c
tests_fuzz_decisionlog_SOURCES = tests/fuzz/decisionlog.c tests/fuzz/replay.c
tests_fuzz_decisionlog_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_decisionlog_LDADD = libmarketd.la $(ZLIB_LIBS)
tests_fuzz_policy_SOURCES = tests/fuzz/policy.c tests/fuzz/replay.c
tests_fuzz_policy_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_policy_LDADD = libpolicy.la libconf.la libmarket.la libbase.la $(JANSSON_LIBS)
tests_fuzz_ssestream_SOURCES = tests/fuzz/ssestream.c tests/fuzz/replay.c
tests_fuzz_ssestream_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_ssestream_LDADD = libproxy.la
tests_fuzz_power_SOURCES = tests/fuzz/power.c tests/fuzz/replay.c
tests_fuzz_power_LDADD = libpower.la
tests_fuzz_remotewire_SOURCES = tests/fuzz/remotewire.c tests/fuzz/replay.c
tests_fuzz_requirements_SOURCES = tests/fuzz/requirements.c tests/fuzz/replay.c
tests_fuzz_requirements_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_requirements_LDADD = libapi.la libpolicy.la liboutward.la libstore.la libengine.la libmarket.la libconf.la \
	libbase.la $(JANSSON_LIBS)
tests_fuzz_tally_SOURCES = tests/fuzz/tally.c tests/fuzz/replay.c
tests_fuzz_tally_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_tally_LDADD = libmarketd.la
tests_fuzz_sftp_SOURCES = tests/fuzz/sftp.c tests/fuzz/replay.c
tests_fuzz_sftp_LDADD = libpssh-all.la
tests_fuzz_socks_SOURCES = tests/fuzz/socks.c tests/fuzz/replay.c
tests_fuzz_socks_LDADD = libpssh-all.la
tests_fuzz_sshconfig_SOURCES = tests/fuzz/sshconfig.c tests/fuzz/replay.c
tests_fuzz_sshconfig_LDADD = libpssh-all.la
tests_fuzz_stack_SOURCES = tests/fuzz/stack.c tests/fuzz/replay.c
tests_fuzz_userdata_SOURCES = tests/fuzz/userdata.c tests/fuzz/replay.c
tests_fuzz_userdata_LDADD = libagent.la
tests_fuzz_viaframe_SOURCES = tests/fuzz/viaframe.c tests/fuzz/replay.c
tests_fuzz_siwe_SOURCES = tests/fuzz/siwe.c tests/fuzz/replay.c
tests_fuzz_siwe_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_siwe_LDADD = libpassport.la
tests_fuzz_webhook_SOURCES = tests/fuzz/webhook.c tests/fuzz/replay.c
tests_fuzz_webhook_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_webhook_LDADD = libstripe.la
tests_fuzz_when_SOURCES = tests/fuzz/when.c tests/fuzz/replay.c
tests_fuzz_when_LDADD = libmarket.la libbase.la
tests_fuzz_wire_SOURCES = tests/fuzz/wire.c tests/fuzz/replay.c
tests_fuzz_wire_LDADD = libmarket.la libbase.la
tests_fuzz_work_SOURCES = tests/fuzz/work.c tests/fuzz/replay.c
tests_fuzz_work_LDADD = libagent.la
