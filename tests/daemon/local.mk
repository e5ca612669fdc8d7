# tests/daemon: nanopod-marketd as a process: its API, its limits, its end.

# SF Compute's v2.
daemon_tests_v2 = tests/daemon/v2book.t tests/daemon/v2instance.t tests/daemon/v2order.t tests/daemon/v2pool.t \
	tests/daemon/v2truth.t
TESTS += $(daemon_tests_v2)
EXTRA_DIST += $(daemon_tests_v2) tests/daemon/v2.shapes tests/lib/v2.sh
$(daemon_tests_v2:.t=.log): $(market_programs) tests/daemon/fits$(EXEEXT)
check_PROGRAMS += tests/daemon/fits
tests_daemon_fits_SOURCES = tests/daemon/fits.c tests/daemon/jsonschema.c tests/daemon/jsonschema.h
tests_daemon_fits_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_daemon_fits_LDADD = $(JANSSON_LIBS)

# What carries the API: the program, its limits, its document, its end.
tests/daemon/bodies.log tests/daemon/http.log tests/daemon/httpfull.log tests/daemon/httpstream.log \
	tests/daemon/kill.log tests/daemon/limits.log tests/daemon/openapi.log tests/daemon/pin.log \
	tests/daemon/quota.log: $(market_programs)
tests/daemon/http.log: tests/lib/onebuffer.la
daemon_web = tests/lib/web.c tests/lib/web.h tests/lib/webproc.c
check_PROGRAMS += tests/daemon/bodies tests/daemon/kill tests/daemon/limits tests/daemon/openapi tests/daemon/pin \
	tests/daemon/quota
TESTS += tests/daemon/bodies tests/daemon/http.t tests/daemon/httpfull.t tests/daemon/httpstream.t tests/daemon/kill \
	tests/daemon/limits tests/daemon/openapi tests/daemon/pin tests/daemon/quota
EXTRA_DIST += tests/daemon/http.t tests/daemon/httpfull.t tests/daemon/httpstream.t
tests_daemon_bodies_SOURCES = tests/daemon/bodies.c $(daemon_web)
tests_daemon_bodies_LDADD =
tests_daemon_kill_SOURCES = tests/daemon/kill.c $(daemon_web)
tests_daemon_kill_LDADD =
tests_daemon_limits_SOURCES = tests/daemon/limits.c $(daemon_web)
tests_daemon_limits_LDADD =
tests_daemon_openapi_SOURCES = tests/daemon/openapi.c tests/daemon/jsonschema.c tests/daemon/jsonschema.h $(daemon_web)
tests_daemon_openapi_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_daemon_openapi_LDADD = $(JANSSON_LIBS)
tests_daemon_quota_SOURCES = tests/daemon/quota.c $(daemon_web)
tests_daemon_quota_LDADD =
tests_daemon_pin_SOURCES = tests/daemon/pin.c $(daemon_web)
tests_daemon_pin_LDADD = libmarket.la libbase.la $(JANSSON_LIBS)

# What is kept: check, backup, restore, disks that are full; markets of earlier versions.
TESTS += tests/daemon/monitoring.t tests/daemon/oplog.t tests/daemon/store.t tests/daemon/upgrade.t \
	tests/daemon/upgradecap.t tests/daemon/upgradepay.t tests/daemon/upgradeprice.t
tests/daemon/monitoring.log tests/daemon/oplog.log tests/daemon/store.log tests/daemon/upgrade.log \
	tests/daemon/upgradecap.log tests/daemon/upgradepay.log tests/daemon/upgradeprice.log: $(market_programs)
tests/daemon/upgrade.log tests/daemon/upgradepay.log tests/daemon/upgradeprice.log: tests/daemon/fits$(EXEEXT)
EXTRA_DIST += tests/daemon/monitoring.t tests/daemon/monitoring.yml tests/daemon/monitoring-slow.yml
EXTRA_DIST += tests/daemon/oplog.t tests/daemon/store.t tests/daemon/upgrade.t tests/daemon/upgradepay.t \
	tests/daemon/upgradeprice.t tests/fixtures/market/edition1.sql tests/fixtures/market/form6.sql \
	tests/fixtures/market/form11.sql tests/fixtures/market/form12.sql tests/daemon/upgradecap.t

# Ours (/np/v1) and the older generations.
daemon_tests_np = tests/daemon/alerts.t tests/daemon/np.t tests/daemon/npagent.t tests/daemon/npevents.t \
	tests/daemon/live.t tests/daemon/nptrade.t tests/daemon/overview.t tests/daemon/page.t tests/daemon/report.t \
	tests/daemon/plan.t \
	tests/daemon/session.t tests/daemon/signin.t tests/daemon/signincap.t tests/daemon/signinpage.t \
	tests/daemon/operations.t tests/daemon/quotaagent.t tests/daemon/promise.t tests/daemon/proof.t \
	tests/daemon/personhood.t tests/daemon/regroup.t \
	tests/daemon/sampled.t tests/daemon/sdk.t tests/daemon/series.t tests/daemon/stranger.t \
	tests/daemon/stripe.t tests/daemon/payout.t tests/daemon/connect.t \
	tests/daemon/dunning.t \
	tests/daemon/undelivered.t tests/daemon/waiting.t \
	tests/daemon/v0.t tests/daemon/v1.t
TESTS += $(daemon_tests_np)
$(daemon_tests_np:.t=.log): $(market_programs) tests/daemon/fits$(EXEEXT)
tests/daemon/proof.log: tests/daemon/answer$(EXEEXT)
check_PROGRAMS += tests/daemon/answer
tests_daemon_answer_SOURCES = tests/daemon/answer.c
tests_daemon_answer_LDADD = libmarket.la libbase.la $(CRYPTO_LIBS)
EXTRA_DIST += $(daemon_tests_np) tests/daemon/issuer.mjs tests/daemon/pagetext.mjs tests/daemon/person.mjs \
	tests/daemon/personhood.mjs \
	tests/daemon/stripe.mjs tests/daemon/connect.mjs tests/daemon/waiting.py tests/daemon/waitingcodes.py \
	tests/daemon/report.py tests/daemon/roles.mjs tests/daemon/sdk.mjs tests/fixtures/roles \
	tests/lib/npagent.sh tests/lib/told.sh

# The page in Chromium.
daemon_tests_browser = tests/daemon/browser.t tests/daemon/browserheap.t tests/daemon/browserhostile.t \
	tests/daemon/browserperson.t
TESTS += $(daemon_tests_browser)
$(daemon_tests_browser:.t=.log): $(market_programs) $(node_programs) tests/daemon/fits$(EXEEXT)
EXTRA_DIST += $(daemon_tests_browser) $(daemon_tests_browser:.t=.mjs) tests/lib/browser.mjs tests/lib/browser.sh \
	tests/lib/scores.sh

# The policy, and the same by the real Open Policy Agent; gateways.
daemon_tests_policy = tests/daemon/door.t tests/daemon/trustedproxy.t tests/daemon/uploadroom.t \
	tests/daemon/gatelimits.t tests/daemon/gateway.t tests/daemon/gatewaycert.t tests/daemon/gatewaynodes.t \
	tests/daemon/gatewaysdk.t tests/daemon/gatewaywatch.t \
	tests/daemon/opa.t tests/daemon/opabuy.t \
	tests/daemon/catalog.t tests/daemon/opadoor.t tests/daemon/opafault.t \
	tests/daemon/policy.t
TESTS += $(daemon_tests_policy)
$(daemon_tests_policy:.t=.log): $(market_programs) $(node_programs) tests/daemon/fits$(EXEEXT)
EXTRA_DIST += $(daemon_tests_policy) tests/daemon/gatewaycrowd.mjs tests/daemon/gatewaysdk.mjs tests/daemon/llm.mjs \
	tests/daemon/catalog.mjs tests/daemon/policyserver.py tests/daemon/uploadroom.py \
	tests/lib/gateway.sh \
	tests/lib/policyserver.sh \
	$(wildcard $(srcdir)/tests/fixtures/policy/*)

# What every driver of agentd promises.
daemon_tests_driver = tests/daemon/driver-host.t tests/daemon/driver-ns.t tests/daemon/driver-process.t \
	tests/daemon/driver-process-plain.t tests/daemon/driver-process-user.t tests/daemon/driver-vm.t
$(daemon_tests_driver:.t=.log): $(node_programs) tests/daemon/driver$(EXEEXT)
check_PROGRAMS += tests/daemon/driver
TESTS += $(daemon_tests_driver)
EXTRA_DIST += $(daemon_tests_driver)
tests_daemon_driver_SOURCES = tests/daemon/driver.c tests/daemon/driverkill.c tests/daemon/driverkill.h \
	tests/daemon/driverpicture.c tests/daemon/driverpromise.c tests/daemon/driverpromise.h \
	tests/daemon/driverway.c tests/daemon/driverway.h
tests_daemon_driver_LDADD = libdrivervm.la libdriverns.la libdriverhost.la libdriverproc.la libos.la libbase.la \
	$(JANSSON_LIBS)

# A disk that several nodes have mounted, in a kernel of its own.
TESTS += tests/daemon/shared-vm.t
EXTRA_DIST += tests/daemon/growdisk.c tests/daemon/shared-vm.t

# The daemons as services.
TESTS += tests/daemon/purge.t tests/daemon/units.t tests/daemon/package.t
tests/daemon/units.log: nanopod-marketd$(EXEEXT) nanopod-agentd$(EXEEXT) $(units)
EXTRA_DIST += tests/daemon/purge.t tests/daemon/units.t tests/daemon/package.t tests/daemon/package.sh

# Devices of nodes, with harmless ones of this machine in place of GPUs.
tests/daemon/devices-ns.log: $(node_programs) tests/daemon/nsdevices$(EXEEXT)
check_PROGRAMS += tests/daemon/nsdevices
TESTS += tests/daemon/devices-ns.t
EXTRA_DIST += tests/daemon/devices-ns.t
tests_daemon_nsdevices_SOURCES = tests/daemon/nsdevices.c tests/daemon/driverpicture.c tests/daemon/driverway.c \
	tests/daemon/driverway.h
tests_daemon_nsdevices_LDADD = libdriverns.la libos.la libbase.la $(JANSSON_LIBS)

# Images of nodes.
TESTS += tests/daemon/image.t
tests/daemon/image.log: $(node_programs)
EXTRA_DIST += tests/daemon/image.t

# The agent, with nodes of a driver that makes nothing.
daemon_tests_agent = tests/daemon/agent.t tests/daemon/agentkill.t tests/daemon/agentnet.t tests/daemon/agentwork.t \
	tests/daemon/exported.t tests/daemon/gpuscatter.t tests/daemon/keyroll.t tests/daemon/liar.t \
	tests/daemon/grants.t \
	tests/daemon/health.t tests/daemon/power.t tests/daemon/samples.t tests/daemon/sizes.t tests/daemon/verify.t
TESTS += $(daemon_tests_agent)
$(daemon_tests_agent:.t=.log): $(market_programs) $(pkglibexec_PROGRAMS) tests/lib/agentfake$(EXEEXT) \
	tests/lib/between$(EXEEXT)
tests/daemon/liar.log: tests/lib/fakecuda.la
tests/daemon/exported.log tests/daemon/gpuscatter.log: tests/lib/fakenvml.la
EXTRA_DIST += $(daemon_tests_agent)

# From end to end: market, agent and real nodes; each as whoever runs the tests, and on nodes of the driver ns, which
# need root and an image.
daemon_tests_life = tests/daemon/cutoff.t tests/daemon/gpulease-ns.t \
	tests/daemon/gpushare-ns.t tests/daemon/lease.t \
	tests/daemon/lease-ns.t tests/daemon/mainjob.t \
	tests/daemon/mainjob-ns.t tests/daemon/mainjob-user.t tests/daemon/reach.t tests/daemon/reach-ns.t \
	tests/daemon/secrets-ns.t tests/daemon/secrets.t tests/daemon/shared-ns.t tests/daemon/sizes-ns.t \
	tests/daemon/volumes-ns.t \
	tests/daemon/walls-ns.t
TESTS += $(daemon_tests_life)
$(daemon_tests_life:.t=.log): $(node_programs)
tests/daemon/gpushare-ns.log: tests/lib/fakenvml.la
tests/daemon/sizes-ns.log: tests/lib/between$(EXEEXT)
EXTRA_DIST += $(daemon_tests_life)
