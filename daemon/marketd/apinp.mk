# daemon/marketd: see local.mk
# Our own API and the adapters for SF Compute's older generations.
noinst_LTLIBRARIES += libapinp.la
libapinp_la_SOURCES = \
	daemon/marketd/api/np/np.c daemon/marketd/api/np/np.h \
	daemon/marketd/api/np/np_accounts.c \
	daemon/marketd/api/np/np_agents.c \
	daemon/marketd/api/np/np_hosts.c \
	daemon/marketd/api/np/np_lists.c \
	daemon/marketd/api/np/np_nodes.c \
	daemon/marketd/api/np/np_tokens.c \
	daemon/marketd/api/np/np_trades.c \
	daemon/marketd/api/np/np_work.c \
	daemon/marketd/api/old/v0.c daemon/marketd/api/old/v0.h \
	daemon/marketd/api/old/v0_contract.c \
	daemon/marketd/api/old/v0_list.c \
	daemon/marketd/api/old/v0_order.c \
	daemon/marketd/api/old/v0_procurement.c \
	daemon/marketd/api/old/v0_quote.c \
	daemon/marketd/api/old/v0_vm.c \
	daemon/marketd/api/old/v0_word.c \
	daemon/marketd/api/old/v1.c daemon/marketd/api/old/v1.h \
	daemon/marketd/api/old/v1_create.c \
	daemon/marketd/api/old/v1_model.c \
	daemon/marketd/api/old/v1_node.c \
	daemon/marketd/api/np/np_schemas.c \
	daemon/marketd/api/np/np_agent_schemas.c \
	daemon/marketd/api/old/old_schemas.c
libapinp_la_LIBADD = libapiv2.la libmarket.la libbase.la
libapinp_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
