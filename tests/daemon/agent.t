#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An agent and its market: joining, a lease from its first minute to its wipe, extended in its last minute; an
# unreachable market; nodes that nobody ordered; changing keys; a stolen identity. Uses the fake driver.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"

agentd_market --agent-silent 600 --listen 127.0.0.1:$((PORTS + 39)) # a port that is still its own after a while
log() { cat "$TMP/$1.log"; }
said() { grep -q -e "$2" "$TMP/$1.log"; }
gone() { [ ! -e "$TMP/$1/nodes/$2" ] && [ ! -e "$TMP/$1/fake/$2" ]; }
state_is() { [ "$(agentd_status "$1" ".nodes[] | select(.name == \"$2\") | .state")" = "$3" ]; }
console_of() { as "$ACME" GET "/v2/instances/$1/logs?limit=200" | jq -r '.data[].data | @base64d'; }
console_has() { console_of "$1" | grep -q -e "$2"; }
# Other markets give the same ids, and another build's tests may run beside this one: so with the whole path.
holder() { pgrep -f "listener .*$TMP/$1/fake/$2 " | head -n 1; }

# ---- Joining ------------------------------------------------------------------------------------------------
JOIN=$(agentd_token)
run_is 2 "join needs a URL" "$AGENTD" --data "$TMP/m1" join
run_is 2 "and a token" "$AGENTD" --data "$TMP/m1" join "$NANOPOD_URL"
printf '%s\n' "$JOIN" >"$TMP/token"
run_stdin "$TMP/token" "$AGENTD" --data "$TMP/m1" join http://192.0.2.1:8470
is "$status" 2 "not over a network that others read"
like "$err" "could read the token" "and it says why"
run_stdin "$TMP/token" "$AGENTD" --data "$TMP/m1" join "https://127.0.0.1:1#md5//x"
is "$status" 2 "a pin has one form"
run_stdin "$TMP/token" "$AGENTD" --data "$TMP/m1" join "$NANOPOD_URL" --name m1 --type cpu --nodes 2 --json
is "$status" 0 "a machine joins" || diag "$err"
is "$(json '[.name, .joined_before, (.hosts | length)] | join(" ")' <<<"$out")" "m1 false 2" "with two hosts"
AGT=$(json .agent <<<"$out")
is "$(stat -c %a "$TMP/m1/key" "$TMP/m1/agent.json" "$TMP/m1" | tr '\n' ' ')" "600 600 700 " "its key is its own"
not_ok "the token is in no file" grep -rqF "$JOIN" "$TMP/m1"
run_stdin /dev/null "$AGENTD" --data "$TMP/m1" join "$NANOPOD_URL" --name m1 --type cpu --nodes 2 --json
is "$status $(json '[.agent, .joined_before] | join(" ")' <<<"$out")" "0 $AGT true" "joined again: the same"
is "$(as "$FOUNDRY" GET /np/v1/hosts | jq '.data | length')" 2 "and no host more"
run_stdin "$TMP/token" "$AGENTD" --data "$TMP/m1" join http://127.0.0.1:1
is "$status" 5 "another market is refused"
for host in $(as "$FOUNDRY" GET /np/v1/hosts | jq -r '.data[].id'); do
	as "$FOUNDRY" POST "/np/v1/hosts/$host/offers" \
		"{\"price_dollars_per_node_hour\":\"1.500000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 864000))}" >/dev/null
done

# ---- A lease ------------------------------------------------------------------------------------------------
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
run_is 1 "a second agent of the same folder is refused" "$AGENTD" --data "$TMP/m1"
like "$err" "another nanopod-agentd \(process [0-9]+\)" "and told of the first"
agentd_buy one 1 600
wait_for 20 node_is one-1 running
ok "what was bought runs" node_is one-1 running || log m1 | sed 's/^/# /'
I=$(node one-1 .id)
is "$(node one-1 '[.ssh.hostname, .ssh.port, .ssh.user, .ssh.host_keys[0].type] | join(" ")')" \
	"127.0.0.1 $PORTS root ssh-ed25519" \
	"and the market knows where"
is "$(cat "$TMP/m1/nodes/$I/keys")" "$(cat "$TMP/buyer.pub")" "with the buyer's key"
ok "its console comes" wait_for 10 console_has "$I" "fake node boots"
PID=$(holder m1 "$I")
isnt "$PID" "" "(its process)" || diag "$(log m1; ps -ef | grep "[l]istener")"

# Keys.
ssh-keygen -q -t ed25519 -N '' -C other -f "$TMP/other"
printf '#cloud-config\nssh_authorized_keys:\n  - command="id" %s\n  - %s\npackages: [vim]\n' "$(cat "$TMP/buyer.pub")" \
	"$(cat "$TMP/other.pub")" >"$TMP/config"
as "$ACME" PUT "/np/v1/instances/$I/user-data" "{\"user_data\":\"$(base64 -w0 <"$TMP/config")\"}" >"$TMP/.put"
new_keys() { [ "$(cat "$TMP/m1/nodes/$I/keys")" = "$(cat "$TMP/other.pub")" ]; }
ok "other keys take their place, and one with an option does not" wait_for 10 new_keys
ok "the buyer is told of it" wait_for 10 console_has "$I" "key 1 is refused: options"
ok "and of what is not known" console_has "$I" "'packages' is not supported"

# The node stops by itself.
kill -9 "$PID"
back() { NEW=$(holder m1 "$I"); [ -n "$NEW" ] && [ "$NEW" != "$PID" ]; }
ok "a node that stops comes back" wait_for 15 back
ok "and its console with it, in order" wait_for 10 eval '[ "$(console_of "$I" | grep -c "fake node boots")" = 2 ]'

# The agent stops; the node does not.
wait_for 10 state_is m1 one-1 running
PID=$(holder m1 "$I")
agentd_stop m1
is "$agentd_status" 0 "the agent ends when asked"
is "$(holder m1 "$I")" "$PID" "its node goes on"
is "$(agentd_status m1 '[.running, .nodes[0].state] | join(" ")')" "false running" "status tells it from the disk"
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
wait_for 10 said m1 "knows that it is running"
is "$(holder m1 "$I")" "$PID" "the next agent finds it as it was"
is "$(console_of "$I" | grep -c "fake node boots")" 2 "and repeats no line of its console"

# Extended in the last minute.
agentd_clock $((NOW + 60 + 570))
as "$ACME" POST /np/v1/pools/one/extend \
	"{\"end_at\":$((NOW + 1260)),\"limit_price_dollars_per_node_hour\":\"2.000000\"}" >"$TMP/.extend"
is "$(http_status)" 201 "extended in the last minute" || diag "$(cat "$TMP/.extend")"
ok "its agent knows the new end" wait_for 10 said m1 "new end $((NOW + 1260))"
agentd_clock $((NOW + 660 + 40))
# The market's next word to the agent has this time in it, so an agent with new keys has seen the old end pass.
as "$ACME" PUT "/np/v1/instances/$I/user-data" "{\"user_data\":\"$(user_data "$TMP/buyer.pub")\"}" >"$TMP/.put"
old_keys() { [ "$(cat "$TMP/m1/nodes/$I/keys")" = "$(cat "$TMP/buyer.pub")" ]; }
ok "over the old end it takes new keys" wait_for 10 old_keys
is "$(holder m1 "$I")" "$PID" "and its processes go on"

# The lease ends.
ln "$TMP/m1/nodes/$I/console" "$TMP/console" # the node's own name of it goes a second later
agentd_clock $((NOW + 1260))
ok "its console says so" wait_for 10 grep -q "stops in" "$TMP/console"
ok "at the end it is stopped and wiped" wait_for 15 gone m1 "$I"
is "$(node one-1 .status)" terminated "the market has ended it"
told() { [ "$(as "$FOUNDRY" GET "/np/v1/agents/$AGT" | jq -r '[.state, .health, .status.nodes] | join(" ")' | sed 's/degraded/ok/')" = "$1" ]; }
ok "the market hears how the machine is" wait_for 60 told "up ok 0" || diag "$(as "$FOUNDRY" GET "/np/v1/agents/$AGT")"

# ---- The market is away -----------------------------------------------------------------------------------------
agentd_buy two 1 600
END=$((agentd_start_at + 600))
wait_for 20 node_is two-1 running
I=$(node two-1 .id)
PID=$(holder m1 "$I")
isnt "$PID" "" "another one runs"
# One that ends a minute before it: when that is gone, the agent has seen the time.
agentd_buy brief 1 480
wait_for 20 node_is brief-1 running
BRIEF=$(node brief-1 .id)
marketd_kill
ok "that the market is away is said" wait_for 30 said m1 "cannot reach the market"
printf '%s\n' $((END - 1)) >"$TMP/clock"
ok "a lease that ended a minute ago is wiped" wait_for 15 gone m1 "$BRIEF"
is "$(holder m1 "$I")" "$PID" "while it is away the lease goes on to its last second"
printf '%s\n' "$END" >"$TMP/clock"
ok "and then ends by the agent's own clock" wait_for 15 gone m1 "$I"
is "$(grep -c "cannot reach the market" "$TMP/m1.log")" 1 "said once"
agentd_stop m1

# ---- What nobody ordered ------------------------------------------------------------------------------------------
NANOPOD_OLD_URL=$NANOPOD_URL
marketd_start --test-clock=$NOW --rate 0 --listen "${NANOPOD_OLD_URL#http://}" || exit 1
agentd_clock "$END"
: >"$TMP/m1/fake/inst_stranger"
"$AGENTD" listener $((PORTS + 30)) "$TMP/m1/fake/inst_stranger" "$TMP/stranger.console" &
STRANGER=$!
agentd_start m1 --driver fake --grace 1 --first-port $PORTS
ok "what runs and is in no journal is found" wait_for 10 said m1 "inst_stranger runs here"
ended() { ! kill -0 "$1" 2>/dev/null; }
ok "and stopped" wait_for 10 ended "$STRANGER"
ok "reported" wait_for 10 eval '[ "$(as "$FOUNDRY" GET "/np/v1/agents/$AGT" | jq .status.unknown)" = 1 ]'
agentd_stop m1
agentd_start m1 --driver fake --grace 1 --first-port $PORTS --unknown-grace 1 # not before it is reported
ok "and wiped after a while" wait_for 15 gone m1 inst_stranger

# ---- Its own children ------------------------------------------------------------------------------------------------
is "$(awk '$1 == "Threads:" { print $2 }' "/proc/$AGENTD_PID/status")" 1 "it has one thread: whoever forks has no other"
http_children() { pgrep -P "$AGENTD_PID" -xf "nanopod-agentd http"; }
is "$(http_children | wc -l)" 2 "two children talk to the market"
kill -9 $(http_children)
agentd_buy two 1 600
ok "when they are killed others take their place" wait_for 60 node_is two-1 running
is "$(http_children | wc -l)" 2 "as many"
as "$ACME" POST "/v2/instances/$(node two-1 .id)/terminate" >/dev/null
ok "(and it goes)" wait_for 20 eval '[ -z "$(ls "$TMP/m1/fake")" ]'

# ---- A stolen identity -----------------------------------------------------------------------------------------------
agentd_buy three 1 600
END=$((agentd_start_at + 600))
wait_for 20 node_is three-1 running
I=$(node three-1 .id)
PID=$(holder m1 "$I")
isnt "$PID" "" "one more runs"
mkdir -m 700 "$TMP/thief"
cp -p "$TMP/m1/agent.json" "$TMP/m1/key" "$TMP/thief/"
agentd_start thief --driver fake --first-port $((PORTS + 20))
ok "of two with one identity the older is fenced, loudly" wait_for 40 said m1 FENCED
GENERATION=$(jq .generation "$TMP/m1/agent.json")
is "$(holder m1 "$I")" "$PID" "what it runs goes on"
agentd_stop thief
agentd_clock "$END"
ended_alone() { ! kill -0 "$(cat "$TMP/m1.pid")" 2>/dev/null; }
ok "after its last lease it ends" wait_for 15 ended_alone
is "$(jq .generation "$TMP/m1/agent.json")" "$GENERATION" "and asked for no session again until then"
agentd_stop m1
is "$agentd_status" 5 "with a status of its own"
ok "and nothing is left" gone m1 "$I"

[ $tap_failed = 0 ] || diag "$(cat "$TMP/m1.before" "$TMP/m1.log")"
not_ok "no token and no key is in a log" grep -qE 'np[ks]_|PRIVATE' "$TMP/m1.log" "$TMP/thief.log"
done_testing
