# cli/top: what nodes and machines do now: asked, summed up, drawn.
libcli_la_SOURCES += \
	cli/top/topfeed.c \
	cli/top/topfeed.h \
	cli/top/toplook.c \
	cli/top/toplook.h \
	cli/top/toppage.c \
	cli/top/toppage.h \
	cli/top/toprow.c \
	cli/top/toprow.h \
	cli/top/toptable.c \
	cli/top/toptable.h \
	cli/top/toptext.c
