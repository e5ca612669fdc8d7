#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `nanopod autoscale` on real nodes with the real Slurm: an empty cluster, 20 jobs, nodes bought for them, all jobs done,
# nodes given back; the loop is killed in between and goes on; a person's session keeps and extends a node; what is too dear
# is told once; orders, nodes and the ledger fit together. Needs what tests/lib/cluster.sh needs.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
. "$SRC/tests/lib/scaling.sh"
cluster_repo slurm
cluster_nodes 1
MAX=3
scaling

file() {
	cat >"$TMP/train.yaml" <<-END
		cluster: train
		nodes: train-1
		stacks: {waits: {late: no}, slurm: {accounting: no}}
		autoscale: {type: cpu, max: $MAX, max-price: $1, budget: 40, idle: 6s, ahead: 20m, node: CPUs=1 RealMemory=400}
	END
}
state() { in_node train-1 "$1"; }

# A stack that stands in its step until it may go on, where the file says so: a join that takes as long as the test wants.
NANOPOD_STACKS=$TMP/stacks:$SRC/stacks
export NANOPOD_STACKS
mkdir -p "$TMP/stacks/waits"
cat >"$TMP/stacks/waits/stack.yaml" <<-'END'
	stack: waits
	about: waits
	settings:
	  late: {type: flag, default: no, help: whether it waits}
	steps:
	  - {name: stand, help: wait}
END
cat >"$TMP/stacks/waits/stand.sh" <<-'END'
	check() { [ -e /run/stood ] || np_differs "it has not stood"; }
	apply() {
		: >/run/stands
		until [ "$S_late" = no ] || [ -e /run/go ]; do sleep 0.2; done
		: >/run/stood; np_did "stood"
	}
	verify() { np_ok "it went on"; }
END

end_of() { node "$1" .end_at; }
says_more() { [ "$(sayings 'bought a node')" -gt "$SAID" ]; }
more_done() { state 'scontrol -o show job' | grep JobName=more | grep -q JobState=COMPLETED; }
done_jobs() { state 'scontrol -o show job' | grep -c JobState=COMPLETED; }
all_done() { [ "$(done_jobs)" -ge "$1" ]; }
show() { diag "$(cat "$LOG")" "$(state 'sinfo -N -l; squeue' 2>&1)"; }

# ---- An empty cluster ------------------------------------------------------------------------------------
file 2
XDG_STATE_HOME=${XDG_STATE_HOME:-$HOME/.local/state}
run_is 0 "Slurm without a worker" "$NANOPOD" provision "$TMP/train.yaml" -y --airgap "$CLUSTER_REPO" "${CLUSTER_WAY[@]}" ||
	{ diag "$out" "$err"; done_testing; }
is "$(state 'sinfo -h -N -t idle,mixed,allocated' | wc -l)" 0 "it has no nodes that work"
run scale --dry-run
like "$err" "would tell Slurm of 3 CPUs=1 RealMemory=400" "a dry run says what it would do" || diag "$out" "$err"
loop
wait_for 60 says "Slurm knows of up to 3 nodes" || { show; fail "(Slurm knows what can be bought)"; done_testing; }
run "$NANOPOD" autoscale train --once "${CLUSTER_WAY[@]}"
is "$status" 5 "a second loop does not begin"
state 'sbatch -D /tmp -o /dev/null -c 8 -J large --wrap=true' >/dev/null 2>&1
state 'squeue -h -n large' | grep -q . && { wait_for 30 says "job [0-9]+ asks for more than a node has: 1 CPUs" || show; }
state 'scancel -n large'
is "$(sayings 'asks for more')" "$(state 'sleep 3; scontrol -o show job' | grep -c JobName=large)" "a job that no node could run is told once, if Slurm takes it"

# ---- Twenty jobs -------------------------------------------------------------------------------------------
orders() {
	as "$ACME" GET '/v2/orders?limit=200&side=buy' >"$TMP/.orders"
	jq '.data | length - 1' "$TMP/.orders"
}
BEGAN=$SECONDS
state 'for i in $(seq 20); do sbatch -D /tmp -o /dev/null --mem=50 -J short --wrap="sleep 2"; done' >/dev/null
wait_for 60 says "bought a node " || { show; fail "(a node is bought)"; done_testing; }
market_minute
like "$(grep -m1 "bought a node" "$LOG")" "bought a node for .0\\.50: [0-9]+ jobs? waits? for nodes" "it says what for, and what it costs"
loop_end KILL
loop
wait_for 300 says "joined 'train'" || { show; fail "(a node joins)"; done_testing; }
loop_end KILL
loop
# A person signs in, and trains without a word.
NODE=$(sed -n 's/.*: \(train-auto-[0-9]*\) joined.*/\1/p' "$LOG" | head -n 1)
cluster_reach "$NODE"
ssh -F "$CLUSTER_CONFIG" -o BatchMode=yes "root@$NODE" 'sleep 987' >/dev/null 2>&1 </dev/null & PERSON=$!
wait_for 30 in_node "$NODE" 'pgrep -xf "sleep 987"' >/dev/null
wait_for 300 all_done 20 || { show; fail "(the jobs are done)"; done_testing; }
is "$(done_jobs)" 20 "all jobs are done, though the loop was killed twice"
diag "20 jobs: $((SECONDS - BEGAN)) s"
BOUGHT=$(($(orders) - $(sayings "nanopod: extended")))
ok "it bought one to three nodes, never more" test "$BOUGHT" -ge 1 -a "$BOUGHT" -le $MAX || show

# ---- A join that takes long ----------------------------------------------------------------------------------
# The job needs a node more, which stands in a step; meanwhile the time of the node where the person works ends.
wait_for 200 one_lives || { show; fail "(the others are given back)"; done_testing; }
SAID=$(sayings 'bought a node')
sed -i 's/late: no/late: yes/' "$XDG_STATE_HOME/nanopod/clusters/train/cluster.yaml"
state 'sbatch -D /tmp -o /dev/null --mem=50 -N 3 -J more --wrap="sleep 1"' >/dev/null
# Names come again, so nodes are reached as the market tells now.
newcomer() { "$NANOPOD" nodes -q | grep '^train-auto-' | while read -r name; do life_in "$name" '[ -e /run/stands ] && [ ! -e /run/stood ]' && echo "$name"; done; }
stands() { NEW=$(newcomer); [ -n "$NEW" ]; }
wait_for 60 says_more || { show; fail "(a node more is bought)"; done_testing; }
market_minute
wait_for 300 stands || { show; fail "(it begins to join)"; done_testing; }
NEW=$(newcomer | head -n 1) # two are bought, which may come one after the other
market_jump $(($(end_of "$NODE") - 250))
wait_for 200 says "extended $NODE" || show
like "$(newcomer)" "^$NEW\$" "a node that works is extended while another joins" || show
go_on() { for name in $(newcomer); do life_in "$name" ': >/run/go'; done; more_done; }
wait_for 300 go_on || show
ok "then the job that needed the other is done" more_done
sed -i 's/late: yes/late: no/' "$XDG_STATE_HOME/nanopod/clusters/train/cluster.yaml"
BOUGHT=$((BOUGHT + $(sayings 'bought a node') - SAID))

# ---- Given back ----------------------------------------------------------------------------------------------
like "$(grep -m1 "extended $NODE" "$LOG")" "for .[0-9.]+: its time ends in .*, and root runs process [0-9]+: sleep 987" \
	"the node where a person works is extended, though no job is there, and the reason is told"
idles() { [ "$(state "sinfo -h -n $NODE -o %T | sort -u")" = idle ]; }
wait_for 30 idles
is "$(state "sinfo -h -n $NODE -o %T | sort -u") $(sayings "gave $NODE")" "idle 0" "it stays" || show
kill $PERSON && wait $PERSON 2>/dev/null
in_node "$NODE" 'pkill -x sleep'
going() { state 'sinfo -h -N -t drained -o %N' | grep -q "$NODE" || says "gave $NODE back"; }
wait_for 60 going || show
loop_end KILL
once() { scale --once >>"$LOG" 2>&1; alone; }
wait_for 150 once || show
ok "idle nodes are given back, though the loop was killed while it gave one back and a timer goes on with --once" alone
like "$(cat "$LOG")" "gave train-auto-[0-9]+ back: " "it says why"
is "$(state 'sinfo -h -N -o %N' | grep -c auto)" 0 "Slurm knows them no more"

# ---- Money -------------------------------------------------------------------------------------------------
BOUGHT=$((BOUGHT + $(sayings '^nanopod: extended')))
is "$(orders)" "$BOUGHT" "one order a node and extension, besides the first"
PAID=$(jq '[.data[].np_filled_total_dollars | tonumber * 1000000 | round] | add' "$TMP/.orders")
ledger "$ACME" >"$TMP/.ledger"
BACK=$(jq -s '[.[] | select(.book == "available" and .amount > 0) | .amount] | add - 100000000000' "$TMP/.ledger")
is "$(as "$ACME" GET /np/v1/balance | json .available_micros)" "$((100000000000 - PAID + BACK))" \
	"the ledger has these orders and what was given back, and nothing else" || diag "$(cat "$TMP/.ledger")"
run_is 0 "it is whole" "$NANOPOD" ledger verify

# ---- Too dear ------------------------------------------------------------------------------------------------
loop_end TERM
sed -i 's/max-price: 2/max-price: 1/' "$XDG_STATE_HOME/nanopod/clusters/train/cluster.yaml"
loop
state 'sbatch -D /tmp -o /dev/null --mem=50 -J dear --wrap=true' >/dev/null
wait_for 60 says "cannot buy a node now" || show
sleep 4
is "$(sayings 'cannot buy a node now')" 1 "what is too dear is told once" || show
state 'scancel -n dear'
state 'sbatch -D /tmp -o /dev/null --mem=50 -N 9 -J wide --wrap=true' >/dev/null
wait_for 30 says "job [0-9]+ asks for 9 nodes, and the cluster has at most 3" || show
ok "a job for more nodes than max is told" says "asks for 9 nodes"
is "$(orders)" "$BOUGHT" "and nothing is bought for it"
loop_end TERM

# ---- The budget ------------------------------------------------------------------------------------------------
# What a node costs is not left of it; how often a loop was killed and begun does not count.
state 'scancel -u root'
SPENT=$(jq '[.data[].np_filled_total_dollars | tonumber * 1000000 | round] | (add - last) / 1000000' "$TMP/.orders")
sed -i "s/max-price: 1/max-price: 2/; s/budget: 40/budget: $(jq -n "$SPENT + 0.25 | . * 100 | round / 100")/" "$XDG_STATE_HOME/nanopod/clusters/train/cluster.yaml"
state 'sbatch -D /tmp -o /dev/null --mem=50 -J more --wrap=true' >/dev/null
for kill in KILL KILL TERM; do
	SAID=$(sayings "a node would cost")
	loop
	says_again() { [ "$(sayings "a node would cost")" -gt "$SAID" ]; }
	wait_for 60 says_again || show
	loop_end $kill
done
is "$(grep -cF "a node would cost \$0.50, and \$$(printf %.2f "$SPENT") of the budget of" "$LOG")" 3 "what was spent before loops were killed is of the budget of each" || show
is "$(orders)" "$BOUGHT" "which they do not exceed"

# ---- A market that does not answer -----------------------------------------------------------------------------
SAID=$(sayings "a node would cost")
loop
wait_for 60 says_again || show
kill -STOP "$MARKETD_PID"
sleep 3 # by then it waits for an answer, most likely
kill -TERM "$LOOP"
loop_gone() { ! kill -0 "$LOOP" 2>/dev/null; }
ok "a signal ends it while it waits for the market, too" wait_for 60 loop_gone || show
kill -CONT "$MARKETD_PID"
loop_end KILL
diag "$(cat "$LOG")"
done_testing
