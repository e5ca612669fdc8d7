# cli/local: the market and agent of 'nanopod local'.
libcli_la_SOURCES += \
	cli/local/daemons.c \
	cli/local/daemons.h \
	cli/local/localagent.c \
	cli/local/localagent.h \
	cli/local/localmarket.c \
	cli/local/localmarket.h \
	cli/local/localproc.c \
	cli/local/localproc.h \
	cli/local/localstate.c \
	cli/local/localstate.h \
	cli/local/localstatus.c \
	cli/local/localstatus.h
