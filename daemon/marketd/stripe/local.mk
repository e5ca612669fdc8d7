# Stripe: what its webhooks are signed with and mean, and the page where people pay.
noinst_LTLIBRARIES += libstripe.la
libstripe_la_SOURCES = \
	daemon/marketd/stripe/checkout.c \
	daemon/marketd/stripe/checkout.h \
	daemon/marketd/stripe/stripe_connect.c \
	daemon/marketd/stripe/stripe_connect.h \
	daemon/marketd/stripe/stripe_own.h \
	daemon/marketd/stripe/webhook.c \
	daemon/marketd/stripe/webhook.h \
	daemon/marketd/stripe/webhook_sign.c
libstripe_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
libstripe_la_LIBADD = liboutward.la libbase.la $(JANSSON_LIBS) $(CRYPTO_LIBS)
