# cli/autoscale: what `nanopod autoscale` does next.
libcli_la_SOURCES += \
	cli/autoscale/scale.c \
	cli/autoscale/scale.h \
	cli/autoscale/scalejobs.c \
	cli/autoscale/scalemoves.c \
	cli/autoscale/scalerefused.c \
	cli/autoscale/scaleseen.c
