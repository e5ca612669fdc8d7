noinst_LTLIBRARIES += libbase.la
libbase_la_SOURCES = \
	lib/base/base64.c lib/base/base64.h \
	lib/base/buf.c lib/base/buf.h \
	lib/base/door.c lib/base/door.h \
	lib/base/clock.h \
	lib/base/fail.c lib/base/fail.h \
	lib/base/file.c lib/base/file.h \
	lib/base/hash.h \
	lib/base/keccak.c lib/base/keccak.h \
	lib/base/kept.c lib/base/kept.h \
	lib/base/list.h \
	lib/base/log.c lib/base/log.h \
	lib/base/loop.c lib/base/loop.h \
	lib/base/secret.c lib/base/secret.h \
	lib/base/arena.c lib/base/arena.h \
	lib/base/str.c lib/base/str.h \
	lib/base/table.c lib/base/table.h \
	lib/base/tar.c lib/base/tar.h \
	lib/base/turned.c lib/base/turned.h \
	lib/base/utf8.c lib/base/utf8.h
