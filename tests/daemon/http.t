#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod-marketd as a program: its options, its addresses, TLS, signals, and what holds for every request.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"

# Options.
run_is 0 "--help" "$MARKETD" --help
like "$out" '--listen ADDR:PORT' "lists the options"
told=$(printf '%s\n' "$out" | grep -o -- '--[a-z][a-z-]*' | grep -v unix-socket | sort -u | while read -r option; do
	grep -q -- "Fl -${option#--}\b" "$SRC/man/nanopod-marketd.8" || echo "$option"
done)
is "$told" "" "and the manual page has each of them"
run_is 0 "--version" "$MARKETD" --version
like "$out" '^nanopod-marketd [0-9]' "says which"
run_is 2 "an unknown option" "$MARKETD" --nonsense
run_is 2 "an unknown verb" "$MARKETD" frobnicate
run_is 2 "a certificate without a key" "$MARKETD" --tls-cert x
run_is 1 "a public address without TLS is refused" "$MARKETD" --data "$TMP/none" --listen 0.0.0.0:0
like "$err" "0\.0\.0\.0:0.*--insecure" "and the way out is told"
run_is 1 "an address that is none" "$MARKETD" --data "$TMP/none" --listen nowhere
mkdir -m 755 "$TMP/open"
run_is 1 "a folder that others may look into is refused" "$MARKETD" --data "$TMP/open" --listen 127.0.0.1:0
like "$err" 'chmod 700' "and what closes it is told"

marketd_start --test-clock=1800000000 --name testing || { done_testing; }
is "$(stat -c %a "$MARKETD_DATA")" 700 "the folder is its owner's alone"
is "$(stat -c %a "$MARKETD_SOCKET")" 600 "so is the socket"
run_is 1 "a second market on the same socket is refused" "$MARKETD" --data "$TMP/second" --listen 127.0.0.1:0 --socket "$MARKETD_SOCKET"
like "$err" 'already listens on' "and why"

# What holds for every answer.
body=$(operator GET /healthz)
is "$(http_status)" 200 "it is ready"
like "$body" '"status":"ready"' "and says so"
is "$(http_header Content-Type)" application/json "an answer says that it is JSON"
is "$(http_header Nanopod-Market)" 1 "and what it comes from"
is "$(http_header Cache-Control)" no-store "and that nobody may keep it"
like "$(http_header X-Request-Id)" '^req_[0-9a-f]{16}$' "it has an id"
body=$(operator GET /no/such/path)
is "$(http_status)" 404 "what is not there"
is "$(printf '%s' "$body" | json .request_id)" "$(http_header X-Request-Id)" "an error tells the same id in its body"
is "$(printf '%s' "$body" | json .error.code)" not_found "and a code of the closed list"
operator HEAD /healthz >/dev/null
is "$(http_status)" 200 "HEAD is answered"
operator OPTIONS /healthz >/dev/null
is "$(http_status)" 405 "OPTIONS is not"
is "$(http_header Allow)" "GET, HEAD" "and what would be is told"
operator GET '/healthz?verbose=1' >/dev/null
is "$(http_status)" 422 "an unknown query name is refused"
like "$(operator GET '/healthz?verbose=1')" '"field":"verbose","code":"unknown_field"' "and named"

# The operator's socket is for its owner, whatever its mode says.
if [ "$(id -u)" -eq 0 ] && have setpriv; then
	chmod 711 "$TMP"; chmod 666 "$MARKETD_SOCKET"
	run setpriv --reuid=65534 --regid=65534 --clear-groups curl -sS --max-time 60 --unix-socket "$MARKETD_SOCKET" http://x/np/v1/accounts
	like "$out" '"code":"forbidden"' "another user is refused there, even if the socket lets it in"
	chmod 700 "$TMP"; chmod 600 "$MARKETD_SOCKET"
else
	skip "only root can be another user"
fi

# Tokens.
marketd_account acme 1000.00
token=$(marketd_token acme read trade)
like "$token" '^npk_' "a token can be made by the operator"
as "$token" GET /v2/pools >/dev/null
is "$(http_status)" 200 "and used"
as npk_wrong GET /v2/pools >/dev/null
is "$(http_status)" 401 "another cannot"
is "$(http_header WWW-Authenticate)" Bearer "and what is asked for is told"
http_call "$NANOPOD_URL" GET /v2/pools >/dev/null
is "$(http_status)" 401 "nor none"
as "$token" POST /np/v1/accounts '{"name":"evil"}' >/dev/null
is "$(http_status)" 403 "a token without the scope may not"
as "$token" GET '/v2/pools?account=acme' >/dev/null
is "$(http_status)" 403 "nor ask for an account, be it its own"
operator GET '/v2/pools?account=nobody' >/dev/null
is "$(http_status)" 404 "the operator may, where there is one"
as "$token" GET /preview/v2/pools >/dev/null
is "$(http_status)" 200 "/preview/v2 is /v2"
as "$token" GET /metrics >/dev/null
is "$(http_status)" 403 "the figures are not for every token"

# Figures: each line is one that Prometheus reads, each name is told once, buckets only grow.
operator GET /metrics >"$TMP/metrics"
is "$(http_status)" 200 "they are for the operator"
like "$(http_header Content-Type)" '^text/plain; version=0\.0\.4' "as Prometheus wants them"
awk '
	/^# (HELP|TYPE) [a-z_]+ ./ { if (seen[$2 $3]++) print "twice: " $0; type[$3] = $4; next }
	!/^[a-z_]+(\{([a-z_]+="[^"]*",?)*\})? -?[0-9]+(\.[0-9]+)?$/ { print "no sample: " $0; next }
	{
		name = $1; sub(/\{.*/, "", name); base = name; sub(/_(bucket|sum|count)$/, "", base)
		if (!((name in type) || (base in type))) print "no type: " $0
		series = $1; sub(/,?le="[^"]*"/, "", series)
		if (name ~ /_bucket$/) { if ($2 + 0 < last[series] + 0) print "shrinks: " $0; last[series] = $2 }
		if ($1 in once) print "twice: " $0
		once[$1] = 1
	}' "$TMP/metrics" >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "all of $(grep -vc '^#' "$TMP/metrics") figures are well formed"
is "$(grep -o '[a-z_]*="' "$TMP/metrics" | sort -u | tr -d '\n')" 'le="method="route="state="status="' "no label grows with customers or hosts"
is "$(grep -c '^nanopod_http_request_seconds_bucket{method="GET",route="/healthz"' "$TMP/metrics")" 8 "a route has few buckets"
if have promtool; then
	ok "promtool has no complaint" sh -c "promtool check metrics <'$TMP/metrics' >'$TMP/said' 2>&1 && cat '$TMP/said' && [ ! -s '$TMP/said' ]"
	not_ok "(it can complain)" sh -c "sed 's/_total//' '$TMP/metrics' | promtool check metrics"
else
	skip "'promtool' is not installed"
fi
like "$(cat "$TMP/metrics")" '^nanopod_http_requests_total\{method="GET",route="/healthz",status="200"\} [1-9]' "requests are counted by route and status"
like "$(cat "$TMP/metrics")" '^nanopod_commit_seconds_count [1-9]' "commits are counted and timed"
like "$(cat "$TMP/metrics")" '^nanopod_http_auth_failures_total [1-9]' "so are tokens that were not taken"

# Bodies.
as "$token" POST /v2/pools '{"name":"p1","workspace":"sfc:workspace:acme:default","colour":"red"}' >"$TMP/answer"
is "$(http_status)" 422 "an unknown field is refused"
is "$(json '.error.details[0].field' <"$TMP/answer")" colour "and named"
as "$token" POST /v2/pools '{"name":"p1","name":"p2"}' >/dev/null
is "$(http_status)" 400 "a field that is there twice is refused"
as "$token" POST /v2/pools '{"name":' >/dev/null
is "$(http_status)" 400 "what is no JSON is refused"
as "$token" POST /v2/pools "$(printf '%0100d' 0 | tr 0 '[')" >/dev/null
is "$(http_status)" 400 "deep nesting is refused"
as "$token" POST /v2/pools '[]' >/dev/null
is "$(http_status)" 422 "a body must be an object"

# Keys: the same request once, another one refused.
credit() { operator POST /np/v1/accounts/acme/credits "$1" -H "Idempotency-Key: $2"; }
first=$(credit '{"amount_dollars":"10.00"}' k1)
again=$(credit '{ "amount_dollars" : "10.00" }' k1)
is "$again" "$first" "under the same key comes the same answer"
is "$(http_header Idempotent-Replayed)" true "and says that it is one"
credit '{"amount_dollars":"20.00"}' k1 >/dev/null
is "$(http_status)" 409 "another request under the key is refused"
credit '{"amount_dollars":"20.00"}' "$(printf '%0300d' 0)" >/dev/null
is "$(http_status)" 422 "a key that is too long is refused"
like "$(operator GET '/np/v1/balance?account=acme')" '"available_dollars":"1010\.000000"' "the money moved once"
marketd_stop
is "$marketd_status" 0 "SIGTERM ends it cleanly"
not_ok "and its socket is gone" test -e "$MARKETD_SOCKET"
marketd_start --test-clock
is "$(credit '{"amount_dollars":"10.00"}' k1)" "$first" "the key is remembered over a restart"
like "$(operator GET '/np/v1/balance?account=acme')" '"available_dollars":"1010\.000000"' "and the money"
unlike "$(cat "$MARKETD_LOG")" 'npk_' "no token is in the log"
not_ok "nor in the database" grep -q "$token" "$MARKETD_DATA"/*
marketd_stop

# libmicrohttpd 1.0 has one buffer for all that it tells of a connection.
one=$BUILD/tests/lib/.libs/onebuffer.so
LD_PRELOAD=$one ASAN_OPTIONS=verify_asan_link_order=0 marketd_start --test-clock
ok "(it is loaded)" grep -qF "$one" "/proc/$MARKETD_PID/maps"
operator GET /np/v1/accounts >/dev/null
is "$(http_status)" 200 "the operator is known by any libmicrohttpd"
as "$token" GET /v2/pools >/dev/null
is "$(http_status)" 200 "and a token is"
marketd_stop

# How often.
marketd_start --test-clock --rate 1
second=$(marketd_token acme read)
# The account had two, and one comes back a second; a token with a rate of its own would have two more.
since=$(date +%s%N)
curl -sS --max-time 30 -o /dev/null -D "$TMP/many" -H "Authorization: Bearer $token" "$NANOPOD_URL/v2/pools?limit=[1-40]"
curl -sS --max-time 30 -o /dev/null -D "$TMP/both" -H "Authorization: Bearer $second" "$NANOPOD_URL/v2/pools?limit=[1-4]"
most=$((2 + ($(date +%s%N) - since) / 1000000000))
ok "another token of the same account does not help" test "$(cat "$TMP/many" "$TMP/both" | grep -c '^HTTP/1\.1 200')" -le "$most"
limited=$(grep -c '^HTTP/1\.1 429' "$TMP/many")
ok "a token that asks too often is told to wait ($limited of 40)" test "$limited" -ge 3
ok "but not the first times" test "$(grep -c '^HTTP/1\.1 200' "$TMP/many")" -ge 2
is "$(grep -ci '^Retry-After: [1-9]' "$TMP/many")" "$limited" "and how long, each time"
operator GET /v2/pools?account=acme >/dev/null
is "$(http_status)" 200 "the operator never is"
marketd_stop

# TLS.
if have openssl; then
	certificate() {
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
			-addext subjectAltName=IP:127.0.0.1 -keyout "$TMP/key.pem" -out "$TMP/cert.pem" 2>/dev/null
	}
	certificate first
	marketd_start --test-clock --tls-cert "$TMP/cert.pem" --tls-key "$TMP/key.pem"
	like "$NANOPOD_URL" '^https://' "with a certificate it is https"
	cp "$TMP/cert.pem" "$TMP/first.pem"
	run_is 0 "and is believed" curl -sS --max-time 60 --cacert "$TMP/first.pem" "$NANOPOD_URL/healthz"
	like "$out" ready "and answers"
	run curl -sS --max-time 12 "http://${NANOPOD_URL#https://}/healthz"
	isnt "$status" 0 "who does not speak TLS is not answered"
	run curl -sS --max-time 60 --tls-max 1.1 -k "$NANOPOD_URL/healthz"
	isnt "$status" 0 "nor who speaks an old one"
	certificate second
	kill -HUP "$MARKETD_PID"
	renewed() { curl -sS --max-time 60 --cacert "$TMP/cert.pem" "$NANOPOD_URL/healthz"; }
	ok "SIGHUP reads the certificate anew" wait_for 10 renewed
	echo nonsense >"$TMP/cert.pem"
	kill -HUP "$MARKETD_PID"
	said() { grep -q 'keeping the old certificate' "$MARKETD_LOG"; }
	ok "one that cannot be used is told" wait_for 10 said
	run_is 0 "and the old one stays" curl -sS --max-time 60 -k "$NANOPOD_URL/healthz"
	marketd_stop
	is "$marketd_status" 0 "it ends cleanly with TLS too"
	run_is 1 "it does not start with such a one" "$MARKETD" --data "$MARKETD_DATA" --listen 127.0.0.1:0 --socket "$MARKETD_SOCKET" \
		--tls-cert "$TMP/cert.pem" --tls-key "$TMP/key.pem"
else
	skip "openssl is not installed"
fi
done_testing
