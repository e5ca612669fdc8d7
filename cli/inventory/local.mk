# cli/inventory: hosts and groups as files of other programs have them.
libcli_la_SOURCES += \
	cli/inventory/hostbook.c \
	cli/inventory/hostbook.h \
	cli/inventory/hostcall.c \
	cli/inventory/hostcall.h \
	cli/inventory/hostconf.c \
	cli/inventory/hostconf.h \
	cli/inventory/hostjson.c \
	cli/inventory/hostjson.h \
	cli/inventory/hostlines.c \
	cli/inventory/hostlines.h \
	cli/inventory/hostread.c \
	cli/inventory/hostread.h \
	cli/inventory/hosttree.c \
	cli/inventory/hosttree.h
