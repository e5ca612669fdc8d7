# tests/pssh: the library by its installed face alone, against real sshd and the light one. NAME.t
# starts the servers, NAME is the test itself.
pssh_tests = \
	tests/pssh/ahead \
	tests/pssh/algorithm \
	tests/pssh/auth \
	tests/pssh/badnet \
	tests/pssh/cancel \
	tests/pssh/channel \
	tests/pssh/decide \
	tests/pssh/embed \
	tests/pssh/exchange \
	tests/pssh/exec \
	tests/pssh/fair \
	tests/pssh/fault \
	tests/pssh/fork \
	tests/pssh/forward \
	tests/pssh/files \
	tests/pssh/odd \
	tests/pssh/hostfacts \
	tests/pssh/hostfree \
	tests/pssh/hostkey \
	tests/pssh/jump \
	tests/pssh/likessh \
	tests/pssh/memory \
	tests/pssh/onehost \
	tests/pssh/keep \
	tests/pssh/keepkill \
	tests/pssh/kept \
	tests/pssh/order \
	tests/pssh/output \
	tests/pssh/passphrase \
	tests/pssh/plugin \
	tests/pssh/regress \
	tests/pssh/resolve \
	tests/pssh/streaming \
	tests/pssh/sweep \
	tests/pssh/threads \
	tests/pssh/together \
	tests/pssh/tunnel \
	tests/pssh/unheard \
	tests/pssh/wake \
	tests/pssh/window

check_PROGRAMS += $(pssh_tests)
TESTS += $(pssh_tests:=.t)
EXTRA_DIST += tests/pssh/with.sh tests/pssh/drive.h tests/pssh/light.h $(pssh_tests:=.t)
$(patsubst %,%.log,$(pssh_tests)): %.log: %$(EXEEXT) $(lightsshd)
tests/pssh/keep.log: tests/pssh/cancel$(EXEEXT) tests/pssh/exec$(EXEEXT) tests/pssh/fork$(EXEEXT) \
	tests/pssh/output$(EXEEXT)
tests/pssh/badnet.log: tests/lib/badproxy$(EXEEXT)

tests_pssh_ahead_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_ahead_LDADD = libpssh.la
# These ask libssh2 for its version: what a newer one has must work.
tests_pssh_algorithm_CPPFLAGS = $(AM_CPPFLAGS) $(SSH2_CFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_algorithm_LDADD = libpssh.la $(SSH2_LIBS)
tests_pssh_auth_CPPFLAGS = $(AM_CPPFLAGS) $(SSH2_CFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_auth_LDADD = libpssh.la $(SSH2_LIBS)
tests_pssh_badnet_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_badnet_LDADD = libpssh.la
tests_pssh_cancel_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_cancel_LDADD = libpssh.la
tests_pssh_channel_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_channel_LDADD = libpssh.la
tests_pssh_decide_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_decide_LDADD = libpssh.la
tests_pssh_embed_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_embed_LDADD = libpssh.la
tests_pssh_exchange_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_exchange_LDADD = libpssh.la
tests_pssh_exec_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_exec_LDADD = libpssh.la
tests_pssh_fair_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_fair_LDADD = libpssh.la
tests_pssh_fault_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_fault_LDADD = libpssh.la
tests_pssh_fork_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_fork_LDADD = libpssh.la
tests_pssh_forward_CPPFLAGS = $(AM_CPPFLAGS) $(SSH2_CFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_forward_LDADD = libpssh.la $(SSH2_LIBS)
tests_pssh_odd_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_odd_LDADD = libpssh.la
tests_pssh_files_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_files_LDADD = libpssh.la
tests_pssh_hostfacts_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_hostfacts_LDADD = libpssh.la
tests_pssh_hostfree_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_hostfree_LDADD = libpssh.la
tests_pssh_hostkey_CPPFLAGS = $(AM_CPPFLAGS) $(SSH2_CFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_hostkey_LDADD = libpssh.la $(SSH2_LIBS)
tests_pssh_jump_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_jump_LDADD = libpssh.la
tests_pssh_likessh_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_likessh_LDADD = libpssh.la
tests_pssh_memory_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_memory_LDADD = libpssh.la
tests_pssh_onehost_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_onehost_LDADD = libpssh.la
tests_pssh_keep_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_keep_LDADD = libpssh.la
tests_pssh_keepkill_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_keepkill_LDADD = libpssh.la
tests_pssh_kept_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_kept_LDADD = libpssh.la
tests_pssh_order_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_order_LDADD = libpssh.la
tests_pssh_output_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_output_LDADD = libpssh.la
tests_pssh_passphrase_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_passphrase_LDADD = libpssh.la
# It loads the library by itself, and its getaddrinfo() stands for libc's.
tests_pssh_plugin_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_plugin_LDFLAGS = $(AM_LDFLAGS) -rdynamic
tests_pssh_plugin_LDADD = -ldl $(PTHREAD_LIBS)
tests/pssh/plugin.log: libpssh.la
tests_pssh_regress_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_regress_LDADD = libpssh.la
tests_pssh_resolve_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_resolve_LDADD = libpssh.la
tests_pssh_streaming_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_streaming_LDADD = libpssh.la
tests_pssh_sweep_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_sweep_LDADD = libpssh.la
tests_pssh_threads_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_threads_LDADD = libpssh.la $(PTHREAD_LIBS)
tests_pssh_together_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_together_LDADD = libpssh.la
tests_pssh_tunnel_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_tunnel_LDADD = libpssh.la
tests_pssh_unheard_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_unheard_LDADD = libpssh.la
tests_pssh_wake_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_wake_LDADD = libpssh.la $(PTHREAD_LIBS)
tests_pssh_window_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib/pssh
tests_pssh_window_LDADD = libpssh.la
