#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod buy --stack: nodes of a real market, whose host reports the sshd of provisionengine.t's "nodes", become a cluster by
# one command; cut off anywhere, the same command continues and buys nothing twice.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
cd "$TMP" || exit 99
NANOPOD_STACKS=$TMP/stacks XDG_STATE_HOME=$TMP/kept
export NANOPOD_STACKS XDG_STATE_HOME
cp -r "$SRC/tests/fixtures/engine" stacks && chmod -R u+w stacks && mkdir -p stacks/common || exit 99
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|NP_RUN=/run|NP_RUN=$NANOPOD_RUN|' "$SRC/stacks/common/lib.sh" >stacks/common/lib.sh
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|"$1" ] .. return 0|"$1" ] \|\| return 0|' "$SRC/stacks/common/facts.sh" >stacks/common/facts.sh
mkdir stacks/pair && printf 'check() { :; }\n' >stacks/pair/one.sh
printf 'stack: pair\nabout: two\nroles:\n  both: {min: 2, default: all, help: both}\nsteps:\n  - {name: one}\n' >stacks/pair/stack.yaml
trade_start 4
# Its steps wait here while there is a file `hold`.
# shellcheck disable=SC2016
sed -i "s|^\\ti=0|&; while [ -e $TMP/hold ]; do sleep 0.1; done|" stacks/toy/slow.sh
for x in a b; do
	mkdir -p "$x/state" "$x/run"
	SSHD_EXTRA="SetEnv SHLVL=3 NANOPOD_STATE=$TMP/$x/state NANOPOD_RUN=$TMP/$x/run NANOPOD_UPLOADS=$TMP/$x/uploads"
	sshd_up 1 "$x" || { fail "sshd is up"; done_testing; }
	NODE_KEY=$(cut -d' ' -f2 "$SSHD_DIR/host.pub")
	eval "${x}_net=\$SSHD_NET ${x}_port=\$SSHD_PORT ${x}_key=\$NODE_KEY"
	[ "$x" = b ] || KEY=$SSHD_KEY
	cat "$KEY.pub" >>"$SSHD_DIR/authorized_keys"
done
NANOPOD_SSH_CONFIG=none NANOPOD_KNOWN_HOSTS=none NANOPOD_HOST_KEY=strict NANOPOD_AGENT=none
export NANOPOD_SSH_CONFIG NANOPOD_KNOWN_HOSTS NANOPOD_HOST_KEY NANOPOD_AGENT
skip=''
for gate in name machine-id address root dpkg system disk route mtu names clock memory; do skip="$skip --skip-gate $gate"; done
# shellcheck disable=SC2086
buy() { timeout -k 5 120 "$NANOPOD" buy --stack toy -t h100 -p 1.80 -d 4h --ssh-key "$KEY.pub" $skip "$@" </dev/null; }
# In the background, as this shell's own child: $pid.
# shellcheck disable=SC2086
buy_begin() {
	rm -f out err # what the last one said is not waited for
	"$NANOPOD" buy --stack toy -t h100 -p 1.80 -d 4h --ssh-key "$KEY.pub" $skip "$@" </dev/null >out 2>err & pid=$!
}
# The shell's child ignores Ctrl-C until it is the program and hears it.
hears() {
	case $(readlink /proc/$pid/exe) in */nanopod) ;; *) return 1 ;; esac
	[ $((0x$(sed -n 's/^SigCgt:[^0-9a-f]*//p' /proc/$pid/status) & 2)) -ne 0 ]
}
buy_end() { status=0; wait $pid || status=$?; out=$(cat out) err=$(cat err); }
state() { ls "$TMP/$1/state" | grep -v '^np$' | tr '\n' ' '; }
forget() { rm -rf a/state/* b/state/*; }
applying() { [ -e b/state/applying ]; }
has_nodes() { [ "$(instances_of "$1")" -ge "$2" ]; }
tick=$NOW
# Its nodes run: NAME-0 at a, NAME-1 at b.
runs() {
	eval "SSHD_NET=\$${2}_net SSHD_PORT=\$${2}_port NODE_KEY=\$${2}_key"
	node_runs "$1" 1
}
come_up() {
	wait_for 30 has_nodes "$1" 2 || diag "$(cat out err)"
	tick=$((tick + 60))
	clock $tick
	runs "$1-0" a
	runs "$1-1" b
}

# ---- What is refused before anything is bought ----
run_is 2 "no such stack" buy --stack tip -y
like "$err" "no stack 'tip'; did you mean 'top'" "is said"
run_is 2 "a setting that no stack has" buy -n 2 --set toy.wrod=x -y
like "$err" "'toy' has no setting 'wrod'; did you mean 'word'" "and the nearest one"
run_is 2 "fewer nodes than a role needs" buy --stack pair -n 1 -y
like "$err" "'both' of 'pair' .*2" "which it names"
run_is 2 "into a reservation" buy -n 2 --into x -y
like "$err" "nanopod provision add" "what to type"
run_is 2 "without waiting" buy -n 2 --no-wait -y
run_is 2 "an unknown gate" buy -n 2 --skip-gate nmae -y
run_is 2 "a setting without a stack" "$NANOPOD" buy -t h100 -d 1h -p 1.80 --set toy.word=x -y
like "$err" "cannot use '--set' without '--stack'" "why"
is "$(orders_count)" 0 "nothing was bought"
run_is 0 "a dry run" buy -n 2 --name toys --set toy.word=x --dry-run
like "$err" "toy +a step of each kind" "the plan says what would be installed"
like "$err" "head: toys-0; work: toys-1" "where"
like "$err" "settings +toy.word=x" "and how"
like "$err" "total +\\\$115.20" "beside the price"
run_is 0 "roles as they are typed" buy -n 3 --name toys --role head=toys-2 --dry-run
like "$err" "head: toys-2; work: toys-\[0-1\]" "are those of the plan"
run_is 2 "a role of a node that is not bought" buy -n 2 --name toys --role head=toys-2 --dry-run
like "$err" "'toys-2'" "is refused"
run buy -n 2 --dry-run
like "$err" "head: 1 node; work: 1 node" "without a name it has numbers"
printf 'expect Buy and install it\nsend no\\r\n' >no
# shellcheck disable=SC2086
"$PTY" no "$NANOPOD" buy --stack toy -t h100 -n 2 -p 1.80 -d 4h --ssh-key "$KEY.pub" $skip >out 2>&1
like "$(cat out)" "nothing was changed" "one question"
is "$(orders_count)" 0 "no is no"

# ---- From nothing ----
buy_begin -n 2 --name toys --set toy.more=yes --set toy.word=x -y -o json
come_up toys
buy_end
is "$status" 0 "one command" || diag "$out$err"
is "$(jq -c '.[] | [.reservation, .nodes, .node_names]' <<<"$out")" '["toys",2,["toys-0","toys-1"]]' "prints the purchase"
is "$(state a)$(cat b/state/more.was)" "applied key last more.was slow x" "its nodes are a cluster"
is "$(intents)" 0 "nothing is left to continue"
run_is 0 "again, with --ensure" buy -n 2 --name toys --set toy.more=yes --set toy.word=x -y --ensure
like "$err" "you have 'toys' already" "buys nothing"
like "$err" "nothing to do" "and changes nothing"
like "$err" "next: 'nanopod extend toys -d 12h'.*'nanopod release toys' ends it" "what to type next"
rm b/state/slow
run_is 0 "where a node differs" buy -n 2 --name toys --set toy.more=yes --set toy.word=x -y --ensure
is "$(state b)" "applied key more.was slow " "it mends it"
is "$(orders_count)" 1 "one order in all"

# ---- What a release says ----
run_is 0 "a release, looked at" "$NANOPOD" release toys --dry-run
like "$err" "cluster +'toys' ends with its nodes" "tells of the cluster"
run_is 0 "of one node" "$NANOPOD" release toys -n 1 --dry-run
like "$err" "'toys' loses 1 of its 2 nodes; 'nanopod provision drop toys -w NODES'" "what it loses"
run_is 0 "released" "$NANOPOD" release toys -y
tick=$((tick + 120))
clock $tick
run_is 5 "a cluster whose reservation has ended" "$NANOPOD" provision status toys
like "$err" "'toys' has ended with its reservation; 'nanopod provision remove toys' forgets it" "is told"
run_is 2 "remove asks" "$NANOPOD" provision remove toys
run_is 0 "remove" "$NANOPOD" provision remove -y toys
is "$("$NANOPOD" provision list -q)" "" "forgets it"

# ---- Cut off ----
forget
run buy -n 2 --name tops -y --wait=1s
is "$status" 9 "nodes that do not come up" || diag "$out$err"
like "$err" "you have 'tops', and its cluster is not finished; the same command continues: 'nanopod buy --stack" "what was bought"
run "$NANOPOD" orders
like "$err" "is not finished: 'nanopod buy --stack" "orders tells, too"
bought=$(orders_count)
: >hold
buy_begin -n 2 --name tops -y
come_up tops
wait_for 60 applying || diag "$(cat out err)"
kill -KILL $pid
wait $pid 2>/dev/null
rm -f b/state/applying
buy_begin -n 2 --name tops -y
wait_for 60 hears
kill -INT $pid
buy_end
is "$status" 130 "kill -9, and Ctrl-C at once" || diag "$err"
buy_begin -n 2 --name tops -y
wait_for 60 grep -q "continues the unfinished purchase" err
wait_for 60 applying
kill -INT $pid
wait_for 60 grep -q stopping err || diag "$(cat err)"
rm hold
buy_end
is "$status" 130 "Ctrl-C in a step"
like "$err" "the same command continues" "says what to type"
rm -f b/state/slow
sed -i 's|np_did "was slow"|np_fail "it broke"; return 1|' stacks/toy/slow.sh
run_is 10 "a step that fails" buy -n 2 --name tops -y
like "$err" "it broke" "its cause"
like "$err" "the same command continues" "and again"
sed -i 's|np_fail "it broke"; return 1|np_did "was slow"|' stacks/toy/slow.sh
run_is 0 "the same command at last" buy -n 2 --name tops -y
like "$err" "replayed" "continues"
is "$(state a)$(state b)" "applied key last slow applied key slow " "to the end" || diag "$err"
is "$(orders_count) $(intents)" "$bought 0" "and bought nothing twice"
run_is 0 "released" "$NANOPOD" release tops -y

# ---- The market is away while nodes start ----
forget
trade_between
buy_begin -n 2 --name away -y --wait=3s
wait_for 30 has_nodes away 2
rule 'cut-before * /'
buy_end
isnt "$status" 0 "a market that is away" || diag "$err"
like "$err" "the same command continues" "says what to type"
rules_off
# ---- What was released is not continued ----
run_is 0 "released unfinished" "$NANOPOD" release away -y
run buy -n 2 --name away -y --wait=1s
like "$err" "starts over: 'away' has ended, and its cluster with it" "is over"
done_testing
