# The issuer of identities that the market trusts, and what it signs.
noinst_LTLIBRARIES += liboidc.la
liboidc_la_SOURCES = \
	daemon/marketd/oidc/codes.c \
	daemon/marketd/oidc/codes.h \
	daemon/marketd/oidc/issuer.c \
	daemon/marketd/oidc/issuer.h \
	daemon/marketd/oidc/jwk.c \
	daemon/marketd/oidc/jwk.h \
	daemon/marketd/oidc/jwt.c \
	daemon/marketd/oidc/jwt.h
liboidc_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
liboidc_la_LIBADD = liboutward.la libmarket.la libbase.la $(JANSSON_LIBS) $(CRYPTO_LIBS)
