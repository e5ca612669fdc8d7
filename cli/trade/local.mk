# cli/trade: the market from here: sign-in, quote, plan, purchase, intent, reservations.
libcli_la_SOURCES += \
	cli/trade/buying.c \
	cli/trade/buying.h \
	cli/trade/intent.c \
	cli/trade/intent.h \
	cli/trade/market_link.c \
	cli/trade/market_link.h \
	cli/trade/placed.c \
	cli/trade/placed.h \
	cli/trade/purchase.c \
	cli/trade/purchase.h \
	cli/trade/quote.c \
	cli/trade/quote.h \
	cli/trade/reservation.c \
	cli/trade/reservation.h \
	cli/trade/scopes.c \
	cli/trade/scopes.h \
	cli/trade/sku_list.c \
	cli/trade/sku_list.h \
	cli/trade/tokenfile.c \
	cli/trade/tokenfile.h \
	cli/trade/cloudinit.c \
	cli/trade/cloudinit.h \
	cli/trade/window.c \
	cli/trade/window.h \
	cli/trade/wish.c \
	cli/trade/wish.h
