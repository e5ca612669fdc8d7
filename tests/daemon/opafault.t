#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A policy server that errs in every way, before the market: it denies, soon, and goes on when the server does. The
# server is a stand-in (policyserver.py); tests/daemon/opa.t has the real one.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/policyserver.sh"
need jq python3

policy_mode '{"result":{"allow":true,"rate":0.5,"rule":"half"}}'
policy_serve
marketd_start --rate 0 --opa "unix:$TMP/opa.sock" || done_testing
marketd_account acme 10.00
token=$(marketd_token acme)
# door [PATH]: asks with a new path each time, or with this one. Prints the status and the plan or why not.
door() {
	door_began=$(date +%s%3N)
	as "$token" GET /np/v1/authz '' -H "X-Original-URI: ${1:-/$EPOCHREALTIME}" >"$TMP/answer"
	echo $(($(date +%s%3N) - door_began)) >"$TMP/took"
	printf '%s %s' "$(http_status)" "$(json 'if .plan then "\(.plan) \(.rate)" else .error.message end' <"$TMP/answer")"
}
away="403 the market's policy server does not answer; try again in a minute (policy 'opa')"
# answered: as door, where a server answers that may take longer than its second on a busy machine. Fewer times than the
# market fails before it pauses.
answered() {
	for _ in 1 2 3; do
		answered_got=$(door)
		[ "$answered_got" = "$away" ] || break
	done
	printf '%s' "$answered_got"
}

# The same question twice, again where both did not come within the seconds that a decision counts.
for n in 1 2 3 4 5 6 7 8 9; do
	: >"$TMP/asked"
	policy_mode '{"result":{"allow":true,"rate":0.5,"rule":"half"}}'
	began=$(date +%s%3N) first=$(door "/same$n")
	policy_mode '{"result":{"allow":false,"rule":"night","reason":"closed at night"}}'
	second=$(door "/same$n")
	[ $(($(date +%s%3N) - began)) -ge 5000 ] || [ "$first" = "$away" ] || break
done
is "$first" "200 half 0.5" "what the server decides holds"
is "$(jq -Rr 'split(" ")[0]' <"$TMP/asked")" /v1/data/nanopod/decision "it was asked at the usual path"
is "$(sed 's/^[^ ]* //' "$TMP/asked" | jq -c '[.input.request.action, .input.request.path, .input.account.name, .input.grant]')" \
	"[\"gateway\",\"/same$n\",\"acme\",null]" "with the input"
is "$second" "200 half 0.5" "it counts for some seconds"
is "$(policy_asked)" 1 "and the server is not asked again"
is "$(answered)" "403 closed at night (policy 'night')" "another input is another question"
policy_mode '{}'
is "$(answered)" "403 the market's policy does not decide this (policy 'opa')" "undefined is denied"
policy_mode '{"decision_id":"x","result":null}'
like "$(answered)" "^403 the market's policy has an error; tell the operator .policy 'opa'.$" "null is denied"
for odd in '{"result":true}' '{"result":{"allow":"yes"}}' '{"result":{"allow":true,"rate":-1}}' '{"result":{"allow":true,"rat":0}}' \
	'{"result":{"allow":true,"limits":{"nodes":"many"}}}' '{"result":[{"allow":true}]}'; do
	policy_mode "$odd"
	is "$(answered)" "403 the market's policy has an error; tell the operator (policy 'opa')" "denied: $odd"
done
policy_mode '{"result":{"allow":true}}'
is "$(answered)" "200 none 1" "none of these is the server's failure: it is asked on"

# Failures: each alone, so that the market goes on asking.
for how in 'status 500' 'status 404' 'status 302' 'not json' '[1]' '{"result":{"allow":true},"result":{}}' cut large hang trickle; do
	policy_mode "$how"
	is "$(door)" "$away" "denied: $how"
	ok "within the bound ($(cat "$TMP/took") ms)" test "$(cat "$TMP/took")" -lt 20000
	policy_mode '{"result":{"allow":true}}'
	is "$(answered)" "200 none 1" "and the next is asked"
done

# One question for all who have it; what nobody waits for any more does no harm.
# Again where all eight did not come within the second that the first one waits.
for n in 1 2 3 4 5 6 7 8 9; do
	policy_mode hang
	: >"$TMP/together"
	before=$(policy_asked) pids=''
	for i in 1 2 3 4 5 6 7 8; do
		curl -sS --max-time 60 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer $token" \
			-H "X-Original-URI: /together$n" "$NANOPOD_URL/np/v1/authz" >>"$TMP/together" &
		pids="$pids $!"
	done
	wait $pids
	questions=$(($(policy_asked) - before))
	[ $questions -gt 1 ] && [ $questions -lt 8 ] || break
	policy_mode '{"result":{"allow":true}}'
	answered >/dev/null
done
is "$(sort "$TMP/together" | uniq -c | tr -s ' ') $questions" " 8 403 1" "eight at once ask once, and all are denied"
timeout 0.2 curl -sS -H "Authorization: Bearer $token" -H 'X-Original-URI: /left' "$NANOPOD_URL/np/v1/authz" >/dev/null 2>&1
is "$(curl -sS -o /dev/null -w '%{http_code}' "$NANOPOD_URL/healthz")" 200 "the market serves others meanwhile"

# The breaker.
policy_mode '{"result":{"allow":true}}'
again() { case $(door) in 200*) ;; *) false ;; esac; }
wait_for 30 again
kill "$policy_server"
wait "$policy_server" 2>/dev/null
for i in 1 2 3 4 5; do door >/dev/null; done
is "$(door)" "$away" "killed: denied"
said() { grep -q "$1" "$MARKETD_LOG"; }
ok "the log says why, and that it asks now and then" said "the policy server failed, and the market denies: .*; asking it again only now and then"
policy_mode 'status 500'
policy_serve
# After a try that failed the market pauses for five seconds; again where the questions took longer than that.
tried() { before=$(policy_asked) began=$(date +%s%3N); door >/dev/null; [ "$(policy_asked)" -gt "$before" ]; }
for n in 1 2 3 4 5 6 7 8 9; do
	wait_for 60 tried
	before=$(policy_asked)
	for i in 1 2 3 4; do door >/dev/null; done
	questions=$(($(policy_asked) - before)) took=$(($(date +%s%3N) - began))
	[ $took -ge 5000 ] || break
done
ok "what failed often is spared ($questions questions in $took ms)" test $questions -eq 0 -a $took -lt 5000
policy_mode '{"result":{"allow":true}}'
ok "back again, it decides again" wait_for 30 again
ok "and the log says so" said "the policy server answers again"

marketd_stop
is "$marketd_status" 0 "the market ends well"
policy_mode hang
marketd_start --opa "unix:$TMP/opa.sock"
before=$(policy_asked)
curl -sS --max-time 60 -o "$TMP/last" -H "Authorization: Bearer $token" "$NANOPOD_URL/np/v1/authz" &
waiting=$!
is_asked() { [ "$(policy_asked)" -gt "$before" ]; }
wait_for 20 is_asked || fail "(the server is asked)"
marketd_stop
is "$marketd_status" 0 "and with a question under way"
wait "$waiting"

# A server that wants a token.
policy_mode 'token sesame'
printf 'sesame\n' >"$TMP/token" && chmod 644 "$TMP/token"
run_is 1 "a token that others can read" "$MARKETD" --data "$TMP/other" --listen 127.0.0.1:0 --opa "unix:$TMP/opa.sock" --opa-token-file "$TMP/token"
like "$err" "other users can read '$TMP/token'" "says so"
chmod 600 "$TMP/token"
marketd_start --opa "unix:$TMP/opa.sock" --opa-token-file "$TMP/token"
is "$(answered)" "200 none 1" "the market shows its token"
policy_mode 'token rolled'
is "$(door)" "$away" "a server that wants another one: denied"
printf 'rolled' >"$TMP/token"
kill -HUP "$MARKETD_PID"
rolled() { [ "$(door)" = "200 none 1" ]; }
ok "SIGHUP reads the new one" wait_for 30 rolled
: >"$TMP/token"
kill -HUP "$MARKETD_PID"
ok "a file without a token is told" wait_for 20 said "keeping the old token of the policy server: '$TMP/token' has no token in its first line"
is "$(answered)" "200 none 1" "and the old one stays"
ok "no log line has a token" test "$(grep -c -e sesame -e rolled "$MARKETD_LOG")" = 0
marketd_stop
run_is 2 "a token without a server" "$MARKETD" --opa-token-file "$TMP/token"
run_is 2 "rules and a policy server" "$MARKETD" --policy x --opa unix:/x
run_is 1 "no URL" "$MARKETD" --data "$TMP/other" --listen 127.0.0.1:0 --opa localhost:8181
like "$err" "invalid --opa 'localhost:8181'; give http://HOST:PORT or unix:/PATH" "says what to give"
done_testing
