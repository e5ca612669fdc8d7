# daemon/marketd: see local.mk
# Our own API and the adapters for SF Compute's older generations.
noinst_LTLIBRARIES += libapinp.la
libapinp_la_SOURCES = \
	daemon/marketd/api_np.c daemon/marketd/api_np.h \
	daemon/marketd/api_np_account.c \
	daemon/marketd/api_np_agent.c \
	daemon/marketd/api_np_host.c \
	daemon/marketd/api_np_list.c \
	daemon/marketd/api_np_node.c \
	daemon/marketd/api_np_token.c \
	daemon/marketd/api_np_trade.c \
	daemon/marketd/api_np_work.c \
	daemon/marketd/api_v0.c daemon/marketd/api_v0.h \
	daemon/marketd/api_v0_contract.c \
	daemon/marketd/api_v0_list.c \
	daemon/marketd/api_v0_order.c \
	daemon/marketd/api_v0_procurement.c \
	daemon/marketd/api_v0_quote.c \
	daemon/marketd/api_v0_vm.c \
	daemon/marketd/api_v0_word.c \
	daemon/marketd/api_v1.c daemon/marketd/api_v1.h \
	daemon/marketd/api_v1_create.c \
	daemon/marketd/api_v1_model.c \
	daemon/marketd/api_v1_node.c \
	daemon/marketd/schema_np.c \
	daemon/marketd/schema_npagent.c \
	daemon/marketd/schema_old.c
libapinp_la_LIBADD = libapiv2.la libmarket.la libbase.la
libapinp_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
