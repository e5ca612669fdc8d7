# tests/daemon: nanopod-marketd as a process: its API, its limits, its end.

# SF Compute's v2.
daemon_tests_v2 = tests/daemon/v2book.t tests/daemon/v2instance.t tests/daemon/v2order.t tests/daemon/v2pool.t \
	tests/daemon/v2truth.t
TESTS += $(daemon_tests_v2)
EXTRA_DIST += $(daemon_tests_v2) tests/daemon/v2.shapes tests/lib/v2.sh
check_PROGRAMS += tests/daemon/fits
tests_daemon_fits_SOURCES = tests/daemon/fits.c tests/daemon/jsonschema.c tests/daemon/jsonschema.h
tests_daemon_fits_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_daemon_fits_LDADD = $(JANSSON_LIBS)

# What carries the API: the program, its limits, its document, its end.
daemon_web = tests/lib/web.c tests/lib/web.h tests/lib/webproc.c
check_PROGRAMS += tests/daemon/kill tests/daemon/limits tests/daemon/openapi
TESTS += tests/daemon/http.t tests/daemon/httpfull.t tests/daemon/httpstream.t tests/daemon/kill tests/daemon/limits tests/daemon/openapi
EXTRA_DIST += tests/daemon/http.t tests/daemon/httpfull.t tests/daemon/httpstream.t
tests_daemon_kill_SOURCES = tests/daemon/kill.c $(daemon_web)
tests_daemon_limits_SOURCES = tests/daemon/limits.c $(daemon_web)
tests_daemon_openapi_SOURCES = tests/daemon/openapi.c tests/daemon/jsonschema.c tests/daemon/jsonschema.h $(daemon_web)
tests_daemon_openapi_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
tests_daemon_openapi_LDADD = $(JANSSON_LIBS)

# What is kept: check, backup, restore, disks that are full.
TESTS += tests/daemon/store.t
EXTRA_DIST += tests/daemon/store.t

# Ours (/np/v1) and the older generations.
daemon_tests_np = tests/daemon/np.t tests/daemon/npevents.t tests/daemon/nptrade.t tests/daemon/sdk.t tests/daemon/stranger.t \
	tests/daemon/v0.t tests/daemon/v1.t
TESTS += $(daemon_tests_np)
EXTRA_DIST += $(daemon_tests_np) tests/daemon/sdk.mjs tests/lib/told.sh
