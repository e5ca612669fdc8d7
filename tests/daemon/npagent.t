#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Machines that join, as a market sees them: who is let in, what they are told and when, what they may
# tell, and what becomes of the money where one falls silent. The agent is curl and openssl.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"

v2_start --rate 0 --node-wait 180
told() { shape_why=$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1); is "$shape_why" "" "$3"; }
curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"

b64() { printf '%s' "$1" | base64 -w0; }

# ---- Joining -------------------------------------------------------------------------------------------
key one
out=$(as "$FOUNDRY" POST /np/v1/tokens '{"scopes":["join"]}')
is "$(http_status) $(json '[(.scopes | join(",")), .expires_at - .created_at] | join(" ")' <<<"$out")" "201 join 86400" \
	"a token to join with lives a day"
told np.NewToken "$out" "(as documented)"
JOIN=$(json .token <<<"$out")
out=$(as "$FOUNDRY" POST /np/v1/tokens '{"scopes":["join","read"]}')
refused 422 invalid scopes "and does nothing else" "$out"
out=$(as "$ACME" POST /np/v1/tokens '{"scopes":["join"]}')
refused 403 forbidden scopes "who has no hosts lets no machine in" "$out"
out=$(as "$JOIN" GET /np/v1/hosts)
is "$(http_status)" 403 "it lists no hosts"
out=$(as "$FOUNDRY" POST /np/v1/agents/join "{\"name\":\"rack1\",\"public_key\":\"$(public one)\",\"machine\":\"m1\"}")
is "$(http_status)" 403 "another token lets no machine in"
out=$(as "$JOIN" POST /np/v1/agents/join '{"name":"rack1","public_key":"AAAA","machine":"m1"}')
refused 422 invalid public_key "a key has 32 bytes" "$out"
out=$(join "$JOIN" rack1 one m1)
is "$(http_status) $(json '[.object, .name, .state, .machine, .generation, (.hosts | length)] | join(" ")' <<<"$out")" \
	"201 agent rack1 joined m1 0 0" "a machine joins"
told np.Agent "$out" "(as documented)"
AGT=$(json .id <<<"$out")
like "$AGT" '^agt_' "it has an id"
out=$(join "$JOIN" rack1 one m1)
is "$(http_status) $(json .id <<<"$out")" "200 $AGT" "asked again with the same key: the same answer, for one that was lost"
key two
out=$(join "$JOIN" rack2 two m2)
is "$(http_status) $(json .error.code <<<"$out")" "401 unauthenticated" "the token lets no other machine in"
out=$(join "$(join_token)" rack1 two m2)
refused 400 name_taken name "a name is there once" "$out"
out=$(join "$(join_token)" rack1b one m1)
refused 400 name_taken public_key "and a key" "$out"
not_ok "the token is in no file of the market" grep -r -a -q -- "$JOIN" "$MARKETD_DATA" "$MARKETD_LOG"

# ---- Sessions ------------------------------------------------------------------------------------------
out=$(session "$AGT" two 1 m1)
is "$(http_status) $(json .error.code <<<"$out")" "401 unauthenticated" "who has not the key has no session"
out=$(session "$AGT" one 1 m1 $((NOW - 301)))
is "$(http_status) $(json '.error.details[0].field' <<<"$out")" "401 at" "nor whose clock is wrong, and he is told"
like "$(json .error.message <<<"$out")" "clock is at" "in words"
out=$(session "$AGT" one 1 m2)
is "$(http_status) $(json .error.code <<<"$out")" "409 fenced" "nor on another machine"
out=$(session agt_0000000000000 one 1 m1)
is "$(http_status)" 401 "nor who is none"
out=$(session "$AGT" one 1 m1)
is "$(http_status) $(json '[.object, .generation, .now, .poll_seconds] | join(" ")' <<<"$out")" "201 session 1 $NOW 25" "it has one"
told np.Session "$out" "(as documented)"
S1=$(json .token <<<"$out")
like "$S1" "^nps_${AGT}_[A-Za-z0-9_-]{43}\$" "its token says whose it is"
out=$(session "$AGT" one 1 m1)
is "$(http_status) $(json .error.code <<<"$out")" "409 fenced" "not twice with one generation"
as "$S1" GET /np/v1/agent/work >/dev/null
is "$(http_status)" 200 "the first one still works"
S2=$(session "$AGT" one 7 m1 | json .token)
out=$(as "$S1" GET /np/v1/agent/work)
refused 409 fenced "" "a later session ends it" "$out"
as "$S2" GET /np/v1/agent/work >/dev/null
is "$(http_status)" 200 "and works"
as "${S2%?}x" GET /np/v1/agent/work >/dev/null
is "$(http_status)" 409 "another secret does not"
SECRET=${S2#"nps_${AGT}_"} # which may hold '_' itself
is "${#SECRET}" 43 "(a session's secret)"
not_ok "no session is in any file of the market" grep -r -a -q -- "$SECRET" "$MARKETD_DATA" "$MARKETD_LOG"
for route in 'GET /np/v1/balance' 'GET /np/v1/hosts' 'GET /v2/orders' "GET /np/v1/agents/$AGT" 'GET /np/v1/agents'; do
	as "$S2" ${route% *} "${route#* }" >/dev/null
	is "$(http_status)" 403 "a session is not for $route"
done
operator GET /np/v1/agent/work >/dev/null
is "$(http_status)" 403 "and the operator is no agent"

# ---- Hosts ---------------------------------------------------------------------------------------------
as "$S2" PUT /np/v1/agent/inventory "$(capacity 208 2199023255552 30786325577728 '8 h100')" >/dev/null
is "$(http_status)" 204 "it says what it has"
out=$(as "$S2" POST /np/v1/agent/hosts '{"name":"h1","instance_sku":"richmond"}')
is "$(http_status) $(json '[.name, .state, .agent] | join(" ")' <<<"$out")" "201 h1 up $AGT" "an agent registers a host"
told np.Host "$out" "(as documented)"
H1=$(json .id <<<"$out")
out=$(as "$S2" POST /np/v1/agent/hosts '{"name":"h1","instance_sku":"richmond"}')
is "$(http_status) $(json .id <<<"$out")" "200 $H1" "the same again is the same host"
out=$(as "$S2" POST /np/v1/agent/hosts '{"name":"h9","instance_sku":"nowhere"}')
refused 404 not_found instance_sku "of a type that there is" "$out"
AGT2=$(join "$(join_token)" rack2 two m2 | json .id)
T2=$(session "$AGT2" two 1 m2 | json .token)
as "$T2" PUT /np/v1/agent/inventory "$(capacity 208 2199023255552 30786325577728 '8 h100')" >/dev/null
out=$(as "$T2" POST /np/v1/agent/hosts '{"name":"h1","instance_sku":"richmond"}')
refused 400 name_taken name "another agent's host is not taken over" "$out"
as "$S2" PUT /np/v1/agent/inventory \
	"$(capacity 208 2199023255552 30786325577728 '8 h100' | jq -c '. + {cpus: {count: 8}, gpus: []}')" >/dev/null
is "$(http_status)" 204 "and says it in full"
as "$S2" POST /np/v1/agent/status '{"health":"degraded","message":"a fan","driver":"ns","nodes":1,"unknown":1,"oldest_unknown_seconds":7}' >/dev/null
is "$(http_status)" 204 "and how it is"
out=$(as "$FOUNDRY" GET /np/v1/agents/rack1)
is "$(json '[.state, .health, .status.message, .status.driver, .status.unknown, .inventory.cpus.count, .hosts[0].id, .generation] | join(" ")' <<<"$out")" \
	"up degraded a fan ns 1 8 $H1 7" "its owner sees all of it"
told np.Agent "$out" "(as documented)"
out=$(as "$FOUNDRY" GET /np/v1/agents)
is "$(json '[.data[].name] | join(" ")' <<<"$out")" "rack1 rack2" "and a list"
told np.AgentList "$out" "(as documented)"
is "$(as "$STRANGER" GET /np/v1/agents/$AGT >/dev/null; http_status)" 403 "nobody else does"
like "$(operator GET /metrics)" 'nanopod_agents.state="up". 2' "the figures count them"
like "$(operator GET /metrics)" 'nanopod_nodes_unknown_seconds [1-9]' "and what nobody asked for"

# ---- Work ----------------------------------------------------------------------------------------------
out=$(as "$S2" GET /np/v1/agent/work)
is "$(json '[.object, .test_clock, .agent.name, .hosts[0].name, .hosts[0].type, .hosts[0].state, (.nodes | length)] | join(" ")' <<<"$out")" \
	"work true rack1 h1 richmond up 0" "it asks what it is to have"
told np.Work "$out" "(as documented)"
V=$(json .version <<<"$out")
before=$(date +%s%N)
out=$(as "$S2" GET "/np/v1/agent/work?have=$V&wait=1")
took=$((($(date +%s%N) - before) / 1000000))
is "$(http_status) $(json .version <<<"$out")" "200 $V" "where nothing comes it is told the same in the end"
ok "after as long as it would wait ($took ms)" test $took -ge 900
before=$(date +%s%N)
out=$(as "$S2" GET "/np/v1/agent/work?have=0&wait=20")
took=$((($(date +%s%N) - before) / 1000000))
ok "who has another version is told at once ($took ms)" test $took -lt 15000
as "$FOUNDRY" POST "/np/v1/hosts/$H1/offers" "{\"price_dollars_per_node_hour\":\"12.00\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 864000))}" >/dev/null
is "$(http_status)" 201 "its owner offers the host"
as "$ACME" POST /v2/orders "$(order buy train 1 $((NOW + 60)) $((NOW + 60 + 2 * HOUR)) 20.0)" >/dev/null
v2_clock $((NOW + 60))

# poll SECONDS FILE: in the background, from the version that it is at.
poll() {
	poll_v=$(as "$S2" GET /np/v1/agent/work | json .version)
	curl -sS --max-time 90 -H "Authorization: Bearer $S2" -o "$2" "$NANOPOD_URL/np/v1/agent/work?have=$poll_v&wait=$1" 2>/dev/null &
	POLL=$!
	wait_for 5 polls_are 1
}
polls_are() { [ "$(operator GET /metrics | sed -n 's/^nanopod_http_polls //p')" = "$1" ]; }
poll 30 "$TMP/woken"
before=$(date +%s%N)
out=$(as "$ACME" POST /v2/instances "{\"name\":\"vm1\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"a2V5cw==\"}")
INST=$(json .id <<<"$out")
wait $POLL
took=$((($(date +%s%N) - before) / 1000000))
ok "a node that is made wakes it ($took ms)" test $took -lt 15000
is "$(json '[.nodes[0].id, .nodes[0].name, .nodes[0].host, .nodes[0].type, .nodes[0].image, .nodes[0].user_data, .nodes[0].status, .nodes[0].end_at] | join(" ")' <"$TMP/woken")" \
	"$INST vm1 $H1 richmond debian-12 a2V5cw== awaiting_allocation $((NOW + 60 + 2 * HOUR))" "and it hears all that it needs"
told np.Work "$(cat "$TMP/woken")" "(as documented)"
is "$(as "$T2" GET /np/v1/agent/work | json '.nodes | length')" 0 "another agent hears nothing of it"
poll 30 "$TMP/woken"
as "$ACME" PUT "/np/v1/instances/$INST/user-data" '{"user_data":"bmV3"}' >/dev/null
is "$(http_status)" 204 "new keys"
wait $POLL
is "$(json '.nodes[0].user_data' <"$TMP/woken")" bmV3 "are told at once"
out=$(as "$ACME" PUT "/np/v1/instances/$INST/user-data" '{"user_data":"no base64"}')
refused 422 invalid user_data "and must be base64" "$out"
as "$STRANGER" PUT "/np/v1/instances/$INST/user-data" '{"user_data":"bmV3"}' >/dev/null
is "$(http_status)" 404 "and one's own"

poll 30 "$TMP/woken"
S3=$(session "$AGT" one 8 m1 | json .token)
before=$(date +%s%N)
wait $POLL
took=$((($(date +%s%N) - before) / 1000000))
is "$(json .error.code <"$TMP/woken")" fenced "another session ends what an earlier one waits for"
ok "at once ($took ms)" test $took -lt 15000
S2=$S3

# ---- Many behind one address -----------------------------------------------------------------------------
marketd_stop
marketd_start --test-clock --rate 0 --connections-per-address 2
V=$(as "$S2" GET /np/v1/agent/work | json .version)
POLLS=''
for i in 1 2 3 4; do
	curl -sS --max-time 40 -H "Authorization: Bearer $S2" -o /dev/null "$NANOPOD_URL/np/v1/agent/work?have=$V&wait=30" 2>/dev/null &
	POLLS="$POLLS $!"
	wait_for 5 polls_are $i
done
ok "agents that wait are not counted as connections of their address" polls_are 4
is "$(curl -sS --max-time 60 "$NANOPOD_URL/np/v1" | json .object)" market "others from there have room"
out=$(as "$S2" GET "/np/v1/agent/work?have=$V&wait=30")
is "$(http_status) $(json .error.code <<<"$out")" "422 limit_reached" "but one agent does not wait more than four times"
marketd_stop
for i in $POLLS; do wait $i; done
is "$marketd_status" 0 "that they wait holds up no end"
marketd_start --test-clock --rate 0 --agent-silent 600

# ---- Reports -------------------------------------------------------------------------------------------
out=$(as "$ACME" GET /np/v1/nodes)
is "$(json '[.data[0].name, .data[0].status, .data[0].ssh, .data[0].reservation.name, .data[0].type, .data[0].zone] | map(tostring) | join(" ")' <<<"$out")" \
	"vm1 awaiting_allocation null train richmond a" "a buyer sees a node that is to come"
REPORT='{"status":"running","hostname":"10.0.0.7","port":2201,"user":"root","driver":"ns","host_keys":[{"type":"ssh-ed25519","key":"AAAAC3Nz"}]}'
as "$T2" POST "/np/v1/instances/$INST/report" "$REPORT" >/dev/null
is "$(http_status)" 404 "another agent reports none of it"
as "$S2" POST "/np/v1/instances/$INST/report" "$REPORT" >/dev/null
is "$(http_status)" 204 "its agent reports it"
out=$(as "$ACME" GET '/np/v1/nodes?reservation=train')
is "$(json '.data[0] | [.status, .ssh.hostname, .ssh.port, .ssh.user, .ssh.host_keys[0].type, .ssh.host_keys[0].key, .end_at] | join(" ")' <<<"$out")" \
	"running 10.0.0.7 2201 root ssh-ed25519 AAAAC3Nz $((NOW + 60 + 2 * HOUR))" "and the buyer sees where it is"
told np.NodeList "$out" "(as documented)"
is "$(as "$ACME" GET /np/v1/nodes/vm1 | json .id)" "$INST" "one of them by its name"
is "$(as "$STRANGER" GET /np/v1/nodes | json '.data | length')" 0 "a stranger sees none"
out=$(as "$ACME" GET "/v2/instances/$INST/ssh")
is "$(json '[.hostname, .port, .host_keys[0].key_type] | join(" ")' <<<"$out")" "10.0.0.7 2201 ssh-ed25519" "SF Compute's clients too"
shape InstanceSshInfo "$out" "(as documented)"
seq=$(curl -sS "$NANOPOD_URL/healthz" | json .seq)
as "$S2" POST "/np/v1/instances/$INST/report" "$REPORT" >/dev/null
is "$(http_status) $(curl -sS "$NANOPOD_URL/healthz" | json .seq)" "204 $seq" "said again it is no news"
as "$S2" POST "/np/v1/instances/$INST/report" "${REPORT/2201/2202}" >/dev/null
is "$(as "$ACME" GET /np/v1/nodes/vm1 | json .ssh.port)" 2202 "moved, it is"

# ---- GPUs of a node ------------------------------------------------------------------------------------
is "$(as "$ACME" GET /np/v1/nodes/vm1 | jq -c .gpus)" '[]' "a host that says no GPUs of a node gave none that is known"
with_gpus() { jq -c --argjson g "$1" '. + {gpus: $g}' <<<"$REPORT"; }
GPUS='[{"model":"h100","count":8,"memory_bytes":85899345920}]'
as "$S2" POST "/np/v1/instances/$INST/report" "$(with_gpus "$GPUS")" >/dev/null
is "$(http_status)" 204 "one says which"
out=$(as "$ACME" GET /np/v1/nodes/vm1)
is "$(jq -cS .gpus <<<"$out")" "$(jq -cS . <<<"$GPUS")" "and its buyer sees them"
told np.Node "$out" "(as documented)"
out=$(as "$ACME" GET "/v2/instances/$INST")
is "$(jq -cS .np_gpus <<<"$out")" "$(jq -cS . <<<"$GPUS")" "in the instance, too"
shape InstanceResponse "$out" "(as documented)"
for wrong in '[{"model":"h 100","count":8}]' '[{"model":"h100","count":0}]' '[{"model":"h100"}]' '[{"model":"h100","count":1,"price":2}]' \
	"$(jq -cn '[range(17) | {model: "h\(.)", count: 1}]')" '{}'; do
	as "$S2" POST "/np/v1/instances/$INST/report" "$(with_gpus "$wrong")" >/dev/null
	is "$(http_status)" 422 "not with gpus ${wrong:0:40}"
done
as "$S2" POST "/np/v1/instances/$INST/report" "${REPORT/2201/2202}" >/dev/null
is "$(as "$ACME" GET /np/v1/nodes/vm1 | jq -c .gpus)" '[]' "a later report counts"

# ---- Consoles ------------------------------------------------------------------------------------------
# lines FIRST COUNT: a body.
lines() {
	jq -cn --argjson first "$1" --argjson n "$2" --argjson at "$NOW" \
		'{first:$first, lines:[range($n) | {at:($at * 1000000 + ($first + .) * 1000), data:("line \($first + .)" | @base64)}]}'
}
out=$(as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 1 5)")
is "$(http_status) $(json .next <<<"$out")" "200 6" "a console begins"
told np.Console "$out" "(as documented)"
is "$(as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 4 5)" | json .next)" 9 "what is known already is let pass"
is "$(as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 1 3)" | json .next)" 9 "all of it too"
out=$(as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 11 2)")
is "$(http_status) $(json '[.error.code, .error.details[0].next] | join(" ")' <<<"$out")" "409 conflict 9" "a gap is told"
told Error "$out" "(as documented)"
is "$(as "$S2" POST "/np/v1/instances/$INST/console" '{"first":1,"lines":[]}' | json .next)" 9 "no lines ask where it goes on"
as "$T2" POST "/np/v1/instances/$INST/console" "$(lines 9 1)" >/dev/null
is "$(http_status)" 404 "another agent writes none of it"
as "$FOUNDRY" POST "/np/v1/instances/$INST/console" "$(lines 9 1)" >/dev/null
is "$(http_status)" 403 "nor its owner"
as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 9 1001)" >/dev/null
is "$(http_status)" 422 "1,000 lines at most"
jq -cn '{first:9, lines:[range(6) | {at:1, data:("x" * 50000 | @base64)}]}' >"$TMP/large"
as "$S2" POST "/np/v1/instances/$INST/console" "@$TMP/large" >/dev/null
is "$(http_status)" 413 "256 KiB at most"
as "$S2" POST "/np/v1/instances/$INST/console" '{"first":9,"lines":[{"at":1,"data":"A==="}]}' >/dev/null
is "$(http_status)" 422 "and base64"
out=$(as "$ACME" GET "/v2/instances/$INST/logs")
is "$(json '[.data[].seqnum] | join(" ")' <<<"$out")" "1 2 3 4 5 6 7 8" "the buyer reads it, each line once"
is "$(json '.data[3].data' <<<"$out" | base64 -d)" "line 4" "as it was written"
is "$(json '.data | all(.data | @base64d | endswith("\n"))' <<<"$out")" true "each with its end, for clients that join them"
is "$(json '.data[3] | [.timestamp_realtime, .np_at_micros] | join(" ")' <<<"$out")" "$NOW ${NOW}004000" "when it was"
shape InstanceLogChunk "$(json '.data[0]' <<<"$out")" "in SF Compute's shape"
seqs() { as "$ACME" GET "/v2/instances/$INST/logs?$1" | json '[.data[].seqnum] | join(" ")'; }
is "$(seqs 'sort_by=-seqnum&limit=3')" "8 7 6" "from the end"
is "$(seqs 'seqnum_after=6')" "6 7 8" "from one on"
is "$(seqs 'seqnum_after=3&seqnum_before=5')" "3 4 5" "between two"
is "$(seqs "realtime_timestamp_after=$((NOW + 1))") $(seqs "realtime_timestamp_before=$((NOW - 1))")" " " "by time"
is "$(seqs "realtime_timestamp_after=$NOW&realtime_timestamp_before=$NOW&limit=2")" "1 2" "both ends counted"
out=$(as "$ACME" GET "/v0/vms/logs2?instance_id=vm_${INST#inst_}&since_seqnum=7&order_by=seqnum_asc")
is "$(json '[.data[] | .seqnum, (.data | implode)] | join(" ")' <<<"$out" | tr -d '\n')" "7 line 7 8 line 8" "the first generation's clients too"
is "$(json '.data | all(.data[-1] == 10)' <<<"$out")" true "which print only what a newline ends"
as "$STRANGER" GET "/v2/instances/$INST/logs" >/dev/null
is "$(http_status)" 404 "a stranger reads nothing"

# ---- A restart -----------------------------------------------------------------------------------------
poll 30 "$TMP/woken"
marketd_kill
wait $POLL
marketd_start --test-clock --rate 0 --agent-silent 10
is "$(as "$S2" GET /np/v1/agent/work | json '.nodes | length')" 1 "after kill -9 the session works"
is "$(as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 7 3)" | json .next)" 10 "and the console goes on"
marketd_stop
ok "all is well with the market's files" "$MARKETD" check --data "$MARKETD_DATA"
marketd_start --test-clock --rate 0 --agent-silent 10
T2=$(session "$AGT2" two 2 m2 | json .token)
as "$S2" GET /np/v1/agent/work >/dev/null

# watched: the market has looked at its agents since. rack2 is silent; when its owner puts its host up, the next look puts it
# down again, after the one at rack1.
H2=$(as "$T2" POST /np/v1/agent/hosts '{"name":"h2","instance_sku":"richmond"}' | json .id)
h2_down() { [ "$(as "$FOUNDRY" GET "/np/v1/hosts/$H2" | json .state)" = down ]; }
h2_down_heard() { heard; h2_down; }
watched() { # HOW: h2_down, or h2_down_heard for rack1 to be heard meanwhile
	wait_for 15 $1 || { fail "(rack2 is silent)"; return; }
	as "$FOUNDRY" PATCH "/np/v1/hosts/$H2" '{"down":false}' | json .state >"$TMP/.put-up"
	[ "$(cat "$TMP/.put-up")" != down ] || fail "(its host is put up)"
	wait_for 15 $1 || fail "(and down again)"
}

# ---- Silence and its price -----------------------------------------------------------------------------
state_is() { [ "$(as "$FOUNDRY" GET "/np/v1/hosts/$H1" | json .state)" = "$1" ]; }
available() { as "$ACME" GET /np/v1/balance | json .available_micros; }
heard() { as "$S2" GET /np/v1/agent/work >/dev/null; }
down_heard() { heard; state_is down; }
up_heard() { heard; state_is up; }
wait_for 5 up_heard
had=$(available)
v2_clock $((NOW + 600)); heard
v2_clock $((NOW + 1200))
ok "an agent that is not heard of is down" wait_for 12 state_is down
is "$(as "$ACME" GET /np/v1/nodes/vm1 | json '[.host_down, .status_message[0:16]] | join(" ")')" "true its host is down" "its buyer is told"
is "$(as "$FOUNDRY" GET /np/v1/agents/rack1 | json .state)" silent "and called so"
ok "heard again it is up" wait_for 5 up_heard
is "$(($(available) - had))" $((12 * 1000000 * 10 / 60)) "the buyer has his money back from when it was heard last"

states() { as "$FOUNDRY" GET '/np/v1/events?limit=1000' | jq -r --arg h "$H1" 'select(.type == "host.state" and .host == $h) | .state' | tr '\n' ' '; }
marketd_stop
marketd_start --test-clock --rate 0 --agent-silent 15
as "$FOUNDRY" PATCH "/np/v1/hosts/$H2" '{"down":false}' >/dev/null
ok "(one is silent, the other is not)" wait_for 60 h2_down_heard
had=$(states)
isnt "$had" "" "(its states are events)"
heard
kill -STOP $MARKETD_PID
sleep 17 # longer than an agent may be silent
kill -CONT $MARKETD_PID
watched h2_down # before S2 is heard again
is "$(states)" "$had" "a market that stood still itself holds nobody's silence against him"

# ---- Failure -------------------------------------------------------------------------------------------
as "$S2" POST "/np/v1/instances/$INST/report" '{"status":"failed","message":"no disk"}' >/dev/null
is "$(http_status)" 204 "a node fails"
is "$(as "$ACME" GET '/np/v1/nodes?state=all' | json '.data[0] | [.status, .status_message] | join(" ")')" "failed no disk" "its buyer sees why"
is "$(as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 10 1)" | json .next)" 11 "what a node said last is taken after its end"
as "$T2" POST "/np/v1/instances/$INST/console" "$(lines 11 1)" >/dev/null
is "$(http_status)" 404 "not from another machine"
ok "its host is down, so it costs nothing" wait_for 10 down_heard
out=$(as "$ACME" POST /v2/instances "{\"name\":\"vm2\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}")
INST2=$(json .id <<<"$out")
is "$(as "$S2" GET /np/v1/agent/work | json '.nodes[0].id')" "$INST2" "another one is asked for there"
as "$S2" POST "/np/v1/instances/$INST2/report" "$REPORT" >/dev/null
ok "and when it runs the host is up" wait_for 10 up_heard

# ---- A node that does not come -------------------------------------------------------------------------
as "$ACME" POST "/v2/instances/$INST2/terminate" >/dev/null
as "$ACME" POST /v2/instances "{\"name\":\"vm3\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" >"$TMP/.made"
INST3=$(json .id <"$TMP/.made")
v2_clock $((NOW + 1200 + 120)); heard
watched h2_down_heard
ok "two minutes are not too long" up_heard
v2_clock $((NOW + 1200 + 240)); heard
ok "four are" wait_for 10 down_heard
as "$S2" POST "/np/v1/instances/$INST3/report" "$REPORT" >/dev/null
ok "when it comes the host is up" wait_for 10 up_heard
had=$(states)
as "$S2" POST "/np/v1/instances/$INST3/report" '{"status":"failed","fault":"node","message":"it stops again and again"}' >/dev/null
is "$(http_status)" 204 "its buyer breaks it from within"
heard; watched h2_down_heard
is "$(states)" "$had" "for that the host is not down, and he pays on"
as "$FOUNDRY" PATCH "/np/v1/hosts/$H1" '{"down":true}' >/dev/null
heard; watched h2_down_heard
ok "what its owner puts down stays down" down_heard
as "$FOUNDRY" PATCH "/np/v1/hosts/$H1" '{"down":false}' >/dev/null

# ---- Leaving -------------------------------------------------------------------------------------------
out=$(as "$S2" DELETE /np/v1/agent)
refused 409 has_dependents "" "while something sold runs no machine leaves" "$out"
as "$FOUNDRY" DELETE "/np/v1/agents/$AGT" >/dev/null
is "$(http_status)" 409 "nor is it sent away"
v2_clock $((NOW + 60 + 2 * HOUR)); heard
is "$(as "$S2" GET /np/v1/agent/work | json '.nodes | length')" 0 "when the time is over nothing is to be there"
as "$S2" POST "/np/v1/instances/$INST/console" "$(lines 11 1)" >/dev/null
is "$(http_status)" 404 "nor an hour later"
as "$S2" DELETE /np/v1/agent >/dev/null
is "$(http_status)" 204 "then it leaves"
is "$(as "$FOUNDRY" GET "/np/v1/hosts/$H1" | json .state) $(as "$FOUNDRY" GET "/np/v1/agents/$AGT" | json .state)" "retired left" "its hosts are retired"
as "$S2" GET /np/v1/agent/work >/dev/null
is "$(http_status)" 401 "its session is over"
session "$AGT" one 9 m1 >/dev/null
is "$(http_status)" 401 "and no other one begins"
is "$(join "$(join_token)" rack1 one m1 | json .state)" joined "but it may join anew, by the same name and key"
as "$FOUNDRY" DELETE /np/v1/agents/rack2 >/dev/null
is "$(http_status)" 204 "its owner sends one away"
types=$(as "$FOUNDRY" GET '/np/v1/events' | jq -r 'select(.type == "agent.state") | .state' | sort | uniq -c | tr -s ' \n' ' ')
is "$types" " 5 came 3 joined 2 left " "and the stream of events had all of it"
# ---- A week later --------------------------------------------------------------------------------------
is "$(seqs '' | wc -w)" 10 "the console of what ended is still there"
v2_clock $((NOW + 7 * 86400))
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1.00"}' >/dev/null
is "$(seqs '' | wc -w)" 10 "for a week"
v2_clock $((NOW + 8 * 86400))
operator POST /np/v1/accounts/acme/credits '{"amount_dollars":"1.00"}' >/dev/null
is "$(seqs '' | wc -w)" 0 "and then gone"
marketd_stop
ok "all is well with the market's files" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
