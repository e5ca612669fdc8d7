# cli/via: one command through gateways.
libcli_la_SOURCES += \
	cli/via/gateway.c \
	cli/via/via.c \
	cli/via/via.h \
	cli/via/viaagent.c \
	cli/via/viaagent.h \
	cli/via/viabinary.c \
	cli/via/viabinary.h \
	cli/via/viaframe.c \
	cli/via/viaframe.h \
	cli/via/viagate.c \
	cli/via/viagate.h \
	cli/via/viahelper.c \
	cli/via/viahelper.h
nodist_libcli_la_SOURCES += cli/via/viasend_script.h

# What finds or receives the helper on a gateway, as C.
EXTRA_DIST += cli/via/viasend.sh
BUILT_SOURCES += cli/via/viasend_script.h
CLEANFILES += cli/via/viasend_script.h
cli/via/viasend_script.h: cli/via/viasend.sh
	@$(MKDIR_P) cli/via
	$(AM_V_GEN){ echo 'static const char viasend_script[] ='; \
		sed 's/[\\"]/\\&/g; s/.*/	"&\\n"/' $(srcdir)/cli/via/viasend.sh; echo '	;'; } >$@.new && \
		mv $@.new $@
$(libcli_la_OBJECTS): cli/via/viasend_script.h
