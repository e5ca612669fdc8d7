# daemon/marketd: the market. All but main.c are convenience libraries, for the tests and benches.
include daemon/marketd/engine/local.mk
include daemon/marketd/store/local.mk
include daemon/marketd/series/local.mk
include daemon/marketd/policy/local.mk
include daemon/marketd/gateway/local.mk
include daemon/marketd/proxy/local.mk
include daemon/marketd/api/local.mk
include daemon/marketd/outward/local.mk
include daemon/marketd/stripe/local.mk
include daemon/marketd/passport/local.mk
include daemon/marketd/oidc/local.mk
include daemon/marketd/web/local.mk
include daemon/marketd/http/local.mk

# The program's own: options, the loop, and the tables that name all routes and schemas.
noinst_LTLIBRARIES += libmarketd.la
libmarketd_la_SOURCES = \
	daemon/marketd/certificate.c \
	daemon/marketd/certificate.h \
	daemon/marketd/notify.c \
	daemon/marketd/notify.h \
	daemon/marketd/options.c \
	daemon/marketd/options.h \
	daemon/marketd/options_text.c \
	daemon/marketd/serve.c \
	daemon/marketd/serve.h \
	daemon/marketd/tables.c
libmarketd_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
libmarketd_la_LIBADD = libproxy.la libmarkethttp.la libapi.la liboidc.la libstripe.la liboutward.la libseries.la \
	libpassport.la libpolicy.la libgateway.la \
	libstore.la libengine.la libmarket.la libconf.la libbase.la \
	$(MICROHTTPD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(CRYPTO_LIBS)

sbin_PROGRAMS += nanopod-marketd
nanopod_marketd_SOURCES = daemon/marketd/main.c
nanopod_marketd_LDADD = libmarketd.la
