# cli/logs: logs of many nodes, in the order of their times.
libcli_la_SOURCES += \
	cli/logs/loglevel.c \
	cli/logs/loglevel.h \
	cli/logs/logmerge.c \
	cli/logs/logmerge.h \
	cli/logs/logsource.c \
	cli/logs/logsource.h \
	cli/logs/logtail.c \
	cli/logs/logtail.h \
	cli/logs/logtime.c \
	cli/logs/logtime.h
