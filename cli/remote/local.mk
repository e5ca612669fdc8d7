# cli/remote: hosts: select, connect, fan out, show, fold, save, script.
libcli_la_SOURCES += \
	cli/remote/become.c \
	cli/remote/become.h \
	cli/remote/connect.c \
	cli/remote/connect.h \
	cli/remote/diff.c \
	cli/remote/diff.h \
	cli/remote/fanout.c \
	cli/remote/fanout.h \
	cli/remote/fold.c \
	cli/remote/fold.h \
	cli/remote/group.c \
	cli/remote/group.h \
	cli/remote/inputfeed.c \
	cli/remote/inputfeed.h \
	cli/remote/keeping.c \
	cli/remote/keeping.h \
	cli/remote/openssh.c \
	cli/remote/openssh.h \
	cli/remote/outcome.c \
	cli/remote/outcome.h \
	cli/remote/perhost.c \
	cli/remote/perhost.h \
	cli/remote/rolling.c \
	cli/remote/rolling.h \
	cli/remote/save.c \
	cli/remote/save.h \
	cli/remote/script.c \
	cli/remote/script.h \
	cli/remote/select.c \
	cli/remote/select.h \
	cli/remote/selectnodes.c \
	cli/remote/selectnodes.h \
	cli/remote/summary.c \
	cli/remote/summary.h \
	cli/remote/view.c \
	cli/remote/view.h
