#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The market is unreachable for the rest of a lease; one of two machines is cut off, in network namespaces of this test
# (root). Nodes run for the time that was bought, and time that could not be delivered is paid back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
MINUTE=25000   # what one costs, in millionths of a dollar
at() { agentd_clock $((NOW + $1)); }
moved() { ledger "$ACME" | jq -s --arg s "$1" --arg b "$2" \
	"[.[] | select(.subject == \$s and .book == \$b ${3-}) | .amount] | add // 0"; }
last_lease() { ledger "$ACME" | jq -r 'select(.book == "capacity" and .amount > 0) | .subject' | tail -n 1; }

# ---- The market is away ------------------------------------------------------------------------------------------
life_begin --listen 127.0.0.1:$((PORTS + 39)) # a port that is still its own after a while
agentd_join m1 2
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
agentd_buy away 1 600
LEASE=$(last_lease)
ok "a node runs" wait_for 60 node_is away-1 running || life_say m1
I=$(node away-1 .id)
PORT=$(node away-1 .ssh.port)
life_in away-1 "echo mark-away-$$ >kept; $(life_sleep away)"
PID=$(life_pid away)
isnt "$PID" "" "and a process in it"
ssh_known away-1 >"$TMP/away.known"
read -r HOST USER_AT <<<"$(node away-1 '.ssh | "\(.hostname) \(.user)"')"
# Another one ends a minute before it: when the agent has stopped that, it has seen the last minute.
agentd_buy brief 1 480
ok "another node runs" wait_for 60 node_is brief-1 running || life_say m1
BRIEF=$(node brief-1 .id)
OLD_URL=$NANOPOD_URL
marketd_stop
is "$marketd_status" 0 "the market ends"
clock_alone() { printf '%s\n' $((NOW + $1)) >"$TMP/clock.new" && mv "$TMP/clock.new" "$TMP/clock"; }
clock_alone 659
brief_gone() { [ ! -e "$TMP/m1/nodes/$BRIEF" ]; }
ok "without it a node ends that is due" wait_for 40 brief_gone || life_say m1
is "$(life_pid away)" "$PID" "and one goes on that has a second left"
is "$(ssh -F none -i "$TMP/buyer" -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=none \
	-o UserKnownHostsFile="$TMP/away.known" -p "$PORT" "$USER_AT@$HOST" 'cat kept' </dev/null 2>&1)" \
		"mark-away-$$" "and lets its buyer in"
clock_alone 660
over() { [ -z "$(life_pid away)" ] && ! life_open "$PORT"; }
ok "at its end it is stopped, without the market" wait_for 40 over || life_say m1
wiped() { ! life_holds m1 "mark-away-$$"; }
ok "and wiped" wait_for 30 wiped || life_say m1
clock_alone 900
marketd_start --test-clock=$((NOW + 900)) --rate 0 --listen "${OLD_URL#http://}" || exit 1
at 900
is "$(node away-1 .status)" terminated "the market, back again, has ended it too"
ok "and the machine is heard of, with nothing on it" wait_for 60 eval \
	'[ "$(as "$FOUNDRY" GET /np/v1/agents/m1 | jq -r "[.state, .status.nodes] | join(\" \")")" = "up 0" ]' ||
		life_say m1
ok "nothing of it is left" wait_for 40 life_gone m1 "$I" || life_say m1
is "$(moved "$LEASE" available) $(moved "$LEASE" escrow) $(moved "$LEASE" capacity)" "$((-10 * MINUTE)) 0 0" \
	"ten minutes are paid, that ran"
agentd_buy next 1 600
ok "what is bought next runs there" wait_for 60 node_is next-1 running || life_say m1
agentd_stop m1
"$AGENTD" --data "$TMP/m1" "${LIFE_OPTIONS[@]}" halt --destroy >/dev/null 2>&1
marketd_stop

# ---- One of two is cut off -----------------------------------------------------------------------------------------
[ "$(id -u)" -eq 0 ] || { skip "cut off: needs root"; done_testing; }
{ have ip && have nsenter && unshare -n true 2>/dev/null; } ||
	{ skip "cut off: no network namespaces here"; done_testing; }
rm -rf "$TMP/market" "$TMP/m1" "$TMP"/buyer*

# A namespace lives as long as its sleeper. within NAME COMMAND…
declare -A SLEEPER
space() {
	unshare -n sleep 3000 &
	SLEEPER[$1]=$!
	at_exit "kill $! 2>/dev/null"
	wait_for 10 eval '[ "$(readlink "/proc/'$!'/ns/net")" != "$(readlink /proc/self/ns/net)" ]'
	within "$1" ip link set lo up
}
within() { within_name=$1; shift; nsenter -t "${SLEEPER[$within_name]}" -n -- "$@"; }
space market; space a; space b
i=0
for name in a b; do
	i=$((i + 1))
	within market ip link add "to-$name" type veth peer name out netns "${SLEEPER[$name]}"
	within market ip addr add 10.213.$i.1/24 dev "to-$name"
	within market ip link set "to-$name" up
	within $name ip addr add 10.213.$i.2/24 dev out
	within $name ip link set out up
	within $name ip route add default via 10.213.$i.1
done
openssl req -x509 -newkey ed25519 -nodes -keyout "$TMP/tls.key" -out "$TMP/tls.crt" -subj /CN=market -days 30 \
	-addext 'subjectAltName=IP:10.213.1.1,IP:10.213.2.1,IP:127.0.0.1' 2>/dev/null
for name in market a b; do
	[ $name = market ] && program=$MARKETD || program=$AGENTD
	printf '#!/bin/sh\nexec nsenter -t %d -n -- "%s" "$@"\n' "${SLEEPER[$name]}" "$program" >"$TMP/in-$name"
	chmod 755 "$TMP/in-$name"
done
curl() { within market curl --cacert "$TMP/tls.crt" "$@"; }
MARKETD=$TMP/in-market
REAL=$AGENTD
agentd_market --agent-silent 45 --listen 0.0.0.0:8471 --tls-cert "$TMP/tls.crt" --tls-key "$TMP/tls.key"
is "$(as "$ACME" GET /np/v1/balance | jq -r .object)" balance "(a market in a network of its own)" ||
	diag "$NANOPOD_URL"
PIN=$(curl -s "$NANOPOD_URL/np/v1" | jq -r .tls_public_key)
like "$PIN" '^sha256//' "(it tells its key)"
i=0
for name in a b; do
	i=$((i + 1))
	AGENTD=$TMP/in-$name AGENTD_URL="https://10.213.$i.1:8471#$PIN"
	agentd_join $name 1 && pass "$name joins over its own link, by the market's key"
	agentd_start $name --driver "$LIFE_DRIVER" --first-port $((LIFE_PORT + i)) --grace 1
done
AGENTD=$REAL
agentd_buy one 1 3600
ONE=$(last_lease)
agentd_buy two 1 3600
TWO=$(last_lease)
both() { node_is one-1 running && node_is two-1 running; }
ok "each has a node" wait_for 60 both || { life_say a; life_say b; }
[ -e "$TMP/a/nodes/$(node one-1 .id)" ] && { OF_A=one OF_B=two LEASE_A=$ONE LEASE_B=$TWO; } ||
	{ OF_A=two OF_B=one LEASE_A=$TWO LEASE_B=$ONE; }
ok "(on a machine of its own)" test -e "$TMP/b/nodes/$(node $OF_B-1 .id)"
ssh() { within "$WHERE" "$(command -v ssh)" "$@"; }
WHERE=a; life_in $OF_A-1 "$(life_sleep a)"
WHERE=b; life_in $OF_B-1 "$(life_sleep b)"
A=$(life_pid a) B=$(life_pid b)
isnt "$A" "" "a process on a"
isnt "$B" "" "and one on b"
state() { as "$FOUNDRY" GET /np/v1/hosts | jq -r --arg n "$1" \
	'[.data[] | select(.name | startswith($n)) | .state] | join(" ")'; }
states_are() { [ "$(state a) $(state b)" = "$1" ]; }
is "$(state a) $(state b)" "up up" "(both hosts are up)"
at 300
heard() { [ "$(as "$FOUNDRY" GET "/np/v1/agents/a" | jq .last_seen_at)" -ge $((NOW + 300)) ]; }
ok "(a is heard in the minute)" wait_for 40 heard

within a ip link set out down
ok "cut off, a's host is down, and b's is not" wait_for 90 states_are "down up" || diag "$(state a) $(state b)"
is "$(as "$FOUNDRY" GET /np/v1/agents/a | jq -r .state)" silent "its owner sees why"
at 420
at 600
is "$(life_pid a)" "$A" "a's node goes on"
is "$(life_pid b)" "$B" "b's too"
is "$(WHERE=b; life_in $OF_B-1 'echo here')" here "and its buyer gets in"
within a ip link set out up
within a ip route add default via 10.213.1.1 2>/dev/null
ok "joined again, both are up" wait_for 90 states_are "up up" || { diag "$(state a) $(state b)"; life_say a; }
is "$(life_pid a)" "$A" "with the same process"
is "$(node $OF_A-1 .status)" running "of a node that the market knows to run"
is "$(moved "$LEASE_A" available 'and .amount > 0')" $((5 * MINUTE)) "a's five minutes are paid back"
is "$(moved "$LEASE_B" available 'and .amount > 0')" 0 "b's are not"
is "$(WHERE=a; life_in $OF_A-1 'echo here')" here "and a's buyer gets in"
at 3900
for name in a b; do ok "$name: it ends when it was to end" wait_for 40 life_nothing $name || life_say $name; done
is "$(moved "$LEASE_A" available) $(moved "$LEASE_B" available)" "$((-55 * MINUTE)) $((-60 * MINUTE))" \
	"a's buyer paid 55 minutes of 60, b's all"
is "$(moved "$LEASE_A" escrow) $(moved "$LEASE_B" escrow)" "0 0" "and nothing is kept back"
agentd_stop a
agentd_stop b
marketd_stop
ok "all is well with the market's files" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
