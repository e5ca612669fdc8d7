# SPDX-License-Identifier: Apache-2.0
# `nanopod-marketd gateway serve` and backends for a test, after marketd.sh.

# backend NAME [VARIABLE=VALUE…]: tests/daemon/llm.mjs. Its port is in $backend_port and its process in backend_pid_NAME.
backend() {
	backend_name=$1
	shift
	: >"$TMP/backend-$backend_name.out"
	env LOG="$TMP/backend-$backend_name.log" NAME="$backend_name" "$@" node "$SRC/tests/daemon/llm.mjs" \
		>"$TMP/backend-$backend_name.out" 2>"$TMP/backend-$backend_name.err" </dev/null &
	eval "backend_pid_$backend_name=$!"
	at_exit "kill $! 2>/dev/null"
	wait_for 30 grep -q ready "$TMP/backend-$backend_name.out" || { diag "$(cat "$TMP/backend-$backend_name.err")"; done_testing; }
	backend_port=$(sed -n 's/^ready //p' "$TMP/backend-$backend_name.out")
}
backend_end() { eval "kill -9 \$backend_pid_$1 2>/dev/null; wait \$backend_pid_$1 2>/dev/null"; }

GATEWAY_LOG=$TMP/gateway.log
gateway_ready() {
	sed -n 's/^nanopod-marketd: ready \(http[^ ]*\).*/\1/p' "$GATEWAY_LOG" | tail -n 1 >"$TMP/.gateway"
	[ -s "$TMP/.gateway" ] || ! kill -0 "$GATEWAY_PID" 2>/dev/null
}
# gateway_start: of $TMP/gateway.yaml. Sets GATEWAY_URL and GATEWAY_PID.
gateway_start() {
	: >"$GATEWAY_LOG"
	# ASan keeps freed memory for a while, which would hide how much is held.
	ASAN_OPTIONS="quarantine_size_mb=1:${ASAN_OPTIONS-}" "$MARKETD" gateway serve "$TMP/gateway.yaml" 2>"$GATEWAY_LOG" </dev/null &
	GATEWAY_PID=$!
	wait_for 60 gateway_ready
	[ -s "$TMP/.gateway" ] || { fail "the gateway starts"; diag "$(cat "$GATEWAY_LOG")"; done_testing; }
	GATEWAY_URL=$(cat "$TMP/.gateway")
	export GATEWAY_URL
}
gateway_end() { # gateway_end [SIGNAL]
	[ -n "${GATEWAY_PID:-}" ] || return 0
	kill "${1:--TERM}" "$GATEWAY_PID" 2>/dev/null
	gateway_status=0
	wait "$GATEWAY_PID" 2>/dev/null || gateway_status=$?
	GATEWAY_PID=
}
at_exit gateway_end

# gateway_day SECONDS: what a gateway counts by the day begins anew at midnight (UTC); where that is less than so many
# seconds away, waits for it.
gateway_day() {
	gateway_left=$((86400 - $(date +%s) % 86400))
	[ $gateway_left -gt "$1" ] || sleep $((gateway_left + 1))
}

# chat TOKEN MODEL WORDS [MEMBERS]: prints the body; http_status and http_header say the rest.
chat() { ask "$1" /v1/chat/completions "{\"model\":\"$2\",\"messages\":[{\"role\":\"user\",\"content\":\"$3\"}]${4:+,$4}}"; }
ask() { # ask TOKEN PATH JSON [CURL OPTION…]
	ask_token=$1 ask_path=$2 ask_body=$3
	shift 3
	http_call "$GATEWAY_URL" POST "$ask_path" "$ask_body" ${ask_token:+-H "Authorization: Bearer $ask_token"} "$@"
}
