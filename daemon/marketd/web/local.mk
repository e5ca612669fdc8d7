# daemon/marketd/web: the page that marketd serves, compiled in. files/ is written by hand and needs no build step of
# its own; embed makes it C.
noinst_LTLIBRARIES += libmarketweb.la
libmarketweb_la_SOURCES = daemon/marketd/web/web.c daemon/marketd/web/web.h
nodist_libmarketweb_la_SOURCES = daemon/marketd/web/web_files.c
web_page = $(addprefix daemon/marketd/web/files/,index.html page.css page.js frame.js nodes.js money.js machines.js \
	market.js signin.js alerts.js personhood.js icon.svg)
EXTRA_DIST += $(web_page) daemon/marketd/web/embed
CLEANFILES += daemon/marketd/web/web_files.c

daemon/marketd/web/web_files.c: $(web_page) daemon/marketd/web/embed
	$(AM_V_GEN)$(MKDIR_P) $(@D) && AWK='$(AWK)' $(SHELL) $(srcdir)/daemon/marketd/web/embed \
		$(addprefix $(srcdir)/,$(web_page)) >$@.new && mv $@.new $@
