#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The key of a market's certificate changes, and agents that pin it stay: they hear of the next key while the old one
# counts. KEYROLL_AGENTS=100 takes that many. Uses the fake driver.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
need openssl jq
AGENTS=${KEYROLL_AGENTS:-3}

# certificate NAME: $TMP/NAME.crt and .key, of one authority.
openssl req -x509 -newkey ed25519 -nodes -keyout "$TMP/ca.key" -out "$TMP/ca.crt" -subj /CN=ca -days 30 2>/dev/null
certificate() {
	openssl req -newkey "$2" ${3+-pkeyopt "$3"} -nodes -keyout "$TMP/$1.key" -out "$TMP/$1.csr" -subj /CN=localhost 2>/dev/null
	printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >"$TMP/ext"
	openssl x509 -req -in "$TMP/$1.csr" -CA "$TMP/ca.crt" -CAkey "$TMP/ca.key" -CAcreateserial -days 30 \
		-extfile "$TMP/ext" -out "$TMP/$1.crt" 2>/dev/null
}
pin_of() { echo "sha256//$(openssl x509 -in "$TMP/$1.crt" -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64)"; }
certificate one ed25519
certificate two rsa rsa_keygen_bits:2048
certificate three ec ec_paramgen_curve:P-256
show() { cp "$TMP/$1.key" "$TMP/tls.key" && cp "$TMP/$1.crt" "$TMP/tls.crt"; }
curl() { command curl --cacert "$TMP/ca.crt" "$@"; }
TLS=(--tls-cert "$TMP/tls.crt" --tls-key "$TMP/tls.key" --tls-next-key "$TMP/next.pem" --agent-silent 60)
show one
agentd_market "${TLS[@]}" --listen 127.0.0.1:$((PORTS + 39))
PORT=${NANOPOD_URL##*:}
AGENTD_URL="https://localhost:$PORT#$(curl -s "$NANOPOD_URL/np/v1" | jq -r .tls_public_key)"
is "${AGENTD_URL#*#}" "$(pin_of one)" "(the market tells its key)"

names=$(seq -f 'm%g' "$AGENTS")
for name in $names; do
	agentd_join $name 1
	agentd_start $name --driver fake --grace 1 --first-port $PORTS
done
pins() { for name in $names; do jq -r .pin "$TMP/$name/agent.json"; done | sort -u; }
pins_are() { [ "$(pins)" = "$1" ]; }
states() { as "$FOUNDRY" GET '/np/v1/agents?limit=200' | jq -r '[.data[].state] | unique | join(" ")'; }
all_up() { [ "$(states)" = up ]; }
metric() { curl -s --unix-socket "$MARKETD_SOCKET" http://x/metrics | awk -v name="$1" '$1 == name { print $2 }'; }
said() { grep -q -- "$1" "$MARKETD_LOG"; }
hup() { kill -HUP "$MARKETD_PID"; wait_for 20 said "$1" || { fail "(says: $1)"; sed 's/^/# /' "$MARKETD_LOG"; }; }
# A new process: nobody goes on over a connection of before. On the port that agents know.
restart() { marketd_kill; marketd_start --test-clock=$NOW --rate 0 --listen "127.0.0.1:$PORT" "${TLS[@]}"; }
ok "agents connect" wait_for 60 all_up
is "$(pins)" "$(pin_of one)" "each pins the key of the URL"
is "$(metric nanopod_agents_without_next_key)" 0 "no next key: nobody lacks it"

# ---- Announced --------------------------------------------------------------------------------
cp "$TMP/two.key" "$TMP/next.pem"
hup "announcing the next key to agents: $(pin_of two)"
is "$(curl -s "$NANOPOD_URL/np/v1" | jq -r .tls_next_public_key)" "$(pin_of two)" "everybody may read it"
ok "agents keep both" wait_for 90 pins_are "$(pin_of one);$(pin_of two)"
ok "the market says when all have heard" wait_for 90 said "all agents ($AGENTS) have heard of the next key"
is "$(metric nanopod_agents_without_next_key)" 0 "so does its metric"
agentd_kill m1
agentd_start m1 --driver fake --grace 1 --first-port $PORTS

# ---- Changed ----------------------------------------------------------------------------------
show two; rm "$TMP/next.pem"
hup "it has another key"
not_ok "nobody is cut off" grep -q "cannot reach the market" "$TMP"/m[0-9]*.log
restart
ok "under the new key all come back" wait_for 90 all_up
ok "and pin it alone" wait_for 90 pins_are "$(pin_of two)" || diag "$(pins)"
is "$(grep -l "not the pinned one" "$TMP"/m*.log | wc -l)" 0 "no agent ever met a key that it did not know"
is "$(as "$FOUNDRY" GET '/np/v1/hosts?limit=200' | jq -r '[.data[].state] | unique | join(" ")')" up "no host went down"

# ---- Not announced ----------------------------------------------------------------------------
show three
hup "$AGENTS of $AGENTS agents have not heard of this key"
restart
refused() { [ "$(grep -l "not the pinned one" "$TMP"/m*.log | wc -l)" = "$AGENTS" ]; }
ok "agents refuse a key that nobody announced" wait_for 90 refused
is "$(pins)" "$(pin_of two)" "and keep theirs"
show two
hup "it has another key"
restart
ok "with the old key they come back" wait_for 120 all_up

# ---- Bad files --------------------------------------------------------------------------------
echo nonsense >"$TMP/next.pem"
hup "keeping the old certificate: no key or certificate in '$TMP/next.pem'"
is "$(curl -s "$NANOPOD_URL/np/v1" | jq -r '"\(.tls_public_key) \(.tls_next_public_key)"')" "$(pin_of two) null" \
	"a file without a key changes nothing"
cp "$TMP/two.crt" "$TMP/next.pem"
hup "read the certificate again"
is "$(curl -s "$NANOPOD_URL/np/v1" | jq -r .tls_next_public_key)" null "the key in use is not the next one"
run_is 2 "a next key without TLS" "$MARKETD" --data "$TMP/none" --tls-next-key "$TMP/next.pem"
like "$err" "--tls-next-key needs --tls-cert and --tls-key" "is refused"
for name in $names; do agentd_stop $name; done
done_testing
