#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A new certificate for `nanopod-marketd gateway serve`: SIGHUP shows it to who comes from then on, and costs nobody who is
# there an answer.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/gateway.sh"
need node jq openssl

marketd_start || done_testing
marketd_account acme 10.00
key=$(marketd_token acme)
backend a
a=$backend_port
backend b
certificate() { # certificate NAME SERIAL
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -set_serial "$2" \
		-keyout "$TMP/$1.key" -out "$TMP/$1.pem" 2>/dev/null
}
certificate tls 1
cat >"$TMP/gateway.yaml" <<-END
	market: $NANOPOD_URL
	listen: 127.0.0.1:0
	tls-cert: $TMP/tls.pem
	tls-key: $TMP/tls.key
	spool: $TMP/spool/usage.jsonl
	timeout: 60
	models:
	  - {name: llama, backends: ["127.0.0.1:$a"]}
	  - {name: other, backends: ["127.0.0.1:$backend_port"]}
END
gateway_start
at=${GATEWAY_URL##*/}
curl_as() { curl -s --max-time 300 --cacert "$1" -H "Authorization: Bearer $key" "${@:2}"; }
say() { echo "{\"model\":\"$1\",\"messages\":[{\"role\":\"user\",\"content\":\"$2\"}]}"; }
answers() { curl_as "$1" -d "$(say llama n=1)" "$GATEWAY_URL/v1/chat/completions" | json '.choices[0].message.content'; }
serial() { openssl s_client -connect "$at" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
serial_is() { [ "$(serial)" = "serial=0$1" ]; }
# Each door waits by an epoll of its own.
doors() { find "/proc/$GATEWAY_PID/fd" -lname 'anon_inode:\[eventpoll\]' | wc -l; }
doors_are() { [ "$(doors)" = "$1" ]; }
held() { grep -q '"held":true' "$TMP/backend-$1.log" 2>/dev/null; }
kept() { [ "$(grep -c "keeping the old file: $1" "$GATEWAY_LOG")" = "$2" ]; }

ok "the first certificate is shown" wait_for 60 serial_is 1
is "$(answers "$TMP/tls.pem")" "t0 " "and serves"
sleeping=$(doors)

# ---- A new one ----------------------------------------------------------------------------------------------------
curl_as "$TMP/tls.pem" -d "$(say llama 'n=3 hold')" "$GATEWAY_URL/v1/chat/completions" >"$TMP/answer" &
asker=$!
ok "an answer is under way" wait_for 60 held a
cp "$TMP/tls.pem" "$TMP/first.pem"
certificate tls 2
kill -HUP "$GATEWAY_PID"
ok "SIGHUP: the new certificate is shown" wait_for 60 serial_is 2 || diag "$(cat "$GATEWAY_LOG")"
is "$(answers "$TMP/tls.pem")" "t0 " "and serves"
not_ok "who trusts the old one alone is not served by it" curl_as "$TMP/first.pem" "$GATEWAY_URL/v1/models"
is "$(doors)" $((sleeping + 1)) "the old door stays for the answer under way"
kill -USR2 "$backend_pid_a"
wait $asker
is "$? $(json '.choices[0].message.content' <"$TMP/answer")" "0 t0 t1 t2 " "which comes whole"
ok "then the old door is gone" wait_for 60 doors_are "$sleeping"

read_times() { [ "$(grep -c "read '$TMP/gateway.yaml' again" "$GATEWAY_LOG")" -ge "$1" ]; }
kill -HUP "$GATEWAY_PID"
ok "SIGHUP without a new one" wait_for 60 read_times 2
is "$(doors) $(answers "$TMP/tls.pem")" "$sleeping t0 " "opens no other door"

# ---- What is wrong changes nothing ----------------------------------------------------------------------------------
certificate spare 3
cp "$TMP/tls.key" "$TMP/good.key"
cp "$TMP/spare.key" "$TMP/tls.key"
kill -HUP "$GATEWAY_PID"
ok "another certificate's key is refused" wait_for 60 kept "cannot use the certificate and key" 1
rm "$TMP/tls.key"
kill -HUP "$GATEWAY_PID"
ok "so is none" wait_for 60 kept "cannot read .*/tls.key" 1
cp "$TMP/gateway.yaml" "$TMP/whole.yaml"
sed -i '/^tls-/d' "$TMP/gateway.yaml"
kill -HUP "$GATEWAY_PID"
ok "TLS does not end without a restart" wait_for 60 kept "with TLS or without it" 1
ok "all the time the last good one is shown" serial_is 2
is "$(answers "$TMP/tls.pem") $(doors)" "t0  $sleeping" "and serves, by one door"
mv "$TMP/whole.yaml" "$TMP/gateway.yaml"
cp "$TMP/good.key" "$TMP/tls.key"

# ---- Often, and at the end --------------------------------------------------------------------------------------------
curl_as "$TMP/tls.pem" -d "$(say other 'n=2 hold')" "$GATEWAY_URL/v1/chat/completions" >"$TMP/last" &
asker=$!
ok "another answer is under way" wait_for 60 held b
sed -i "s#$TMP/tls\.#$TMP/spare.#" "$TMP/gateway.yaml"
kill -HUP "$GATEWAY_PID"
ok "other files than before" wait_for 60 serial_is 3
for i in $(seq 20); do
	certificate spare $((i + 10))
	kill -HUP "$GATEWAY_PID"
	wait_for 60 read_times $((i + 3)) || break
done
ok "twenty times more" read_times 23
ok "leave the first door, as somebody is there, and the last" wait_for 60 doors_are $((sleeping + 1))
kill -TERM "$GATEWAY_PID"
ok "SIGTERM" wait_for 60 grep -q "stopping after" "$GATEWAY_LOG"
kill -USR2 "$backend_pid_b"
wait $asker
is "$? $(json '.choices[0].message.content' <"$TMP/last")" "0 t0 t1 " "lets that answer end, too"
wait "$GATEWAY_PID"
is $? 0 "and the gateway ends well"
GATEWAY_PID=
done_testing
