# cli/trade: the market from here: sign-in, quote, purchase, reservations.
libcli_la_SOURCES += \
	cli/trade/cloudinit.c \
	cli/trade/cloudinit.h \
	cli/trade/deal.c \
	cli/trade/deal.h \
	cli/trade/ensured.c \
	cli/trade/ensured.h \
	cli/trade/giveback.c \
	cli/trade/giveback.h \
	cli/trade/guide.c \
	cli/trade/guide.h \
	cli/trade/market_clock.c \
	cli/trade/market_clock.h \
	cli/trade/market_link.c \
	cli/trade/market_link.h \
	cli/trade/order_args.c \
	cli/trade/order_args.h \
	cli/trade/order_status.c \
	cli/trade/order_status.h \
	cli/trade/purchase.c \
	cli/trade/purchase.h \
	cli/trade/quote.c \
	cli/trade/quote.h \
	cli/trade/reservation.c \
	cli/trade/reservation.h \
	cli/trade/resume_file.c \
	cli/trade/resume_file.h \
	cli/trade/rows_list.c \
	cli/trade/rows_list.h \
	cli/trade/scopes.c \
	cli/trade/scopes.h \
	cli/trade/sku_list.c \
	cli/trade/sku_list.h \
	cli/trade/tokenfile.c \
	cli/trade/tokenfile.h \
	cli/trade/window.c \
	cli/trade/window.h
