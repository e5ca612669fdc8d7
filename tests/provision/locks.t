#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing of nanopod outlives its connection on real nodes: neither a step nor a lock, after its link was cut, its sshd was
# ended, its machine restarted, or nanopod was stopped or killed; and the next command runs. Needs root, an image and
# packages (tests/lib/cluster.sh says where from).
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
need ss
"$NANOPOD" provision --help >/dev/null 2>&1 || skip_all "this nanopod has no 'provision'"
cluster_nodes 2
cd "$TMP" || exit 99
NANOPOD_STACKS=$TMP/stacks
export NANOPOD_STACKS
mkdir "$NANOPOD_STACKS"
ln -s "$SRC"/stacks/* "$SRC"/tests/provision/stacks/* "$NANOPOD_STACKS"

provision() { timeout -k 5 200 "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}"; }
# apply_begin: a rollout that on train-2 stands in its last step for a day, the first time. It is this shell's child $pid.
apply_begin() {
	in_node train-2 'rm -f /var/tmp/tiny.waits'
	"$NANOPOD" provision -r train tiny --name locks --set tiny.restart=train-2 -y "${CLUSTER_WAY[@]}" </dev/null >out 2>&1 &
	pid=$!
	wait_for 90 in_node train-2 'test -e /var/tmp/tiny.waits' && return
	fail "(the step begins)"
	diag "$(cat out)"
}
gone() { ! kill -0 "$pid" 2>/dev/null; }
# apply_ends STATUS TEXT: it ends soon, by itself.
apply_ends() {
	wait_for 60 gone || { fail "$2"; diag "it goes on: $(cat out)"; kill -KILL "$pid"; wait "$pid" 2>/dev/null; return; }
	wait "$pid"
	is $? "$1" "$2" || diag "$(cat out)"
}
ours() { in_node "$1" 'pgrep -af "[s]h -s|[f]lock |[s]leep 8639|[n]anopod-(watch|lock)"'; }
alone() { in_node "$1" true && [ -z "$(ours "$1")" ]; }
both_alone() { alone train-1 && alone train-2; }
remove_is_done() {
	FROM=$(date +%s)
	run_is 0 "the next command runs" provision remove locks -y
	diag "it took $(($(date +%s) - FROM)) s"
	ok "and leaves nothing" wait_for 20 both_alone || diag "$(ours train-1; ours train-2)"
	rm -rf "$HOME/.local/state/nanopod/clusters"
}
other() { XDG_STATE_HOME=$TMP/other "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}" </dev/null; }

# ---- Two at once, and a log without a silent minute ----
# The first contact's shell gets a number of four digits, its last step one of five, which comes first as text.
in_node train-2 'while : & [ $! -lt 9900 ]; do wait $!; done'
apply_begin
digits=$(in_node train-2 'pgrep -f "[s]h -s"' | awk '{ print length($1) }' | sort -u | tr '\n' ' ')
[ "$digits" = "4 5 " ] || diag "(numbers of $digits digits)"
isnt "$(ours train-2)" "" "a step that takes its time (it is seen)"
run other -r train tiny --name locks -y
is "$status" 5 "another nanopod is refused" || diag "$out" "$err"
like "$err" "is being provisioned by .*nanopod $pid. since " "and told for whom"
long() { grep -q 'waiting for train-2 (tiny/last, [3-5][0-9] s)' out; }
ok "a log says after half a minute what is waited for" wait_for 60 long || diag "$(cat out)"

# ---- Stopped, and killed ----
kill -TERM "$pid"
apply_ends 143 "SIGTERM ends it, steps and all"
ok "nothing of it stays" wait_for 20 both_alone || diag "$(ours train-2)"
remove_is_done
apply_begin
kill -KILL "$pid"
wait "$pid" 2>/dev/null
ok "killed: nothing of it stays" wait_for 20 both_alone || diag "$(ours train-2)"
remove_is_done

# ---- Its sshd is ended ----
apply_begin
in_node train-2 'kill -KILL $(pgrep -f "sshd: root@notty" | grep -vx "$(ps -o ppid= $$ | tr -d " ")")'
apply_ends 0 "its sshd is killed: it connects again and goes on"
like "$(cat out)" 'train-2.*waiting up to 3 minutes' "which it says"
ok "nothing of the first try stays" wait_for 20 both_alone || diag "$(ours train-2)"
remove_is_done

# ---- The machine restarts ----
apply_begin
ok "(the node restarts)" node_restart train-2
apply_ends 0 "a node that restarts: it goes on"
ok "nothing of the first try stays" wait_for 20 both_alone || diag "$(ours train-2)"
remove_is_done

# ---- The link is cut, and neither end hears of it ----
# What passes bytes to the node stands still: bytes are lost, and no end of a connection is told.
link() {
	door=$(ss -Hltnp "sport = :$port" | sed -n 's/.*("systemd-socket[^,]*,pid=\([0-9]*\),.*/\1/p')
	case $1 in down) kill -STOP "$door" ;; up) kill -CONT "$door" ;; esac
}
at_exit '[ -z "${door-}" ] || kill -CONT "$door" 2>/dev/null'
port=$(node train-2 .ssh.port)
init=$(node_init train-2)
apply_begin
ok "(its link is found)" link down
lost() { grep -q 'train-2.*waiting up to 3 minutes' out; }
ok "the link is cut: that is said" wait_for 60 lost || diag "$(cat out)"
link up
apply_ends 0 "it comes back: it goes on"
ok "nothing of the first try stays" wait_for 20 both_alone || diag "$(ours train-2)"
remove_is_done
apply_begin
link down
ok "the link is cut again" wait_for 60 lost || diag "$(cat out)"
kill -TERM "$pid"
apply_ends 143 "SIGTERM ends the wait"
quiet() { [ -z "$(nsenter -t "$init" -m -p pgrep -f '[s]leep 8639|[n]anopod-(watch|lock)')" ]; }
not_ok "(the node has not heard of it)" quiet
ok "the node ends what hears nothing for five minutes" wait_for 480 quiet
link up
wait_for 60 in_node train-2 true
remove_is_done
done_testing
