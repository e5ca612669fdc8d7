# cli/nodes: the account's nodes: where they are, waiting for them, their consoles.
libcli_la_SOURCES += \
	cli/nodes/conlog.c \
	cli/nodes/conlog.h \
	cli/nodes/hostnames.c \
	cli/nodes/hostnames.h \
	cli/nodes/node.c \
	cli/nodes/node.h \
	cli/nodes/nodewait.c \
	cli/nodes/nodewait.h
