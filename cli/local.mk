# cli: the program nanopod. All but main.c and the commands is a convenience library, for the tests.
noinst_LTLIBRARIES += libcli.la
libcli_la_SOURCES = cli/dispatch.c
libcli_la_CPPFLAGS = $(AM_CPPFLAGS) -I.
include cli/frame/local.mk
include cli/screen/local.mk
include cli/trade/local.mk
include cli/nodes/local.mk
include cli/inventory/local.mk
include cli/remote/local.mk
include cli/tree/local.mk
include cli/via/local.mk
include cli/logs/local.mk
include cli/top/local.mk
include cli/alerts/local.mk
include cli/autoscale/local.mk
include cli/meter/local.mk
include cli/local/local.mk
include cli/provision/local.mk
libcli_la_LIBADD = libconf.la libmarket.la libbase.la

bin_PROGRAMS += nanopod
nanopod_SOURCES = cli/main.c
include cli/cmd/local.mk
include cli/dropin/local.mk
nodist_nanopod_SOURCES = cli/scripts.h
nanopod_CPPFLAGS = $(AM_CPPFLAGS) -I. $(READLINE_CFLAGS)
nanopod_LDADD = libcli.la libpssh.la $(READLINE_LIBS) -lm
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
