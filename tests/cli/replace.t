#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod replace: a new node in the time already paid, once, whatever happens to the connection.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
trade_between
replace() { "$NANOPOD" replace "$@"; }
all() { market GET '/np/v1/nodes?state=all' | jq '.data | length'; }
OLD=$(node_id train-1)
BEFORE=$(balance_now)

run_is 2 "without a terminal and without -y" replace train-1
like "$err" "'-y' answers yes" "and it is told how"
run_is 0 "--dry-run" replace train-1 --dry-run
like "$err" "everything on its disk is lost" "shows the plan"
is "$(node_id train-1)" "$OLD" "and does nothing"
run_is 3 "a node that is none" replace nothing -y
run_is 0 "replace" replace train-1 -y -o json
NEW=$(node_id train-1)
isnt "$NEW" "$OLD" "another node has its name"
is "$(printf '%s' "$out" | jq -c '.[0] | [.node, .id, .replaced, .reservation, .replayed]')" "[\"train-1\",\"$NEW\",\"$OLD\",\"train\",false]" "and it is told"
like "$err" "everything on its disk is lost" "the plan is printed with -y too"
is "$(market GET "/v2/instances/$OLD" | jq -r .status)" terminated "the old one is ended"
is "$(balance_now)" "$BEFORE" "it costs nothing"
data() { market GET "/v2/instances?id=$1&include=cloud_init_user_data" | jq -r '.data[0] | [.image.id, .cloud_init_user_data] | join(" ")'; }
is "$(data "$NEW")" "$(data "$OLD")" "image and keys are the old one's"

# ---- Waiting ----
run_is 9 "--wait" replace train-1 -y --wait=1s
like "$err" "timed out while waiting.*it continues to start" "ends after its time"
is "$out" train-1 "and the name is printed all the same"
{ sleep 1; node_runs train-1 2; } &
run_is 0 "--wait until it runs" replace train-0 -y --wait=1s --dry-run
run_is 0 "(it does)" "$NANOPOD" ssh $WHERE --wait=100s train-1 -- true
wait $! 2>/dev/null

# ---- A connection that is lost after the request ----
COUNT=$(all) OLD=$(node_id train-1)
rule 'cut-after POST /v2/instances'
run replace train-1 -y
isnt "$status" 0 "an answer that is lost"
like "$err" "run the same command again" "says what to do"
rules_off
is "$(intents)" 1 "it is on disk"
is "$(all)" $((COUNT + 1)) "(it was done)"
NEW=$(node_id train-1)
isnt "$NEW" "$OLD" "(the new one has the name)"
run_is 0 "the same command" replace train-1 -y -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.id, .replaced, .replayed]')" "[\"$NEW\",\"$OLD\",true]" "and tells what was done"
is "$(all) $(intents)" "$((COUNT + 1)) 0" "nothing is replaced twice"
run_is 0 "typed again after that" replace train-1 -y
is "$(all)" $((COUNT + 2)) "it is another replacement"
done_testing
