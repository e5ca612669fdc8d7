# libpssh: the sources as a convenience library, which unit tests and fuzz targets link because the
# shared one shows them only what pssh.h promises.
noinst_LTLIBRARIES += libpssh-all.la
libpssh_all_la_SOURCES = \
	lib/pssh/agent.c \
	lib/pssh/agent.h \
	lib/pssh/algorithm.c \
	lib/pssh/algorithm.h \
	lib/pssh/auth.c \
	lib/pssh/auth.h \
	lib/pssh/bcrypt.c \
	lib/pssh/bcrypt.h \
	lib/pssh/chan.c \
	lib/pssh/chan.h \
	lib/pssh/conn.c \
	lib/pssh/conn.h \
	lib/pssh/copy.c \
	lib/pssh/copy.h \
	lib/pssh/copycheck.c \
	lib/pssh/copyget.c \
	lib/pssh/copygetdir.c \
	lib/pssh/copygetfile.c \
	lib/pssh/copyjob.c \
	lib/pssh/copyjob.h \
	lib/pssh/copyput.c \
	lib/pssh/copyputfile.c \
	lib/pssh/copysource.c \
	lib/pssh/copytree.c \
	lib/pssh/copytree.h \
	lib/pssh/dial.c \
	lib/pssh/dial.h \
	lib/pssh/digest.c \
	lib/pssh/digest.h \
	lib/pssh/door.c \
	lib/pssh/door.h \
	lib/pssh/error.c \
	lib/pssh/event.c \
	lib/pssh/event.h \
	lib/pssh/exec.c \
	lib/pssh/exec.h \
	lib/pssh/fleet.c \
	lib/pssh/fleet.h \
	lib/pssh/host.c \
	lib/pssh/hostfold.c \
	lib/pssh/hosthash.c \
	lib/pssh/hosthash.h \
	lib/pssh/hostkey.c \
	lib/pssh/hostkey.h \
	lib/pssh/hostrange.c \
	lib/pssh/hostrange.h \
	lib/pssh/hosts.c \
	lib/pssh/input.h \
	lib/pssh/key.c \
	lib/pssh/key.h \
	lib/pssh/keyfile.c \
	lib/pssh/keyfile.h \
	lib/pssh/keyring.c \
	lib/pssh/keyring.h \
	lib/pssh/knownhosts.c \
	lib/pssh/knownhosts.h \
	lib/pssh/knownlines.c \
	lib/pssh/knownlines.h \
	lib/pssh/output.c \
	lib/pssh/output.h \
	lib/pssh/pool.c \
	lib/pssh/pool.h \
	lib/pssh/proxy.c \
	lib/pssh/proxy.h \
	lib/pssh/pssh.c \
	lib/pssh/pssh.h \
	lib/pssh/pssh_host.c \
	lib/pssh/pssh_task.c \
	lib/pssh/pubkey.c \
	lib/pssh/pubkey.h \
	lib/pssh/question.c \
	lib/pssh/resolve.c \
	lib/pssh/resolve.h \
	lib/pssh/sftp.c \
	lib/pssh/sftp.h \
	lib/pssh/sshanswer.c \
	lib/pssh/sshconfig.c \
	lib/pssh/sshconfig.h \
	lib/pssh/sshfile.c \
	lib/pssh/sshfile.h \
	lib/pssh/sshkeyword.c \
	lib/pssh/sshkeyword.h \
	lib/pssh/sshsearch.h \
	lib/pssh/sshword.c \
	lib/pssh/sshword.h \
	lib/pssh/sweep.c \
	lib/pssh/sweep.h \
	lib/pssh/task.c \
	lib/pssh/tunnel.c \
	lib/pssh/tunnel.h \
	lib/pssh/turn.c \
	lib/pssh/sshwire.c \
	lib/pssh/sshwire.h \
	lib/pssh/xfer.c \
	lib/pssh/xfer.h
libpssh_all_la_CFLAGS = $(AM_CFLAGS) $(SSH2_CFLAGS) $(CRYPTO_CFLAGS)
libpssh_all_la_LIBADD = libbase.la $(SSH2_LIBS) $(CRYPTO_LIBS) $(PTHREAD_LIBS)

lib_LTLIBRARIES += libpssh.la
libpssh_la_SOURCES =
libpssh_la_LIBADD = libpssh-all.la
libpssh_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(PSSH_VERSION_INFO) -no-undefined
if HAVE_VERSION_SCRIPT
libpssh_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/lib/pssh/pssh.sym
endif
libpssh_la_DEPENDENCIES = libpssh-all.la $(top_srcdir)/lib/pssh/pssh.sym
EXTRA_DIST += lib/pssh/pssh.sym

include_HEADERS += lib/pssh/pssh.h
pkgconfig_DATA += lib/pssh/libpssh.pc
