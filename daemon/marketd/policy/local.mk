# The policy: ordered rules over one document, giving one decision. It knows no engine and no socket; opa.c
# asks another server by outward/.
# Who links it also links libconf.la, libmarket.la and libbase.la.
noinst_LTLIBRARIES += libpolicy.la
libpolicy_la_SOURCES = \
	daemon/marketd/policy/bundle.c \
	daemon/marketd/policy/bundle.h \
	daemon/marketd/policy/decision.c \
	daemon/marketd/policy/decisionlog.c \
	daemon/marketd/policy/decisionlog.h \
	daemon/marketd/policy/decisionpiece.c \
	daemon/marketd/policy/decisionpiece.h \
	daemon/marketd/policy/inputkey.c \
	daemon/marketd/policy/inputkey.h \
	daemon/marketd/policy/jsonparts.c \
	daemon/marketd/policy/jsonparts.h \
	daemon/marketd/policy/number.c \
	daemon/marketd/policy/number.h \
	daemon/marketd/policy/opa.c \
	daemon/marketd/policy/opa.h \
	daemon/marketd/policy/opadoor.c \
	daemon/marketd/policy/opadoor.h \
	daemon/marketd/policy/opatoken.c \
	daemon/marketd/policy/opatoken.h \
	daemon/marketd/policy/rules.c \
	daemon/marketd/policy/rules.h \
	daemon/marketd/policy/rules_own.h \
	daemon/marketd/policy/rules_read.c \
	daemon/marketd/policy/vectors.c \
	daemon/marketd/policy/vectors.h
libpolicy_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS) $(ZLIB_CFLAGS)
libpolicy_la_LIBADD = $(ZLIB_LIBS)
