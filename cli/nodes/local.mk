# cli/nodes: the account's nodes: where they are, waiting for them, their consoles.
libcli_la_SOURCES += \
	cli/nodes/console_read.c \
	cli/nodes/console_read.h \
	cli/nodes/gpus.c \
	cli/nodes/gpus.h \
	cli/nodes/hostnames.c \
	cli/nodes/hostnames.h \
	cli/nodes/node.c \
	cli/nodes/node.h \
	cli/nodes/nodecache.c \
	cli/nodes/nodecache.h \
	cli/nodes/nodedata.c \
	cli/nodes/nodedata.h \
	cli/nodes/nodeended.c \
	cli/nodes/nodeended.h \
	cli/nodes/nodestart.c \
	cli/nodes/nodestart.h \
	cli/nodes/nodewait.c \
	cli/nodes/nodewait.h
