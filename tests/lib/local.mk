# tests/lib: what tests share.
EXTRA_DIST += tests/lib/tap.h tests/lib/tap.sh tests/lib/tool.h tests/lib/sshd.sh tests/lib/marketd.sh tests/lib/trade.sh

# A light server for load and faults. Tests that want it are skipped where libssh is not there.
if HAVE_LIBSSH
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
