# The power that this machine's devices may draw: limits that fit the wall, set in an order that always does.
noinst_LTLIBRARIES += libpower.la
libpower_la_SOURCES = \
	daemon/agentd/power/budget.c \
	daemon/agentd/power/budget.h \
	daemon/agentd/power/change.c \
	daemon/agentd/power/change.h \
	daemon/agentd/power/device.h \
	daemon/agentd/power/curve.c \
	daemon/agentd/power/curve.h \
	daemon/agentd/power/device_hwmon.c \
	daemon/agentd/power/device_nvml.c \
	daemon/agentd/power/device_part.c \
	daemon/agentd/power/device_part.h \
	daemon/agentd/power/device_rapl.c \
	daemon/agentd/power/power_devices.c \
	daemon/agentd/power/power_devices.h \
	daemon/agentd/power/envelope.c \
	daemon/agentd/power/envelope.h \
	daemon/agentd/power/hold.c \
	daemon/agentd/power/hold.h \
	daemon/agentd/power/power_show.c \
	daemon/agentd/power/power_show.h \
	daemon/agentd/power/supply.c \
	daemon/agentd/power/supply.h \
	daemon/agentd/power/sweep.c \
	daemon/agentd/power/sweep.h
libpower_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libpower_la_LIBADD = libinventory.la libos.la libbase.la $(JANSSON_LIBS)
