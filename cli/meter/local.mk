# cli/meter: usage events of the ledger, sent to who bills or meters.
libcli_la_SOURCES += \
	cli/meter/meter.h \
	cli/meter/meterbook.c \
	cli/meter/meterbook.h \
	cli/meter/metercheck.c \
	cli/meter/meterfile.c \
	cli/meter/meterlago.c \
	cli/meter/metersend.c \
	cli/meter/meterspool.c \
	cli/meter/meterspool.h \
	cli/meter/meterway.c \
	cli/meter/meterway.h
