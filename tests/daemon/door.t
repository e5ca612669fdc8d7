#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real nginx with the file that nanopod-marketd gateway writes: who gets through to a backend, and that nobody does
# while the market is away. The backend is another server of the same nginx, which says what reached it.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
PATH=$PATH:/usr/sbin
need nginx jq flock
. "$(dirname "$0")/../lib/ports.sh"
. "$(dirname "$0")/../lib/nginx.sh"
front=$PORTS back=$((PORTS + 1)) second=$((PORTS + 2)) market=$((PORTS + 3)) ends=$((PORTS + 4)) nobody=$((PORTS + 5))

# The market keeps its port, as nginx remembers it.
market_start() { marketd_start --listen "127.0.0.1:$market" "$@"; }
printf 'rules:\n- {name: closed, when: {request.path: /v1/admin/x}, deny: not for customers}
- {name: half, when: {account.name: {in: [acme, poor]}}, rate: 0.5}\n- {name: free, when: {account.name: free}, rate: 0}
default: {allow: true}\n' >"$TMP/policy.yaml"
market_start --rate 0 --policy "$TMP/policy.yaml" || done_testing
marketd_account acme 10.00
marketd_account poor
marketd_account free
marketd_account shut 10.00
good=$(marketd_token acme) poor=$(marketd_token poor) free=$(marketd_token free) shut=$(marketd_token shut)
operator PATCH /np/v1/accounts/shut '{"state":"suspended"}' >/dev/null
ended=$(marketd_token acme)
ended_id=$(as "$ended" GET /np/v1/whoami | json .token.id)
operator DELETE "/np/v1/tokens/$ended_id" >/dev/null
is "$(http_status)" 204 "a token is revoked"
join=$(operator POST /np/v1/accounts/acme/tokens '{"scopes":["join"]}' | json .token)
account=$(as "$good" GET /np/v1/whoami | json .account_id)

# ---- The market's own answer ---------------------------------------------------------------------------
headers() { printf '%s|%s|%s' "$(http_header X-Nanopod-Account)" "$(http_header X-Nanopod-Plan)" "$(http_header X-Nanopod-Rate)"; }
as "$good" GET /np/v1/authz >"$TMP/answer"
is "$(http_status) $(headers)" "200 $account|half|0.5" "a customer may pass, and the headers say who and at what rate"
is "$(json '"\(.account_id) \(.account_name) \(.plan) \(.rate)"' <"$TMP/answer")" "$account acme half 0.5" "so does the body"
# refused TOKEN STATUS CODE TEXT [CURL OPTION…]
refused() {
	refused_token=$1 refused_as="$2 $3" refused_text=$4
	shift 4
	as "$refused_token" GET /np/v1/authz '' "$@" >"$TMP/answer"
	is "$(http_status) $(json .error.code <"$TMP/answer")$(headers)" "$refused_as||" "$refused_text"
}
refused "$ended" 401 unauthenticated "a revoked token"
refused npk_none 401 unauthenticated "an unknown token"
refused "$poor" 402 insufficient_funds "an account without money"
refused "$shut" 403 suspended "a suspended account"
refused "$join" 403 forbidden "a token that only lets machines join"
refused "$good" 403 denied_by_policy "what the policy denies" -H 'X-Original-URI: /v1/admin/x'
like "$(json .error.message <"$TMP/answer")" "not for customers .policy 'closed'" "and it says why"
refused "$good" 403 denied_by_policy "as APISIX asks" -H 'X-Forwarded-Uri: /v1/admin/x'
as "$free" GET /np/v1/authz >"$TMP/answer"
is "$(http_status) $(json .rate <"$TMP/answer")" "200 0" "who pays nothing needs no money"
http_call "$NANOPOD_URL" GET /np/v1/authz '' >"$TMP/answer"
is "$(http_status) $(http_header WWW-Authenticate)" "401 Bearer" "nobody"
operator GET /np/v1/authz '' -H "Authorization: Bearer $good" >"$TMP/answer"
is "$(http_status)" 403 "by the operator's socket, which reads no token"

# ---- The files -----------------------------------------------------------------------------------------
gateway() { "$MARKETD" gateway "$@"; }
printf 'backend-key\n' >"$TMP/key"
cat >"$TMP/gateway.yaml" <<-END
	market: http://127.0.0.1:$market
	listen: 127.0.0.1:$front
	routes:
	  - path: /v1/
	    backends: [{address: "127.0.0.1:$back", weight: 2}, "127.0.0.1:$second"]
	    key-file: $TMP/key
	  - path: /bare/
	    backends: ["127.0.0.1:$back"]
	  - path: /ends/
	    backends: [{address: "127.0.0.1:$ends", weight: 100}, "127.0.0.1:$back"]
	  - path: /gone/
	    backends: [{address: "127.0.0.1:$nobody", weight: 100}, "127.0.0.1:$back"]
END
nginx_conf >"$TMP/nginx.conf" <<-END
	keepalive_requests 100000;
	include $TMP/gateway.conf;
	server {
		listen 127.0.0.1:$back;
		location /v1/broken { return 500 "backend"; }
		access_log $TMP/back.asked;
		location / { return 200 "\$http_x_nanopod_account|\$http_x_nanopod_plan|\$http_x_nanopod_rate|\$http_authorization|\$request_uri"; }
	}
	server { listen 127.0.0.1:$ends; access_log $TMP/ends.asked; return 444; } # it reads a request and closes
END
printf 'old\n' >"$TMP/gateway.conf"
run_is 0 "nginx: the file is written" gateway nginx --out "$TMP/gateway.conf" "$TMP/gateway.yaml"
is "$(stat -c %a "$TMP/gateway.conf")" 600 "as it has a key, for its owner alone"
is "$(ls "$TMP" | grep -c 'gateway.conf')" 1 "nothing is left beside it"
ok "nginx takes it" nginx -t -c "$TMP/nginx.conf"
is "$(sed -n '/^upstream nanopod_1 /,/^}/p' "$TMP/gateway.conf" | grep keepalive_t)" "	keepalive_timeout 4s;" \
	"it gives idle connections up before backends do"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout "$TMP/tls.key" -out "$TMP/tls.crt" 2>/dev/null
printf 'market: https://localhost:%s\nlisten: 127.0.0.1:%s\ntls-cert: %s\ntls-key: %s\nroutes: [{path: /, backends: ["[::1]:80"]}]\n' \
	"$market" "$front" "$TMP/tls.crt" "$TMP/tls.key" >"$TMP/tls.yaml"
cp "$TMP/gateway.conf" "$TMP/plain.conf"
if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
	gateway nginx --out "$TMP/gateway.conf" "$TMP/tls.yaml"
	ok "and one with TLS on both sides" nginx -t -c "$TMP/nginx.conf"
	mv "$TMP/plain.conf" "$TMP/gateway.conf"
else
	skip "no /etc/ssl/certs/ca-certificates.crt"
fi
run_is 0 "APISIX: printed" gateway apisix "$TMP/gateway.yaml"
is "$(printf '%s\n' "$out" | tail -n 1)" "#END" "it ends as APISIX wants"
if have python3 && python3 -c 'import yaml' 2>/dev/null; then
	is "$(printf '%s\n' "$out" | python3 -c 'import json, sys, yaml
r = yaml.safe_load(sys.stdin)["routes"]
a = r[0]["plugins"]["forward-auth"]
print(json.dumps([len(r), r[0]["uri"], a["uri"], a["request_headers"], a["upstream_headers"][-1], a["allow_degradation"], r[0]["upstream"]["nodes"], [len(x["plugins"]) for x in r]]))')" \
		"[4, \"/v1/*\", \"http://127.0.0.1:$market/np/v1/authz\", [\"Authorization\"], \"Authorization\", false, {\"127.0.0.1:$back\": 2, \"127.0.0.1:$second\": 1}, [2, 1, 1, 1]]" \
		"it is YAML, and says who asks whom"
	# APISIX runs the phase 'rewrite' of all plugins first, so what sets a key there shows it to the market.
	is "$(printf '%s\n' "$out" | python3 -c 'import sys, yaml
p = yaml.safe_load(sys.stdin)["routes"][0]["plugins"]["serverless-post-function"]
print(p["phase"], *p["functions"])')" \
		'access return function(conf, ctx) require("apisix.core").request.set_header(ctx, "Authorization", "Bearer backend-key") end' \
		"and sets the backend's key once the market has said yes"
else
	skip "no python3-yaml"
fi
# slip YAML TEXT
slip() {
	printf '%s\n' "$1" >"$TMP/slip.yaml"
	run gateway nginx "$TMP/slip.yaml"
	like "$status $err" "^1 .*$2" "refused: $1"
}
slip 'market: ftp://x' "'market' must be where the market listens, e.g. http://127.0.0.1:8470"
slip 'market: "http://x:1;"' "'market' must be"
slip 'market: http://x:1' "'routes' needs a list"
slip 'market: http://x:1
routes: [{path: v1, backends: [x:1]}]' "'path' must be a path that begins and ends with '/'"
slip 'market: http://x:1
routes: [{path: "/a b/", backends: [x:1]}]' "'path' must be"
slip 'market: http://x:1
routes: [{path: /, backends: [x]}]' "a backend is HOST:PORT"
slip 'market: http://x:1
routes: [{path: /, backends: ["x:1; }"]}]' "a backend is HOST:PORT"
slip 'market: http://x:1
routes: [{path: /, backends: [x:1, x:1]}]' "two backends have the address 'x:1'"
slip 'market: http://x:1
routes: [{path: /, backends: [{address: x:1, weight: 0}]}]' "'weight' must be a whole number from 1 to 100"
slip 'market: http://x:1
routes: [{path: /, backends: [{reservation: serve, port: 8000}]}]' "need 'token-file'.*nanopod token create gateway --scope read"
slip 'market: http://x:1
routes: [{path: /, backends: [{reservation: serve}]}]' "a reservation needs the port of its nodes"
slip 'market: http://x:1
routes: [{path: /, backends: [{reservation: serve, port: 1, address: x:1}]}]' "give 'address' or 'reservation', not both"
slip 'market: http://x:1
reload: ""
routes: [{path: /, backends: [x:1]}]' "'reload' must be a command"
run_is 2 "--watch without a file to replace" gateway nginx --watch "$TMP/gateway.yaml"
like "$err" "needs --out CONF" "says so"
run_is 1 "--watch without a reservation" gateway nginx --watch --out "$TMP/none" "$TMP/gateway.yaml"
like "$err" "has no backends of a reservation" "says so, too"
slip 'market: http://x:1
tls-cert: /a
routes: [{path: /, backends: [x:1]}]' "give both 'tls-cert' and 'tls-key'"
slip 'market: http://x:1
routes: [{path: /, key-file: /nonexistent, backends: [x:1]}]' "cannot read '/nonexistent'"
run_is 1 "a folder that is not there" gateway nginx --out "$TMP/none/x" "$TMP/gateway.yaml"
like "$err" "cannot write '$TMP/none/x': No such file" "says so"

# ---- Through nginx -------------------------------------------------------------------------------------
nginx -c "$TMP/nginx.conf" 2>"$TMP/nginx.out" &
nginx_pid=$!
at_exit 'kill $nginx_pid 2>/dev/null; wait $nginx_pid 2>/dev/null'
up() { curl -s -o "$TMP/up" "http://127.0.0.1:$back/"; }
if ! wait_for 20 up; then
	fail "nginx starts"
	diag "$(cat "$TMP/nginx.out" "$TMP/nginx.log")"
	done_testing
fi
# through TOKEN PATH [CURL OPTION…]: "" for no token. Prints status and what the backend said.
through() {
	through_token=$1 through_path=$2
	shift 2
	[ -z "$through_token" ] || set -- -H "Authorization: Bearer $through_token" "$@"
	curl -sS --max-time 60 -D "$TMP/.headers" -o "$TMP/.body" -w '%{http_code} ' "$@" "http://127.0.0.1:$front$through_path"
	cat "$TMP/.body"
}
status() { through "$@" | head -c 3; }
is "$(through "$good" /v1/models?x=1)" "200 $account|half|0.5|Bearer backend-key|/v1/models?x=1" \
	"a customer gets through; the backend learns who, and gets its key and not the customer's token"
is "$(through "$good" /bare/x)" "200 $account|half|0.5||/bare/x" "nor where it has no key"
is "$(through "$good" /v1/x -H 'X-Nanopod-Account: acct_other' -H 'X-Nanopod-Rate: 0')" \
	"200 $account|half|0.5|Bearer backend-key|/v1/x" "what a client says of itself does not count"
is "$(through "$good" /v1/x -X POST -H 'Content-Type: application/json' -d '{"a":1}')" \
	"200 $account|half|0.5|Bearer backend-key|/v1/x" "a body, too"
is "$(status "$good" /v1/admin/x)" 403 "the policy is asked with the client's path"
is "$(status "$good" /v1/admin/x -H 'X-Original-URI: /v1/x')" 403 "and not with what the client says of it"
is "$(status "$good" /v1/broken)" 500 "an error of the backend is passed on"

# ---- A node that ends ------------------------------------------------------------------------------------
asked() { cat "$TMP/$1.asked" 2>/dev/null | grep -c "$2"; }
is "$(status "$good" /ends/1 -d x) $(asked ends 'POST /ends/1') $(asked back 'POST /ends/1')" "502 1 0" \
	"what a node got and did not answer no other node gets: it may have done it"
is "$(status "$good" /gone/1 -d x) $(asked back 'POST /gone/1')" "200 1" "a node that cannot be reached got nothing, so another one does"
read_through() { [ "$(status "$good" /ends/2)" = 200 ] || echo no >>"$TMP/lost"; [ "$(asked ends 'GET /ends/2')" -gt 0 ]; }
ok "the node that ends is asked again, now with a GET" wait_for 60 read_through
is "$(cat "$TMP/lost" 2>/dev/null)" "" "which another one answers, whatever the first one got"

is "$(status "$good" /_nanopod_authz)" 404 "nobody asks the market directly"
is "$(status '' /v1/x)" 401 "no token"
is "$(http_header WWW-Authenticate)" Bearer "says what is missing"
is "$(status "$ended" /v1/x)" 401 "a revoked token"
is "$(status "$poor" /v1/x)" 402 "no money"
is "$(status "$shut" /v1/x)" 403 "suspended"
is "$(status "$free" /v1/x)" 200 "free"

# count TOKEN TIMES: how many of so many requests had which status.
count() {
	set -- "$1" "$2" -H "Authorization: Bearer $1"
	curl -sS -o /dev/null -w '%{http_code}\n' "${@:3}" "http://127.0.0.1:$front/v1/x?[1-$2]" | sort | uniq -c | tr -s ' ' | tr '\n' ','
}
started=$(date +%s)
is "$(count "$good" 6000)" " 6000 200," "6000 requests of a customer: all get through"
is "$(count "$poor" 1000)" " 1000 402," "1000 of an account without money: none"
is "$(count "$shut" 1000)" " 1000 403," "1000 of a suspended one: none"
# Who sends invalid tokens has to wait for the next one.
unlike "$(count "$ended" 1000)" ' (2|3|5)..,' "1000 with a revoked token: none"
unlike "$(count '' 1000)" ' (2|3|5)..,' "1000 without one: none"
diag "10,000 requests took $(($(date +%s) - started)) s"
is "$(status "$good" /v1/x)" 200 "the customer goes on meanwhile"
limited() { [ "$(status "$ended" /v1/x)" = 429 ]; }
ok "too many invalid tokens become 429" wait_for 20 limited
like "$(http_header Retry-After)" '^[0-9]+$' "with the time to wait"

marketd_kill
is "$(status "$good" /v1/x)" 503 "without the market nobody gets through"
is "$(count "$good" 100)" " 100 503," "nor a hundred"
market_start --rate 0 --policy "$TMP/policy.yaml"
back_again() { [ "$(status "$good" /v1/x)" = 200 ]; }
ok "with it they do again" wait_for 20 back_again
kill -STOP "$MARKETD_PID"
is "$(status "$good" /v1/x)" 503 "nor while it hangs"
kill -CONT "$MARKETD_PID"
ok "and again" wait_for 20 back_again
marketd_stop
market_start --rate 5 --policy "$TMP/policy.yaml"
curl -sS -Z -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $good" "http://127.0.0.1:$front/v1/x?[1-40]" | sort -u >"$TMP/codes"
is "$(tr '\n' ' ' <"$TMP/codes")" "200 429 " "an account over its rate gets 429"
done_testing
