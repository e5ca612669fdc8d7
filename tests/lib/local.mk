# tests/lib: what tests share.
EXTRA_DIST += tests/lib/tap.h tests/lib/tap.sh tests/lib/tool.h tests/lib/sshd.sh tests/lib/marketd.sh \
	tests/lib/agentd.sh tests/lib/debian13 tests/lib/failed tests/lib/life.sh tests/lib/lsan.supp \
	tests/lib/extending.sh tests/lib/gputree.sh tests/lib/guide.sh tests/lib/issuer.sh tests/lib/leaves \
	tests/lib/nginx.sh tests/lib/nodes.sh tests/lib/ports.sh tests/lib/powertree.sh tests/lib/promise.sh \
	tests/lib/timed tests/lib/trade.sh

# What libtool's own script in the build's folder does, which takes 14 ms for it.
check_SCRIPTS = tests/lib/nanopod
CLEANFILES += tests/lib/nanopod
tests/lib/nanopod: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/lib && { echo '#!/bin/sh'; \
		echo 'LD_LIBRARY_PATH=$(abs_top_builddir)/.libs$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH} \'; \
		echo 'exec $(abs_top_builddir)/.libs/nanopod "$$@"'; } >$@.new && chmod +x $@.new && mv $@.new $@

# A light server for load and faults. Tests that want it are skipped where libssh is not there.
if HAVE_LIBSSH
lightsshd = tests/lib/lightsshd$(EXEEXT)
check_PROGRAMS += tests/lib/lightsshd
endif
tests_lib_lightsshd_SOURCES = \
	tests/lib/lightcrypto.c tests/lib/lightcrypto.h \
	tests/lib/lightfault.c tests/lib/lightfault.h \
	tests/lib/lightshell.c tests/lib/lightshell.h \
	tests/lib/lightsshd.c
# It stands in for some of what libssh asks OpenSSL (lightcrypto.c), so its functions must be seen.
tests_lib_lightsshd_CFLAGS = $(AM_CFLAGS) -fvisibility=default $(LIBSSH_CFLAGS) $(CRYPTO_CFLAGS)
tests_lib_lightsshd_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_lib_lightsshd_LDADD = libbase.la $(LIBSSH_LIBS) $(CRYPTO_LIBS)

# Between a client and a market: cut connections, hanging ones, a market without /np.
check_PROGRAMS += tests/lib/between
tests_lib_between_SOURCES = tests/lib/between.c
tests_lib_between_LDADD =

# A network with random faults, for tests of libpssh.
check_PROGRAMS += tests/lib/badproxy
tests_lib_badproxy_SOURCES = tests/lib/badproxy.c
tests_lib_badproxy_LDADD =

# A long way to a server, which counts round trips.
check_PROGRAMS += tests/lib/turns
tests_lib_turns_SOURCES = tests/lib/turns.c
tests_lib_turns_LDADD =

# NVIDIA's library as tests need it: one that can misbehave, and one that lacks a function.
check_LTLIBRARIES += tests/lib/fakenvml.la tests/lib/fakenvmllacks.la
tests_lib_fakenvml_la_SOURCES = tests/lib/fakemig.c tests/lib/fakenvml.c
tests_lib_fakenvml_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_lib_fakenvml_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_lib_fakenvmllacks_la_SOURCES = tests/lib/fakemig.c tests/lib/fakenvml.c
tests_lib_fakenvmllacks_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_LACKS
tests_lib_fakenvmllacks_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_lib_fakenvmllacks_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/lib/fakecuda.la
tests_lib_fakecuda_la_SOURCES = tests/lib/fakecuda.c tests/lib/fakeptx.c tests/lib/fakeptx.h
tests_lib_fakecuda_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_lib_fakecuda_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
check_LTLIBRARIES += tests/lib/fakeopencl.la
tests_lib_fakeopencl_la_SOURCES = tests/lib/fakeopencl.c
tests_lib_fakeopencl_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_lib_fakeopencl_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
# Preloaded into marketd: libmicrohttpd 1.0's one buffer for all answers about a connection.
check_LTLIBRARIES += tests/lib/onebuffer.la
tests_lib_onebuffer_la_SOURCES = tests/lib/onebuffer.c
tests_lib_onebuffer_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default $(MICROHTTPD_CFLAGS)
tests_lib_onebuffer_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

# nanopod-agentd with a driver whose nodes are nothing: fast enough for hundreds of them.
check_PROGRAMS += tests/lib/agentfake
tests_lib_agentfake_SOURCES = tests/lib/agentfake.c tests/lib/agentbus.c
tests_lib_agentfake_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=write
tests_lib_agentfake_LDADD = libagent.la libdriverns.la libdriverproc.la libos.la libbase.la
EXTRA_DIST += tests/lib/treehosts.sh

# A machine that sleeps: preloaded by tests/cli/keepsleep.t.
check_LTLIBRARIES += tests/lib/slept.la
tests_lib_slept_la_SOURCES = tests/lib/slept.c
tests_lib_slept_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_lib_slept_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
