# libpssh: the sources as a convenience library, which unit tests and fuzz targets link because the
# shared one shows them only what pssh.h promises.
noinst_LTLIBRARIES += libpssh-all.la
libpssh_all_la_SOURCES = \
	lib/pssh/entry.c \
	lib/pssh/entry.h \
	lib/pssh/error.c \
	lib/pssh/pssh.c \
	lib/pssh/pssh.h \
	lib/pssh/pssh_file.c \
	lib/pssh/pssh_host.c \
	lib/pssh/pssh_like_ssh.c \
	lib/pssh/pssh_known.c \
	lib/pssh/pssh_memory.c \
	lib/pssh/pssh_keep.c \
	lib/pssh/pssh_task.c \
	lib/pssh/pssh_task_host.c \
	lib/pssh/pssh_types.h \
	lib/pssh/keys/agent.c \
	lib/pssh/keys/agent.h \
	lib/pssh/keys/bcrypt.c \
	lib/pssh/keys/bcrypt.h \
	lib/pssh/keys/key.c \
	lib/pssh/keys/key.h \
	lib/pssh/keys/keyfile.c \
	lib/pssh/keys/keyfile.h \
	lib/pssh/keys/keyring.c \
	lib/pssh/keys/keyring.h \
	lib/pssh/keys/pubkey.c \
	lib/pssh/keys/pubkey.h \
	lib/pssh/keys/sshwire.c \
	lib/pssh/keys/sshwire.h \
	lib/pssh/keys/unlock.c \
	lib/pssh/keys/unlock.h \
	lib/pssh/known/hosthash.c \
	lib/pssh/known/hosthash.h \
	lib/pssh/known/hostkey.c \
	lib/pssh/known/hostkey.h \
	lib/pssh/known/knownhosts.c \
	lib/pssh/known/knownhosts.h \
	lib/pssh/known/knownlines.c \
	lib/pssh/known/knownlines.h \
	lib/pssh/known/knownwrite.c \
	lib/pssh/known/knownwrite.h \
	lib/pssh/config/sshanswer.c \
	lib/pssh/config/sshconfig.c \
	lib/pssh/config/sshconfig.h \
	lib/pssh/config/sshfile.c \
	lib/pssh/config/sshfile.h \
	lib/pssh/config/sshkeyword.c \
	lib/pssh/config/sshkeyword.h \
	lib/pssh/config/sshsearch.h \
	lib/pssh/config/sshword.c \
	lib/pssh/config/sshword.h \
	lib/pssh/names/hostfold.c \
	lib/pssh/names/hostrange.c \
	lib/pssh/names/hostrange.h \
	lib/pssh/names/hosts.c \
	lib/pssh/copy/copy.c \
	lib/pssh/copy/copy.h \
	lib/pssh/copy/copycheck.c \
	lib/pssh/copy/copyget.c \
	lib/pssh/copy/copygetdir.c \
	lib/pssh/copy/copygetfile.c \
	lib/pssh/copy/copyglob.c \
	lib/pssh/copy/copyjob.c \
	lib/pssh/copy/copyjob.h \
	lib/pssh/copy/copyput.c \
	lib/pssh/copy/copyputfile.c \
	lib/pssh/copy/copysource.c \
	lib/pssh/copy/copystream.c \
	lib/pssh/copy/copytemp.c \
	lib/pssh/copy/copytemp.h \
	lib/pssh/copy/copytidy.c \
	lib/pssh/copy/copytree.c \
	lib/pssh/copy/copytree.h \
	lib/pssh/copy/digest.c \
	lib/pssh/copy/digest.h \
	lib/pssh/copy/pace.c \
	lib/pssh/copy/pace.h \
	lib/pssh/copy/sftp.c \
	lib/pssh/copy/sftp.h \
	lib/pssh/session/algorithm.c \
	lib/pssh/session/algorithm.h \
	lib/pssh/session/auth.c \
	lib/pssh/session/auth.h \
	lib/pssh/session/chan.c \
	lib/pssh/session/chan.h \
	lib/pssh/session/channel.c \
	lib/pssh/session/channel.h \
	lib/pssh/session/conn.c \
	lib/pssh/session/conn.h \
	lib/pssh/session/conn_lent.c \
	lib/pssh/session/conn_lent.h \
	lib/pssh/session/dial.c \
	lib/pssh/session/dial.h \
	lib/pssh/session/exec.c \
	lib/pssh/session/exec.h \
	lib/pssh/session/input.h \
	lib/pssh/session/kexinit.c \
	lib/pssh/session/kexinit.h \
	lib/pssh/session/output.c \
	lib/pssh/session/output.h \
	lib/pssh/session/proxy.c \
	lib/pssh/session/pump.c \
	lib/pssh/session/pump.h \
	lib/pssh/session/proxy.h \
	lib/pssh/session/resolve.c \
	lib/pssh/session/resolve.h \
	lib/pssh/session/connfacts.c \
	lib/pssh/session/connfacts.h \
	lib/pssh/session/feed.c \
	lib/pssh/session/feed.h \
	lib/pssh/session/kill_remote.c \
	lib/pssh/session/kill_remote.h \
	lib/pssh/session/look.c \
	lib/pssh/session/look.h \
	lib/pssh/session/offers.c \
	lib/pssh/session/offers.h \
	lib/pssh/session/socks.c \
	lib/pssh/session/socks.h \
	lib/pssh/session/transport.c \
	lib/pssh/session/transport.h \
	lib/pssh/session/tunnel.c \
	lib/pssh/session/tunnel.h \
	lib/pssh/session/xfer.c \
	lib/pssh/session/xfer.h \
	lib/pssh/fleet/copyrun.c \
	lib/pssh/keep/borrow.c \
	lib/pssh/keep/borrow.h \
	lib/pssh/keep/keepfolder.c \
	lib/pssh/keep/keepfolder.h \
	lib/pssh/keep/keepkey.c \
	lib/pssh/keep/keepkey.h \
	lib/pssh/keep/keeplist.c \
	lib/pssh/keep/keeplist.h \
	lib/pssh/keep/keepwire.c \
	lib/pssh/keep/keepwire.h \
	lib/pssh/keep/lend.c \
	lib/pssh/keep/lend.h \
	lib/pssh/fleet/environment.c \
	lib/pssh/fleet/event_queue.c \
	lib/pssh/fleet/event_queue.h \
	lib/pssh/fleet/fleet.c \
	lib/pssh/fleet/fleet.h \
	lib/pssh/fleet/forked.c \
	lib/pssh/fleet/host.c \
	lib/pssh/fleet/keeper.c \
	lib/pssh/fleet/keepfind.c \
	lib/pssh/fleet/question.c \
	lib/pssh/fleet/run_own.c \
	lib/pssh/fleet/streamhost.c \
	lib/pssh/fleet/forward.c \
	lib/pssh/fleet/forward.h \
	lib/pssh/fleet/forwardrun.c \
	lib/pssh/fleet/streamrun.c \
	lib/pssh/fleet/strings.c \
	lib/pssh/fleet/task.c \
	lib/pssh/fleet/fleet_turn.c
libpssh_all_la_CFLAGS = $(AM_CFLAGS) $(SSH2_CFLAGS) $(CRYPTO_CFLAGS)
libpssh_all_la_LIBADD = libbase.la $(SSH2_LIBS) $(CRYPTO_LIBS) $(PTHREAD_LIBS)

lib_LTLIBRARIES += libpssh.la
libpssh_la_SOURCES =
libpssh_la_LIBADD = libpssh-all.la
libpssh_la_LDFLAGS = $(AM_LDFLAGS) -version-info $(PSSH_VERSION_INFO) -no-undefined
if HAVE_VERSION_SCRIPT
libpssh_la_LDFLAGS += -Wl,--version-script=$(top_srcdir)/lib/pssh/pssh.sym
endif
# Threads that look up names outlive pssh_free(), so a plugin's dlclose() must not unmap their code.
if HAVE_NODELETE
libpssh_la_LDFLAGS += -Wl,-z,nodelete
endif
libpssh_la_DEPENDENCIES = libpssh-all.la $(top_srcdir)/lib/pssh/pssh.sym
EXTRA_DIST += lib/pssh/pssh.sym

# The static library is one object of which only pssh.sym's names can be seen: a program may have its own buf_init().
if HAVE_OBJCOPY
archivedir = $(libdir)
archive_DATA = libpssh.a
CLEANFILES += libpssh.a libpssh-one.o libpssh.names
libpssh.a: libpssh-all.la $(top_srcdir)/lib/pssh/pssh.sym
	$(AM_V_GEN)$(AWK) '/local:/ { exit } /^[ \t]*pssh_/ { sub(/;.*/, ""); print $$1 }' \
		$(top_srcdir)/lib/pssh/pssh.sym >libpssh.names
	$(AM_V_at)$(LD) -r -o libpssh-one.o --whole-archive .libs/libpssh-all.a
	$(AM_V_at)$(OBJCOPY) --keep-global-symbols=libpssh.names libpssh-one.o
	$(AM_V_at)rm -f $@ && $(AR) cr $@ libpssh-one.o && $(RANLIB) $@
endif

include_HEADERS += lib/pssh/pssh.h lib/pssh/pssh_types.h
pkgconfig_DATA += lib/pssh/libpssh.pc
