# cli: the program nanopod. All but main.c is a convenience library, for the tests.
noinst_LTLIBRARIES += libcli.la
libcli_la_SOURCES = \
	cli/candidates.c cli/candidates.h \
	cli/command.c cli/command.h \
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
nodist_nanopod_SOURCES = cli/scripts.h
nanopod_CPPFLAGS = $(AM_CPPFLAGS) -I. $(READLINE_CFLAGS)
nanopod_LDADD = libcli.la libpssh.la $(READLINE_LIBS)
nanopod_LDFLAGS = $(AM_LDFLAGS) $(PIE_LDFLAGS)
cli/cmd/nanopod-completion.$(OBJEXT): cli/scripts.h

# The completion scripts as C, so that the program prints what is installed.
completion_scripts = bash:nanopod.bash zsh:_nanopod fish:nanopod.fish
BUILT_SOURCES += cli/scripts.h
CLEANFILES += cli/scripts.h
cli/scripts.h: completions/nanopod.bash completions/_nanopod completions/nanopod.fish
	@$(MKDIR_P) cli
	$(AM_V_GEN)for shell in $(completion_scripts); do \
		echo "static const char script_$${shell%%:*}[] ="; \
		sed 's/[\\"]/\\&/g; s/.*/	"&\\n"/' $(srcdir)/completions/$${shell#*:}; \
		echo '	;'; \
	done >$@.new && mv $@.new $@
