# cli: the program nanopod. All but main.c is a convenience library, for the tests.
noinst_LTLIBRARIES += libcli.la
libcli_la_SOURCES = \
	cli/command.c cli/command.h \
	cli/completion.c cli/completion.h \
	cli/connect.c cli/connect.h \
	cli/diff.c cli/diff.h \
	cli/fanout.c cli/fanout.h \
	cli/flat.c cli/flat.h \
	cli/fold.c cli/fold.h \
	cli/group.c cli/group.h \
	cli/hostnames.c cli/hostnames.h \
	cli/json.c cli/json.h \
	cli/option.c cli/option.h \
	cli/print.c cli/print.h \
	cli/progress.c cli/progress.h \
	cli/prompt.c cli/prompt.h \
	cli/rows.c cli/rows.h \
	cli/save.c cli/save.h \
	cli/script.c cli/script.h \
	cli/select.c cli/select.h \
	cli/settings.c cli/settings.h \
	cli/signals.c cli/signals.h \
	cli/sources.c \
	cli/summary.c cli/summary.h \
	cli/terminal.c cli/terminal.h \
	cli/usage.c cli/usage.h \
	cli/utf8.c cli/utf8.h \
	cli/value.c cli/value.h \
	cli/view.c cli/view.h
libcli_la_LIBADD = libconf.la libbase.la

bin_PROGRAMS += nanopod
nanopod_SOURCES = \
	cli/main.c \
	cli/cmd/complete.c \
	cli/cmd/completion.c \
	cli/cmd/config.c \
	cli/cmd/cp.c \
	cli/cmd/doctor.c \
	cli/cmd/help.c \
	cli/cmd/hosts.c \
	cli/cmd/run.c \
	cli/cmd/shell.c \
	cli/cmd/ssh.c \
	cli/cmd/version.c
nodist_nanopod_SOURCES = completions/scripts.h
nanopod_CPPFLAGS = $(AM_CPPFLAGS) -I. $(READLINE_CFLAGS)
nanopod_LDADD = libcli.la libpssh.la $(READLINE_LIBS)
nanopod_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
cli/cmd/nanopod-completion.$(OBJEXT): completions/scripts.h
