# cli/screen: a full screen that is drawn again and again: its lines, its keys, curves.
libcli_la_SOURCES += \
	cli/screen/page.c \
	cli/screen/page.h \
	cli/screen/screen.c \
	cli/screen/screen.h \
	cli/screen/spark.c \
	cli/screen/spark.h
