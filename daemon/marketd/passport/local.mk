# Human Passport: whose address it is, by a signature, and how unique its person is, by the service's score.
noinst_LTLIBRARIES += libpassport.la
libpassport_la_SOURCES = \
	daemon/marketd/passport/ethaddress.c \
	daemon/marketd/passport/ethaddress.h \
	daemon/marketd/passport/passport.c \
	daemon/marketd/passport/passport.h \
	daemon/marketd/passport/score.c \
	daemon/marketd/passport/score.h \
	daemon/marketd/passport/siwe.c \
	daemon/marketd/passport/siwe.h
libpassport_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(SECP256K1_CFLAGS)
libpassport_la_LIBADD = liboutward.la libbase.la $(JANSSON_LIBS) $(SECP256K1_LIBS)
