#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An agent and a work document that is wrong: what is wrong about one node fails that node alone and takes no host down; a
# document that cannot be read changes nothing, and the agent asks for it less and less often. Uses the fake driver.
. "$(dirname "$0")/../lib/tap.sh"
TEST_AGENTD=$BUILD/tests/lib/agentfake
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
BETWEEN=$BUILD/tests/lib/between

agentd_market
: >"$TMP/rules"; : >"$TMP/between.log"; : >"$TMP/port"
"$BETWEEN" "$TMP/port" "${NANOPOD_URL##*:}" "$TMP/rules" "$TMP/between.log" &
BETWEEN_PID=$!
at_exit "kill $BETWEEN_PID 2>/dev/null"
wait_for 10 test -s "$TMP/port"
rule() { printf '%s\n' "$1" >"$TMP/rules.new" && mv "$TMP/rules.new" "$TMP/rules"; }
said() { grep -q -e "$2" "$TMP/$1.log"; }
gone() { [ ! -e "$TMP/$1/nodes/$2" ] && [ ! -e "$TMP/$1/fake/$2" ]; }

AGENTD_URL=http://127.0.0.1:$(cat "$TMP/port")
agentd_join m1 5
agentd_start m1 --driver fake --grace 1 --first-port $PORTS

# ---- One entry --------------------------------------------------------------------------------------------------
agentd_buy good 1 7200
ok "a node runs" wait_for 20 node_is good-1 running || diag "$(cat "$TMP/m1.log")"
I=$(node good-1 .id)
most=$(sort -n /proc/sys/kernel/pid_max /proc/sys/kernel/threads-max | head -n 1)
ok "nodes on all hosts together cannot take all processes of the machine" \
	test "$(($(json .pids <"$TMP/m1/nodes/$I/node.json") * 5))" -lt "$most"

rule 'swap=TUFSS0VE,TUFSS0V- GET /np/v1/agent/work'
USER_DATA=$(printf 'MARKED' | base64 -w0) agentd_buy bad 1 3600
ok "a node whose user data cannot be read fails" wait_for 20 node_is bad-1 failed || diag "$(cat "$TMP/m1.log")"
is "$(node bad-1 .status_message)" "what its buyer gave for it is invalid: 'user_data'" "and its buyer reads why"
is "$(as "$FOUNDRY" GET /np/v1/hosts | jq "[.data[] | select(.state == \"up\")] | length")" 5 "no host goes down for it: its buyer wrote that"
agentd_buy more 1 600
ok "another node is made meanwhile" wait_for 20 node_is more-1 running
as "$ACME" POST "/v2/instances/$I/terminate" >/dev/null
ok "and one that its buyer ends is wiped" wait_for 20 gone m1 "$I"

# What runs already stays as it is.
I=$(node more-1 .id)
as "$ACME" PUT "/np/v1/instances/$I/user-data" "{\"user_data\":\"$(printf 'MARKED' | base64 -w0)\"}" >/dev/null
ok "a node that runs keeps what it has" wait_for 20 said m1 "$I: .*'user_data'; it stays as it is"
agentd_buy beside 1 600
ok "(more documents come)" wait_for 20 node_is beside-1 running
is "$(grep -c "$I: .*it stays as it is" "$TMP/m1.log")" 1 "which the log says once"
ok "and goes on" node_is more-1 running

# ---- All of it --------------------------------------------------------------------------------------------------
began=$EPOCHSECONDS
rule 'swap="nodes":,"nodds": GET /np/v1/agent/work'
agentd_buy last 1 600
ok "a document that cannot be read is refused" wait_for 20 said m1 "document is invalid: 'nodes'; nothing changes"
# Before the sixth time it has paused for at least 1/4 + 1/2 + 1 + 2 + 4 s.
count_is() { [ "$(grep -c "document is invalid" "$TMP/m1.log")" -ge "$1" ]; }
ok "and asked for again" wait_for 60 count_is 6
ok "after a longer pause each time" test $((EPOCHSECONDS - began)) -ge 6 || diag "$((EPOCHSECONDS - began)) s"
ok "while what runs goes on" node_is more-1 running
rule ''
ok "when it can be read again, all of it is done" wait_for 90 node_is last-1 running
done_testing
