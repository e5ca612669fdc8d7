# The API: what all generations share here, and one folder a generation: v2 (SF Compute's), np (ours), old (SF
# Compute's v1 and v0).
# Who links it also links libpolicy.la, liboutward.la, libstore.la, libengine.la, libmarket.la, libconf.la and
# libbase.la.
noinst_LTLIBRARIES += libapi.la
libapi_la_SOURCES = \
	daemon/marketd/api/absent.c \
	daemon/marketd/api/api.c \
	daemon/marketd/api/api.h \
	daemon/marketd/api/authorize.c \
	daemon/marketd/api/authorize.h \
	daemon/marketd/api/auditlog.c \
	daemon/marketd/api/auditlog.h \
	daemon/marketd/api/body.c \
	daemon/marketd/api/builtin.c \
	daemon/marketd/api/builtin.h \
	daemon/marketd/api/cursor.c \
	daemon/marketd/api/cursor.h \
	daemon/marketd/api/may/decide.c \
	daemon/marketd/api/may/decide.h \
	daemon/marketd/api/find.c \
	daemon/marketd/api/idempotency.c \
	daemon/marketd/api/idempotency.h \
	daemon/marketd/api/metrics.c \
	daemon/marketd/api/metrics.h \
	daemon/marketd/api/openapi.c \
	daemon/marketd/api/promise.c \
	daemon/marketd/api/promise.h \
	daemon/marketd/api/may/quota.c \
	daemon/marketd/api/may/quota.h \
	daemon/marketd/api/may/quota_text.c \
	daemon/marketd/api/may/quota_text.h \
	daemon/marketd/api/render.c \
	daemon/marketd/api/render.h \
	daemon/marketd/api/render_order.c \
	daemon/marketd/api/render_sku.c \
	daemon/marketd/api/render_thing.c \
	daemon/marketd/api/route.c \
	daemon/marketd/api/routes.c \
	daemon/marketd/api/routes.h \
	daemon/marketd/api/schema.c \
	daemon/marketd/api/schema.h \
	daemon/marketd/api/judge.c \
	daemon/marketd/api/judge.h \
	daemon/marketd/api/nonces.c \
	daemon/marketd/api/nonces.h \
	daemon/marketd/api/tlskeys.c \
	daemon/marketd/api/tlskeys.h \
	daemon/marketd/api/takings.c \
	daemon/marketd/api/takings.h \
	daemon/marketd/api/tally.c \
	daemon/marketd/api/tally_capacity.c \
	daemon/marketd/api/tally.h
libapi_la_SOURCES += \
	daemon/marketd/api/v2/accounts.c \
	daemon/marketd/api/v2/book.c \
	daemon/marketd/api/v2/book.h \
	daemon/marketd/api/v2/fills.c \
	daemon/marketd/api/v2/instance.c \
	daemon/marketd/api/v2/instance.h \
	daemon/marketd/api/v2/instances.c \
	daemon/marketd/api/v2/orders.c \
	daemon/marketd/api/v2/pools.c \
	daemon/marketd/api/v2/preview.c \
	daemon/marketd/api/v2/procurements.c \
	daemon/marketd/api/v2/skus.c \
	daemon/marketd/api/v2/v2.c \
	daemon/marketd/api/v2/v2.h \
	daemon/marketd/api/v2/v2_answers.c \
	daemon/marketd/api/v2/v2_requests.c \
	daemon/marketd/api/v2/v2_schemas.c \
	daemon/marketd/api/v2/v2_schemas.h
libapi_la_SOURCES += \
	daemon/marketd/api/np/np.c \
	daemon/marketd/api/np/np.h \
	daemon/marketd/api/np/alert_curves.c \
	daemon/marketd/api/np/alert_curves.h \
	daemon/marketd/api/np/alert_rules.c \
	daemon/marketd/api/np/alert_rules.h \
	daemon/marketd/api/np/alerts.c \
	daemon/marketd/api/np/alerts.h \
	daemon/marketd/api/np/movements.c \
	daemon/marketd/api/np/movements.h \
	daemon/marketd/api/np/np_accounts.c \
	daemon/marketd/api/np/np_agent_schemas.c \
	daemon/marketd/api/np/np_agents.c \
	daemon/marketd/api/np/np_alerts.c \
	daemon/marketd/api/np/np_drain.c \
	daemon/marketd/api/np/np_announce.c \
	daemon/marketd/api/who/np_audit.c \
	daemon/marketd/api/who/np_authz.c \
	daemon/marketd/api/np/np_price.c \
	daemon/marketd/api/np/np_overview.c \
	daemon/marketd/api/np/np_public.c \
	daemon/marketd/api/np/np_proof.c \
	daemon/marketd/api/np/np_recheck.c \
	daemon/marketd/api/who/np_people.c \
	daemon/marketd/api/np/np_report.c \
	daemon/marketd/api/who/np_signin.c \
	daemon/marketd/api/who/np_signin_page.c \
	daemon/marketd/api/who/signin.h \
	daemon/marketd/api/np/np_verify.c \
	daemon/marketd/api/np/np_verify_schemas.c \
	daemon/marketd/api/np/np_grants.c \
	daemon/marketd/api/np/np_health.c \
	daemon/marketd/api/np/np_hosts.c \
	daemon/marketd/api/np/np_lists.c \
	daemon/marketd/api/np/np_live.c \
	daemon/marketd/api/np/np_nodes.c \
	daemon/marketd/api/np/np_schemas.c \
	daemon/marketd/api/np/np_schemas.h \
	daemon/marketd/api/who/np_session.c \
	daemon/marketd/api/who/np_tokens.c \
	daemon/marketd/api/np/np_trades.c \
	daemon/marketd/api/np/np_usage.c \
	daemon/marketd/api/np/np_samples.c \
	daemon/marketd/api/np/np_series.c \
	daemon/marketd/api/np/np_speed.c \
	daemon/marketd/api/np/overview.c \
	daemon/marketd/api/np/overview.h \
	daemon/marketd/api/np/price_week.c \
	daemon/marketd/api/np/price_week.h \
	daemon/marketd/api/np/public_book.c \
	daemon/marketd/api/np/public_book.h \
	daemon/marketd/api/np/np_work.c
libapi_la_SOURCES += \
	daemon/marketd/api/old/old_pick.c \
	daemon/marketd/api/old/old_promise.c \
	daemon/marketd/api/old/old_schemas.c \
	daemon/marketd/api/old/v0.c \
	daemon/marketd/api/old/v0.h \
	daemon/marketd/api/old/v0_contract.c \
	daemon/marketd/api/old/v0_list.c \
	daemon/marketd/api/old/v0_nodes.c \
	daemon/marketd/api/old/v0_order.c \
	daemon/marketd/api/old/v0_procurement.c \
	daemon/marketd/api/old/v0_quote.c \
	daemon/marketd/api/old/v0_vm.c \
	daemon/marketd/api/old/v0_word.c \
	daemon/marketd/api/old/v1.c \
	daemon/marketd/api/old/v1.h \
	daemon/marketd/api/old/v1_create.c \
	daemon/marketd/api/old/v1_model.c \
	daemon/marketd/api/old/v1_node.c \
	daemon/marketd/api/old/v1_zone.c
EXTRA_DIST += daemon/marketd/api/public.list daemon/marketd/api/operations.md
libapi_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(CRYPTO_CFLAGS)
