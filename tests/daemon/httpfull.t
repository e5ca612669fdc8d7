#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A disk that takes no more: what was answered stays, what cannot be kept is refused, and nothing lies.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"

marketd_start --test-clock=1800000000 || done_testing
marketd_account acme 100.00
marketd_stop

# The database may have some hundred KiB more than it has: then every write fails.
used=$(du -sk "$MARKETD_DATA" | awk '{ print $1 }')
limited() { ulimit -f $((($1) * 2)); shift; marketd_start "$@"; }
limited $((used + 400)) --test-clock || done_testing
token=$(marketd_token acme read trade)
credited=0 refused=0
for i in $(seq 1 400); do
	operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1.00"}' -H "Idempotency-Key: full-$i" >"$TMP/answer"
	case $(http_status) in
	201) credited=$((credited + 1)) last=$i ;;
	503) refused=$((refused + 1)) ;;
	*) diag "$(http_status) $(cat "$TMP/answer")" ;;
	esac
	[ $refused -lt 5 ] || break
done
ok "some were kept, then the disk was full ($credited kept, $refused refused)" test $credited -gt 0 -a $refused -ge 5
like "$(cat "$TMP/answer")" '"code":"unavailable"' "which is told as such"
like "$(http_header Retry-After)" '^[0-9]+$' "and that it may be tried again"
readable() { [ "$(as "$token" GET /np/v1/balance | json .available_micros)" = $(((100 + credited) * 1000000)) ]; }
ok "what was kept can be read, and is all that there is" wait_for 15 readable
ok "the log says why" grep -q 'nothing of this turn was saved' "$MARKETD_LOG"
marketd_stop
is "$marketd_status" 0 "it ends cleanly"
run_is 0 "and its books are in order" "$MARKETD" check --data "$MARKETD_DATA"
diag "$err"
done_testing
