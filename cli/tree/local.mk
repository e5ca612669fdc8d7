# cli/tree: one file to many hosts, from node to node.
libcli_la_SOURCES += \
	cli/tree/treecopy.c \
	cli/tree/treecopy.h \
	cli/tree/treehash.c \
	cli/tree/treehash.h \
	cli/tree/treepart.h \
	cli/tree/treefeed.c \
	cli/tree/treeplan.c \
	cli/tree/treeplan.h \
	cli/tree/treetalk.c
nodist_libcli_la_SOURCES = cli/tree/treenode_script.h

# What runs on the nodes, as C.
EXTRA_DIST += cli/tree/treenode.sh
BUILT_SOURCES += cli/tree/treenode_script.h
CLEANFILES += cli/tree/treenode_script.h
cli/tree/treenode_script.h: cli/tree/treenode.sh
	@$(MKDIR_P) cli/tree
	$(AM_V_GEN){ echo 'static const char treenode_script[] ='; \
		sed 's/[\\"]/\\&/g; s/.*/	"&\\n"/' $(srcdir)/cli/tree/treenode.sh; echo '	;'; } >$@.new && \
		mv $@.new $@
$(libcli_la_OBJECTS): cli/tree/treenode_script.h
