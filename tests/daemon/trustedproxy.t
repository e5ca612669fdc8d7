#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A market behind a real nginx: limits count the address of nginx's client, where the operator trusts that nginx; what a
# client writes into X-Forwarded-For itself counts for nothing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
PATH=$PATH:/usr/sbin
need nginx
. "$(dirname "$0")/../lib/ports.sh"
. "$(dirname "$0")/../lib/nginx.sh"
. "$(dirname "$0")/../lib/gateway.sh"
front=$PORTS market=$((PORTS + 1)) passes=$((PORTS + 2))

nginx_conf >"$TMP/nginx.conf" <<-END
	server {
		listen 127.0.0.1:$front;
		location / {
			proxy_pass http://127.0.0.1:$market;
			proxy_bind 127.0.0.9;
			proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;
		}
	}
	server {
		listen 127.0.0.1:$passes;
		location / {
			proxy_pass http://127.0.0.1:$market;
			proxy_bind 127.0.0.9;
		}
	}
END
nginx -c "$TMP/nginx.conf" 2>"$TMP/nginx.out" &
nginx=$!
at_exit 'kill $nginx 2>/dev/null; wait $nginx 2>/dev/null'
answers() { curl -sS -o /dev/null "http://127.0.0.1:$front/" 2>/dev/null; }
wait_for 20 answers || { fail "nginx starts"; diag "$(cat "$TMP/nginx.out")"; done_testing; }

# wrong ADDRESS PORT [CURL OPTION…]: the status of a token that is none, from this address.
wrong() {
	wrong_from=$1 wrong_port=$2
	shift 2
	curl -sS --max-time 60 -o /dev/null -w '%{http_code}' --interface "$wrong_from" -H 'Authorization: Bearer npk_none' "$@" \
		"http://127.0.0.1:$wrong_port/np/v1/whoami"
}
# guess ADDRESS PORT [CURL OPTION…]: until it must wait; 401 where it never has to. NEW in an option is another number each time.
guess() {
	guess_left=100 guess_got=401
	while [ "$guess_got" = 401 ] && [ $guess_left -gt 0 ]; do
		guess_left=$((guess_left - 1))
		guess_got=$(wrong "${@//NEW/$guess_left}")
	done
	echo "$guess_got"
}

# from ADDRESS PORT [CURL OPTION…]: whom the market takes for its client, by its log.
from() {
	wrong "$@" >/dev/null
	sed -n 's/.*whoami.* from //p' "$MARKETD_LOG" | tail -n 1
}

marketd_start --rate 0 --listen "127.0.0.1:$market" --log-level debug || done_testing
is "$(from 127.0.0.2 "$front")" 127.0.0.9 "without it all clients of a proxy are one"
marketd_stop
marketd_start --rate 0 --listen "127.0.0.1:$market" --trusted-proxy 127.0.0.8/31 --trusted-proxy 2001:db8::/32 --log-level debug
is "$(guess 127.0.0.2 "$front") $(wrong 127.0.0.3 "$front")" "429 401" "with it each is one, whose invalid tokens make no other wait"
is "$(from 127.0.0.3 "$front")" 127.0.0.3 "and the log says which"
is "$(guess 127.0.0.4 "$front" -H 'X-Forwarded-For: 10.9.8.NEW')" 429 "who writes another address each time is still one"
is "$(guess 127.0.0.5 "$front" -H 'X-Forwarded-For: 127.0.0.9, 10.9.8.NEW')" 429 "also behind the proxy's own"
is "$(guess 127.0.0.6 "$market" -H 'X-Forwarded-For: 10.9.8.NEW')" 429 "who passes the proxy by is no proxy"
is "$(from 127.0.0.7 "$market" -H 'X-Forwarded-For: 127.0.0.6')" 127.0.0.7 "and is not whom he names"
is "$(from 127.0.0.9 "$market" -H 'X-Forwarded-For: 10.0.0.1' -H 'X-Forwarded-For: 10.0.0.2')" 10.0.0.2 "two headers are one list"
is "$(from 127.0.0.9 "$market" -H 'X-Forwarded-For: 10.0.0.3, [2001:db8::7]:443,127.0.0.8')" 10.0.0.3 "two more proxies, one with a port"
is "$(from 127.0.0.9 "$market" -H 'X-Forwarded-For: 10.0.0.4:5')" 10.0.0.4 "a client with its port"
is "$(from 127.0.0.9 "$market" -H 'X-Forwarded-For: 10.0.0.2, unknown')" 127.0.0.9 "what is no address is nobody, so it is the proxy"
is "$(from 127.0.0.9 "$market" -H 'X-Forwarded-For: ::ffff:10.0.0.5')" 10.0.0.5 "an IPv4 address in IPv6's form is the same"
is "$(from 127.0.0.9 "$market" -H 'X-Forwarded-For: 2001:db9::1')" 2001:db9::1 "an address of IPv6"
is "$(from 127.0.0.9 "$market")" 127.0.0.9 "a proxy without a client is its own"
is "$(from 127.0.0.3 "$passes" -H 'X-Forwarded-For: 10.0.0.9')" 10.0.0.9 \
	"a proxy that does not set the header lets clients say who they are, as the page warns"
marketd_account acme
token=$(marketd_token acme)
is "$(curl -sS -o /dev/null -w '%{http_code}' --interface 127.0.0.2 -H "Authorization: Bearer $token" "http://127.0.0.1:$front/np/v1/whoami")" 200 \
	"good tokens go on from there"
marketd_stop
is "$marketd_status" 0 "the market ends well"
# ---- A gateway says for whom it asks ----
cat >"$TMP/gateway.yaml" <<-END
	market: http://127.0.0.1:$market
	listen: 127.0.0.1:0
	spool: $TMP/usage.jsonl
	models: [{name: llama, backends: ["127.0.0.1:1"]}]
END
# through ADDRESS [CURL OPTION…]: whom the market takes for the client of a gateway.
through() {
	through_from=$1
	shift
	curl -sS -o "$TMP/.body" -X POST --interface "$through_from" -H "Authorization: Bearer npk_$through_from-$#" "$@" \
		"$GATEWAY_URL/v1/chat/completions" -d '{}'
	sed -n 's/.*authz.* from //p' "$MARKETD_LOG" | tail -n 1
}
marketd_start --rate 0 --listen "127.0.0.1:$market" --log-level debug
gateway_start
is "$(through 127.0.0.3)" 127.0.0.1 "a gateway that nobody trusts is one client, whoever asks it"
marketd_stop
marketd_start --rate 0 --listen "127.0.0.1:$market" --trusted-proxy 127.0.0.1 --trusted-proxy 127.0.0.9 --log-level debug
is "$(through 127.0.0.4)" 127.0.0.4 "where the market trusts it, its client counts"
is "$(through 127.0.0.5 -H 'X-Forwarded-For: 10.0.0.7')" 127.0.0.5 "and not whom that one names"
is "$(through 127.0.0.9 -H 'X-Forwarded-For: 10.0.0.8' -H 'X-Forwarded-For: 10.0.0.9')" 10.0.0.9 "unless that is a proxy, too"
is "$(through 127.0.0.6 -H "X-Forwarded-For: $(printf '%2000s' x)")" 127.0.0.6 "a list that is too long is left out"
gateway_end
marketd_stop
for odd in 300.0.0.1 10.0.0.0/33 localhost '' 10.0.0.1/; do
	run_is 2 "no address: '$odd'" "$MARKETD" --trusted-proxy "$odd"
done
done_testing
