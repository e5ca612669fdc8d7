# SPDX-License-Identifier: Apache-2.0
# A market for a test, after tap.sh:
#     . "$(dirname "$0")/../lib/marketd.sh"
#     marketd_start [OPTION…]      a fresh one on a free port of 127.0.0.1 and a unix socket, in $TMP/market
# It then has $NANOPOD_URL, $MARKETD_SOCKET, $MARKETD_DATA, $MARKETD_PID, $MARKETD_LOG. It is ended with the test.

MARKETD=${TEST_MARKETD:-$BUILD/nanopod-marketd}
MARKETD_DATA=$TMP/market MARKETD_SOCKET=$TMP/market.sock MARKETD_LOG=$TMP/market.log
MARKETD_PID='' NANOPOD_URL=''
need curl
[ -x "$MARKETD" ] || skip_all "nanopod-marketd is not built"

# marketd_ready: has said so in its log. Sets NANOPOD_URL.
marketd_ready() {
	sed -n 's/^nanopod-marketd: ready \(http[^ ]*\).*/\1/p' "$MARKETD_LOG" | tail -n 1 >"$TMP/.url"
	[ -s "$TMP/.url" ]
}

marketd_begin() {
	: >"$MARKETD_LOG"
	"$MARKETD" --data "$MARKETD_DATA" --listen 127.0.0.1:0 --socket "$MARKETD_SOCKET" "$@" 2>"$MARKETD_LOG" </dev/null &
	MARKETD_PID=$!
}

# marketd_start [OPTION…]: also again after marketd_stop or marketd_kill, on the same data. Where that is at the port that
# it had, a connection of another test may have come from there meanwhile: it is waited for, up to 100 s.
marketd_start() {
	marketd_begin "$@"
	marketd_left=1200
	until marketd_ready; do
		marketd_left=$((marketd_left - 1))
		if [ $marketd_left -gt 0 ] && ! kill -0 "$MARKETD_PID" 2>/dev/null &&
			grep -q 'Address already in use' "$MARKETD_LOG"; then
			marketd_left=$((marketd_left - 11))
			sleep 1
			marketd_begin "$@"
			continue
		fi
		if [ $marketd_left -le 0 ] || ! kill -0 "$MARKETD_PID" 2>/dev/null; then
			fail "nanopod-marketd starts"
			sed 's/^/# /' "$MARKETD_LOG"
			marketd_stop
			return 1
		fi
		sleep 0.05
	done
	NANOPOD_URL=$(cat "$TMP/.url")
	export NANOPOD_URL
}

# marketd_stop: SIGTERM, and waits for its end. $marketd_status is its exit status.
marketd_stop() {
	marketd_status=0
	[ -n "$MARKETD_PID" ] || return 0
	kill "$MARKETD_PID" 2>/dev/null
	wait "$MARKETD_PID" 2>/dev/null || marketd_status=$?
	MARKETD_PID=''
}

# marketd_kill: as a lost machine would end it.
marketd_kill() {
	[ -n "$MARKETD_PID" ] || return 0
	kill -9 "$MARKETD_PID" 2>/dev/null
	wait "$MARKETD_PID" 2>/dev/null
	MARKETD_PID=''
}
at_exit marketd_stop

# http_call URL METHOD PATH [JSON] [CURL OPTION…]: prints the body; `http_status` then says the status,
# `http_header NAME` a header. JSON may be '' for none.
http_call() {
	http_url=$1 http_method=$2 http_path=$3 http_body=${4-}
	shift 3; [ $# -eq 0 ] || shift
	[ -z "$http_body" ] || set -- -H 'Content-Type: application/json' --data-binary "$http_body" "$@"
	[ "$http_method" != HEAD ] || set -- -I "$@"
	curl -sS --max-time 60 -g -X "$http_method" -D "$TMP/.headers" -o "$TMP/.body" -w '%{http_code}' "$@" \
		"$http_url$http_path" >"$TMP/.status" 2>"$TMP/.curl"
	cat "$TMP/.body" 2>/dev/null
}
http_status() { cat "$TMP/.status"; }
http_header() { tr -d '\r' <"$TMP/.headers" | sed -n "s/^$1: //Ip" | head -n 1; }

# operator METHOD PATH [JSON] [CURL OPTION…]: by the unix socket: may do all, for any account (?account=).
operator() {
	operator_method=$1 operator_path=$2 operator_body=${3-}
	shift 2; [ $# -eq 0 ] || shift
	http_call http://localhost "$operator_method" "$operator_path" "$operator_body" --unix-socket "$MARKETD_SOCKET" "$@"
}

# as TOKEN METHOD PATH [JSON] [CURL OPTION…]
as() {
	as_token=$1 as_method=$2 as_path=$3 as_body=${4-}
	shift 3; [ $# -eq 0 ] || shift
	http_call "$NANOPOD_URL" "$as_method" "$as_path" "$as_body" -H "Authorization: Bearer $as_token" "$@"
}

# json FILTER: of standard input, by jq; raw text.
json() { jq -r "$1"; }

# marketd_account NAME [DOLLARS]: makes one, with money. marketd_token ACCOUNT [SCOPE…]: prints a token (read trade nodes tokens).
marketd_account() {
	operator POST /np/v1/accounts "{\"name\":\"$1\"}" >"$TMP/.made"
	[ -z "${2-}" ] || operator POST "/np/v1/accounts/$1/credits" "{\"amount_dollars\":\"$2\"}" >>"$TMP/.made"
}
marketd_token() {
	marketd_name=$1
	shift
	[ $# -gt 0 ] || set -- read trade nodes tokens
	marketd_scopes=$(printf '"%s",' "$@")
	operator POST "/np/v1/accounts/$marketd_name/tokens" "{\"name\":\"test\",\"scopes\":[${marketd_scopes%,}]}" |
		sed -n 's/.*"token": *"\(npk_[A-Za-z0-9_-]*\)".*/\1/p'
}
