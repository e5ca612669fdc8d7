# daemon/marketd: the market. All but main.c are convenience libraries, for the tests and benches.
include daemon/marketd/engine.mk
include daemon/marketd/store.mk
include daemon/marketd/apiv2.mk
include daemon/marketd/apinp.mk
include daemon/marketd/http.mk
EXTRA_DIST += daemon/marketd/engine/rules.md
