#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Bodies that strangers begin and never end, as many as they like: customers, the policy server and Stripe send theirs all
# the same.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need python3 jq openssl

printf 'sesame-of-the-agent\n' >"$TMP/token"
printf 'sk_test_market\n' >"$TMP/key"
printf 'whsec_one\n' >"$TMP/secret"
chmod 600 "$TMP/token" "$TMP/key" "$TMP/secret"
mkdir "$TMP/rules" && cp "$SRC/examples/policy.rego" "$TMP/rules/"
NOW=1800000000
marketd_start --test-clock=$NOW --rate 0 --opa-bundle "$TMP/rules" --opa-token-file "$TMP/token" --stripe-key-file "$TMP/key" \
	--stripe-webhook-secret-file "$TMP/secret" --stripe-url http://127.0.0.1:1 || done_testing
marketd_account acme 1.00
customer=$(marketd_token acme)

room() { operator GET /metrics | sed -n 's/^nanopod_http_upload_bytes //p'; }
# strangers PATH [EACH]: until strangers_stop.
strangers() {
	rm -f "$TMP/hold" && mkfifo "$TMP/hold"
	: >"$TMP/begun"
	python3 "$SRC/tests/daemon/uploadroom.py" "${NANOPOD_URL##*:}" "$1" "${2-200}" >"$TMP/begun" 2>"$TMP/begun.err" <"$TMP/hold" &
	strangers_pid=$!
	exec 9>"$TMP/hold"
	wait_for 60 grep -q begun "$TMP/begun" || diag "$(cat "$TMP/begun.err")"
}
strangers_stop() { exec 9>&-; [ -z "${strangers_pid-}" ] || wait "$strangers_pid"; strangers_pid=; }
at_exit strangers_stop

# A body of 60 KiB of each, which is large: small ones find room always.
large=$(head -c 60000 /dev/zero | tr '\0' x)
printf '{"type":"customer.created","id":"evt_1","note":"%s"}' "$large" >"$TMP/event"
signed=$({ printf '%s.' "$NOW" && cat "$TMP/event"; } | openssl dgst -sha256 -hmac whsec_one -r | cut -d ' ' -f 1)
printf '[{"decision_id":"d-NR","input":"%s"}]' "$large" >"$TMP/piece"
printf '{"pool":"%s"}' "$large" >"$TMP/order"
# body METHOD URL FILE HEADER: the status.
body() { curl -sS --max-time 60 -o "$TMP/.body" -w '%{http_code}' -H "$3" --data-binary "@$2" "$NANOPOD_URL$1"; }
all() {
	printf '%s ' "$(body /v2/orders "$TMP/order" "Authorization: Bearer $customer")" \
		"$(body /opa/logs "$TMP/piece" "Authorization: Bearer sesame-of-the-agent")" \
		"$(body /np/v1/stripe "$TMP/event" "Stripe-Signature: t=$NOW,v1=$signed")"
}
is "$(all)" "422 204 422 " "large bodies of a customer, the policy server and Stripe are taken and judged"
strangers /opa/logs
is "$(room)" 0 "the policy server's door keeps no body of a stranger"
is "$(all)" "422 204 422 " "so it does not matter how many there are"
strangers_stop
strangers /np/v1/stripe
some() { [ "$1" -gt 15000000 ] && [ "$1" -le 16777216 ]; }
filled() { kept=$(room); some "$kept"; }
wait_for 30 filled
ok "Stripe's, which shows no token, keeps some of them ($kept bytes)" some "$kept"
is "$(all)" "422 204 422 " "and the newest of them: who takes long gives way"
strangers_stop

# Stripe's event comes slowly: the first half, then as many strangers as there may be, then the rest.
cat >"$TMP/slow.py" <<-'END'
	import socket, sys, time
	port, event, header, half, go = int(sys.argv[1]), open(sys.argv[2], 'rb').read(), sys.argv[3], sys.argv[4], sys.argv[5]
	s = socket.create_connection(('127.0.0.1', port))
	s.settimeout(60)
	s.sendall(f'POST /np/v1/stripe HTTP/1.1\r\nHost: x\r\n{header}\r\nContent-Length: {len(event)}\r\n\r\n'.encode() + event[:40000])
	open(half, 'w').close()
	open(go).readline()
	s.sendall(event[40000:])
	print(s.recv(100).split()[1].decode())
END
mkfifo "$TMP/go"
exec 8<>"$TMP/go" # so that nobody waits for a reader who is gone
python3 "$TMP/slow.py" "${NANOPOD_URL##*:}" "$TMP/event" "Stripe-Signature: t=$NOW,v1=$signed" "$TMP/half" "$TMP/go" >"$TMP/slow" 2>&1 &
slow_pid=$!
at_exit 'kill $slow_pid 2>/dev/null; wait $slow_pid 2>/dev/null'
wait_for 30 test -e "$TMP/half"
begun() { [ "$(room)" -ge 30000 ]; }
ok "a large event of Stripe's begins" wait_for 30 begun
strangers /np/v1/stripe 40 # as few as fill the room: the event has 30 s
printf '\n' >&8
wait "$slow_pid"
is "$(cat "$TMP/slow")" 422 "and gets in, though it is older than all that strangers of a few addresses send: theirs give way"
strangers_stop
empty() { [ "$(room)" = 0 ]; }
ok "when they are gone, so is what they sent" wait_for 30 empty
marketd_stop
is "$marketd_status" 0 "the market ends well"
done_testing
