#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The agent's network side: processes of their own, without root, capabilities or files of the agent; only they load libcurl
# and TLS, for verbs too. Killing them loses nothing, and they end with the agent. tests/unit/agentd/confine tries what they
# may do, tests/unit/agentd/httpchild what the agent believes. Uses the fake driver.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
need openssl pgrep

openssl req -x509 -newkey ed25519 -nodes -keyout "$TMP/tls.key" -out "$TMP/tls.crt" -subj /CN=localhost -days 30 \
	-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
curl() { command curl --cacert "$TMP/tls.crt" "$@"; }
agentd_market --tls-cert "$TMP/tls.crt" --tls-key "$TMP/tls.key"
AGENTD_URL="https://localhost:${NANOPOD_URL##*:}#$(curl -s "$NANOPOD_URL/np/v1" | jq -r .tls_public_key)"

# ---- Verbs --------------------------------------------------------------------------------------------------
# ld.so writes what each process loads, in a file for each.
agentd_token >"$TMP/token"
# A socket in a folder of root's is not the network side's to open.
if [ "$(id -u)" = 0 ] && ! grep -q '^ *0 *[0-9]* *1$' /proc/self/uid_map; then
	run_is 8 "nobody joins by a socket that only root may open" sh -c 'exec "$@" <"$0"' "$TMP/token" \
		"$AGENTD" --data "$TMP/m0" join "unix:$MARKETD_SOCKET" --name m0 --type cpu --nodes 1
	like "$err" "may not open '$MARKETD_SOCKET'" "and learns that another user talks to the market"
fi
# Where root cannot become somebody else, nothing reaches the market: its token, good for one machine, is good below.
if [ "$(id -u)" = 0 ] && have setpriv && ! grep -q '^ *0 *[0-9]* *1$' /proc/self/uid_map; then
	run_is 1 "who cannot give up root talks to nobody" sh -c 'exec "$@" <"$0"' "$TMP/token" \
		setpriv --bounding-set -setgid --inh-caps -setgid "$AGENTD" --data "$TMP/m0" join "$AGENTD_URL" --name m0 \
		--type cpu --nodes 1
	like "$err" "give this container CAP_SETUID and CAP_SETGID" "and learns what to do"
fi
LD_DEBUG=files LD_DEBUG_OUTPUT=$TMP/loads "$AGENTD" --data "$TMP/m1" join "$AGENTD_URL" --name m1 --type cpu --nodes 1 --json \
	<"$TMP/token" >"$TMP/m1.joined" 2>"$TMP/m1.err" &
JOINER=$!
wait $JOINER
is "$?" 0 "a machine joins by name and TLS" || diag "$(cat "$TMP/m1.err")"
not_ok "whoever joins loads no libcurl" grep -q libcurl "$TMP/loads.$JOINER"
ok "(which the loader would have written)" grep -q libjansson "$TMP/loads.$JOINER"
as "$FOUNDRY" POST "/np/v1/hosts/$(json '.hosts[0].id' <"$TMP/m1.joined")/offers" \
	"{\"price_dollars_per_node_hour\":\"1.500000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 864000))}" >"$TMP/.offer"
run_is 2 "nobody starts the network side by hand" "$AGENTD" http
like "$err" "the agent itself starts" "which it says"

# ---- What the network side is -----------------------------------------------------------------------------------
export SECRET_OF_ROOT=1 NO_PROXY=localhost
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
sides() { pgrep -P "$AGENTD_PID" -xf "nanopod-agentd http"; }
is_up() { [ "$(as "$FOUNDRY" GET "/np/v1/agents/$(json .agent <"$TMP/m1.joined")" | jq -r .state)" = up ]; }
ok "the agent talks to its market" wait_for 30 is_up || diag "$(cat "$TMP/m1.log")"
has() { awk -v name="$2:" '$1 == name { $1 = ""; print substr($0, 2) }' "/proc/$1/status"; }
# From fork to exec and from exec to its first request it is not yet what it will be.
confined() { n=0; for side in $(sides); do [ "$(has "$side" Seccomp)" != 2 ] || n=$((n + 1)); done; [ $n = 2 ]; }
ok "by two processes whose system calls are filtered: one asks, one reports" wait_for 30 confined
for side in $(sides); do
	is "$(for name in CapInh CapPrm CapEff CapAmb NoNewPrivs; do has "$side" $name; done | tr '\n' ' ')" \
		"0000000000000000 0000000000000000 0000000000000000 0000000000000000 1 " \
		"it has no capability, and no program gives it one"
	is "$(cut -d ' ' -f 6,7 "/proc/$side/stat")" "$side 0" "it is in a session without a terminal"
	if [ "$(id -u)" = 0 ]; then
		not_ok "it is not root" grep -qE '^[UG]id:.*\b0\b' "/proc/$side/status"
		is "$(has "$side" Groups)$(has "$side" CapBnd)" 0000000000000000 "and is in no group"
		is "$(readlink "/proc/$side/fd/0" "/proc/$side/fd/1" "/proc/$side/fd/2" | tr '\n' ' ')" \
			"/dev/null /dev/null /dev/null " "it has no terminal and no log open"
		is "$(tr '\0' '\n' <"/proc/$side/environ" | grep -e SECRET -e NO_PROXY -e ^PATH)" NO_PROXY=localhost \
			"of the environment it gets what HTTP needs"
		not_ok "and no file of the agent" sh -c 'ls -l "/proc/$1/fd" | grep -q -e "$2"' - "$side" "$TMP/m1/"
	else
		is "$(has "$side" Uid)" "$(has $AGENTD_PID Uid)" "an ordinary user's is that user's"
	fi
done
not_ok "the agent itself has loaded neither libcurl nor TLS" grep -qE 'libcurl|libssl|libgnutls' "/proc/$AGENTD_PID/maps"

# ---- Killing it -------------------------------------------------------------------------------------------------
# Killed when idle or with a request under way, which then may or may not have reached the market.
agentd_buy one 1 600
for round in 1 2 3; do
	kill -9 $(sides)
	wait_for 30 eval '[ -n "$(sides)" ]' || fail "(round $round: another takes its place)"
done
ok "a node that is made meanwhile runs" wait_for 60 node_is one-1 running || diag "$(cat "$TMP/m1.log")"
I=$(node one-1 .id)
boots() { as "$ACME" GET "/v2/instances/$I/logs?limit=200" | jq -r '.data[].data | @base64d' | grep -c "fake node boots"; }
kill -9 $(sides)
ok "its console arrives" wait_for 60 eval '[ "$(boots)" -ge 1 ]'
is "$(boots)" 1 "once"
as "$ACME" POST "/v2/instances/$I/terminate" >/dev/null
kill -9 $(sides)
ok "a node that its buyer ends is wiped" wait_for 60 eval '[ ! -e "$TMP/m1/nodes/$I" ]'

# ---- Its end ----------------------------------------------------------------------------------------------------
some() { LAST=$(sides); [ -n "$LAST" ]; }
ok "the agent has a network side" wait_for 30 some
# A stopped one does not notice that its socket ends; the kernel ends it. It has carried a request, so it is ready for that.
for side in $LAST; do ! grep -q libcurl "/proc/$side/maps" 2>/dev/null || kill -STOP "$side"; done
agentd_kill m1
# One that ended stays as a zombie where process 1 does not wait for strangers.
gone() { [ ! -e "/proc/$1/status" ] || [ "$(has "$1" State | cut -c 1)" = Z ]; }
none_left() { for side in $LAST; do gone "$side" || return 1; done; }
ok "a killed agent takes its network side along" wait_for 30 none_left || kill -9 $LAST
done_testing
