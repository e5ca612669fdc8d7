# lib/conf: settings files; the only room that knows libyaml.
noinst_LTLIBRARIES += libconf.la
libconf_la_SOURCES = lib/conf/conf.c lib/conf/conf.h lib/conf/confedit.c lib/conf/confedit.h
libconf_la_CFLAGS = $(AM_CFLAGS) $(YAML_CFLAGS)
libconf_la_LIBADD = libbase.la $(YAML_LIBS)
