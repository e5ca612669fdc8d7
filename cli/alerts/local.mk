# cli/alerts: what is wrong, asked for and delivered to receivers.
libcli_la_SOURCES += \
	cli/alerts/alertbook.c \
	cli/alerts/alertbook.h \
	cli/alerts/alerthook.c \
	cli/alerts/alerthook.h \
	cli/alerts/alertlist.c \
	cli/alerts/alertlist.h \
	cli/alerts/alertmail.c \
	cli/alerts/alertmail.h \
	cli/alerts/alertrules.c \
	cli/alerts/alertrules.h \
	cli/alerts/alertwatch.c \
	cli/alerts/alertwatch.h \
	cli/alerts/alertway.c \
	cli/alerts/alertway.h \
	cli/alerts/announcements.c \
	cli/alerts/announcements.h
