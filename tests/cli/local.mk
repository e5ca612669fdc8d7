# tests/cli: the command line, one test a command.

cli_tests_core = tests/cli/completion.t tests/cli/config.t tests/cli/doctor.t tests/cli/help.t tests/cli/usage.t \
	tests/cli/version.t
TESTS += $(cli_tests_core)
EXTRA_DIST += $(cli_tests_core)
$(cli_tests_core:.t=.log): $(bin_PROGRAMS)

# What only a terminal shows.
check_PROGRAMS += tests/lib/pty
tests_lib_pty_SOURCES = tests/lib/pty.c
tests_lib_pty_LDADD = -lutil

cli_hosts_tests = tests/cli/cp.t tests/cli/cpplace.t tests/cli/dropins.t tests/cli/groupsconf.t \
	tests/cli/guidefleets.t tests/cli/hosts.t tests/cli/inventory.t \
	tests/cli/keep.t tests/cli/keepsleep.t tests/cli/logcluster.t \
	tests/cli/logs.t tests/cli/roundtrips.t tests/cli/run.t tests/cli/runbecome.t tests/cli/runhost.t \
	tests/cli/runroll.t tests/cli/runsudo.t tests/cli/runview.t tests/cli/runwatch.t tests/cli/shell.t \
	tests/cli/ssh.t tests/cli/streams.t tests/cli/tree.t tests/cli/treefault.t tests/cli/treekeys.t \
	tests/cli/via.t tests/cli/warmtrips.t
TESTS += $(cli_hosts_tests)
EXTRA_DIST += $(cli_hosts_tests) $(wildcard $(srcdir)/tests/fixtures/inventory/*)
$(cli_hosts_tests:.t=.log): $(bin_PROGRAMS) tests/lib/pty$(EXEEXT)

# Asking the market: tests/lib/marketd.sh runs a real one.
cli_market_tests = tests/cli/account.t tests/cli/admin.t tests/cli/alerts.t tests/cli/announce.t \
	tests/cli/api.t tests/cli/audit.t tests/cli/balance.t tests/cli/cap.t tests/cli/plan.t \
	tests/cli/topup.t tests/cli/alertsend.t tests/cli/burn.t \
	tests/cli/events.t tests/cli/ledger.t tests/cli/login.t \
	tests/cli/meter.t tests/cli/meterspool.t tests/cli/overview.t tests/cli/token.t tests/cli/volume.t
TESTS += $(cli_market_tests)
EXTRA_DIST += $(cli_market_tests) tests/cli/alertsink.py tests/lib/lago.py
$(cli_market_tests:.t=.log): $(market_programs) tests/lib/between$(EXEEXT)
tests/cli/cp.log: tests/lib/badproxy$(EXEEXT)
tests/cli/keepsleep.log tests/cli/roundtrips.log tests/cli/warmtrips.log: tests/lib/turns$(EXEEXT)
tests/cli/decided.log tests/cli/keepsleep.log: tests/lib/slept.la
tests/cli/streams.log: tests/bench/farpath$(EXEEXT)
tests/cli/roundtrips.log: tests/lib/turns$(EXEEXT)
tests/cli/alerts.log tests/cli/announce.log tests/cli/login.log: tests/lib/pty$(EXEEXT)
tests/cli/announce.log: tests/daemon/fits$(EXEEXT)

# Against a market on this machine.
cli_buying_tests = tests/cli/autoends.t tests/cli/autoextend.t tests/cli/budget.t tests/cli/buy.t \
	tests/cli/buystack.t tests/cli/decided.t tests/cli/extend.t tests/cli/formats.t tests/cli/had.t \
	tests/cli/hate.t tests/cli/idempotency.t tests/cli/invoice.t tests/cli/monthturn.t \
	tests/cli/orders.t tests/cli/other.t \
	tests/cli/papers.t \
	tests/cli/procurement.t tests/cli/refund.t tests/cli/reputation.t tests/cli/release.t tests/cli/report.t \
	tests/cli/screens.t tests/cli/sell.t tests/cli/silent.t tests/cli/unverified.t
TESTS += $(cli_buying_tests)
EXTRA_DIST += $(cli_buying_tests) $(wildcard $(srcdir)/tests/fixtures/screens/*)
$(cli_buying_tests:.t=.log): $(market_programs) tests/lib/between$(EXEEXT) tests/lib/pty$(EXEEXT)

# For who owns the machine, or looks at it: a stand-in for the agent, a real market.
cli_host_tests = tests/cli/drain.t tests/cli/hostprice.t tests/cli/offerhours.t tests/cli/host.t tests/cli/top.t
TESTS += $(cli_host_tests)
EXTRA_DIST += $(cli_host_tests)
$(cli_host_tests:.t=.log): $(market_programs) tests/lib/between$(EXEEXT) tests/daemon/fits$(EXEEXT) \
	tests/lib/pty$(EXEEXT)

# For who owns the machine: the real agent, on a tree that stands for a machine.
cli_power_tests = tests/cli/power.t
TESTS += $(cli_power_tests)
EXTRA_DIST += $(cli_power_tests)
$(cli_power_tests:.t=.log): $(bin_PROGRAMS) $(sbin_PROGRAMS) tests/lib/fakenvml.la tests/lib/fakecuda.la

# Nodes: real SSH servers that a market's hosts are said to be.
cli_nodes_tests = tests/cli/away.t tests/cli/awaypoints.t tests/cli/console.t tests/cli/endsoon.t tests/cli/ghost.t \
	tests/cli/guides.t tests/cli/local.t tests/cli/lognodes.t tests/cli/meant.t tests/cli/nodes.t \
	tests/cli/reach.t tests/cli/replace.t tests/cli/select.t tests/cli/skill.t tests/cli/tunnel.t \
	tests/cli/wait.t tests/cli/wronguses.t
TESTS += $(cli_nodes_tests)
EXTRA_DIST += $(cli_nodes_tests)
$(cli_nodes_tests:.t=.log): $(market_programs) tests/lib/between$(EXEEXT)
tests/cli/endsoon.log tests/cli/wait.log: tests/lib/pty$(EXEEXT)
tests/cli/guides.log tests/cli/local.log tests/cli/lognodes.log tests/cli/skill.log: $(node_programs)

# Provisioning: without nodes, and on some of the driver ns.
cli_provision_tests = tests/cli/provision.t tests/cli/provisionengine.t tests/cli/provisionstacks.t
TESTS += $(cli_provision_tests)
$(cli_provision_tests:.t=.log): $(bin_PROGRAMS) tests/lib/pty$(EXEEXT)
EXTRA_DIST += $(cli_provision_tests) $(wildcard $(srcdir)/tests/fixtures/engine/*/*)
