#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A market that dies after each request of each command, before, within and after its answer: nodes are reached by what
# it told last, which is told once; what only a market can do fails with a clear sentence, and is done once when repeated.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
# What is kept ends by the clock of this machine.
NOW=$(($(date +%s) / 60 * 60))
nodes_up 2
need python3
trade_between
cd "$TMP" || exit 99
np() { timeout -k 5 100 "$NANOPOD" "$@"; }
away() { printf '%s\n' "$err" | grep -c 'the market does not answer; using nodes known at .* UTC$'; }
requests() { grep -c . "$BETWEEN_LOG"; }

run_is 0 "(the market is asked)" np nodes -q
KEPT=$(ls "$HOME"/.cache/nanopod/reach-*)
cp "$KEPT" good

# ---- What reaches nodes ----
# One point: the market dies by HOW after N requests. $asked: it was asked for more than that.
point() {
	cp good "$KEPT"
	: >"$BETWEEN_LOG"
	rule "$1=$2 * /"
	shift 2
	run "$@"
	asked=$(requests)
}

# everywhere NAME COMMAND…: by a market that is there, then by one that dies at each point. `result` shows what it did.
everywhere() {
	name=$1; shift
	rules_off
	cp good "$KEPT"
	: >"$BETWEEN_LOG"
	run_is 0 "$name" "$@"
	want=$(result) needs=$(requests)
	ok "$name asks it" [ "$needs" -gt 0 ]
	isnt "$want" "" "$name has a result"
	wrong=
	for how in dead lost half; do
		n=0
		while point $how $n "$@" && [ "$asked" -gt $n ]; do
			[ "$status $(away) $(stat -c %a "$KEPT")" = "0 1 600" ] && [ "$(result)" = "$want" ] || {
				wrong="$wrong $how=$n"
				diag "$how=$n: status $status, told $(away) times, result '$(result)'"; diag "$err"
			}
			n=$((n + 1))
		done
		[ "$n" -eq "$needs" ] || wrong="$wrong $how:$n-points"
	done
	is "$wrong" "" "$name: a market that dies at any of $needs requests hinders nothing, and is told once"
}
result() { printf '%s\n' "$out" | sort; }

everywhere "ssh" np ssh $WHERE train-0 -- echo there
everywhere "run -r" np run $WHERE -r train -- echo there
everywhere "run RESERVATION --" np run $WHERE train -- echo there
everywhere "hosts" np hosts -r train
everywhere "inventory" np inventory train
everywhere "inventory --json" np inventory --json -r train
everywhere "ssh-config" np ssh-config train
echo text >file
everywhere "logs of files" np logs $WHERE -r train "$TMP/file"
result() { cat sent 2>/dev/null; rm -f sent; }
everywhere "cp to a node" np cp $WHERE file "train-1:$TMP/sent"
everywhere "cp from a node" np cp $WHERE "train-1:$TMP/file" sent
result() { cat got/* 2>/dev/null; rm -rf got; }
everywhere "cp from all" np cp $WHERE --reservation train ":$TMP/file" 'got/{host}'

# A tunnel carries a connection, and ends by Ctrl-C.
cat >tunnelled <<'END'
: >tunnel.err
"$NANOPOD" tunnel "$@" >tunnel.out 2>tunnel.err &
pid=$!
left=1200
until grep -q -- '-> ' tunnel.err || [ $left -eq 0 ]; do left=$((left - 1)); sleep 0.05; done
port=$(sed -n 's/.*localhost:\([0-9]*\) -> .*/\1/p' tunnel.err)
python3 -c 'import socket, sys; print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60).recv(4).decode())' "$port"
kill -INT $pid
wait $pid
cat tunnel.err >&2
END
result() { printf '%s\n' "$out"; }
everywhere "tunnel" sh tunnelled $WHERE train-0 "0:$(sshd_address 1):$SSHD_PORT"

# ---- Nothing is kept ----
for how in dead lost half; do
	rule "$how=0 * /"
	for line in "run $WHERE -r train -- touch $TMP/was-there" "hosts -r train" "inventory -r train" "ssh-config -r train" \
		"cp $WHERE --reservation train file :$TMP/was-there" "logs $WHERE -r train $TMP/file"; do
		rm -f "$KEPT"; : >"$BETWEEN_LOG"
		# shellcheck disable=SC2086
		run_is 8 "$how, and nothing is kept: ${line%% *}" np $line
		like "$err" "^nanopod: cannot list your nodes: " "$how: ${line%% *} says what failed"
	done
done
not_ok "and nothing was done" test -e was-there
cp good "$KEPT"

# ---- What only a market can do ----
# The market dies after N requests, in a way that changes with N.
point_any() {
	case $(($1 % 3)) in 0) how=dead ;; 1) how=lost ;; *) how=half ;; esac
	point $how "$@"
}
told() { grep -Eq "^nanopod: cannot .*: the connection to '.*; .*same command again" "$TMP/.err"; }
# The balance is asked last, and a plan is good without it.
unbalanced() { [ "$status" -eq 0 ] && grep -q '^ *total ' "$TMP/.err" && ! grep -q '^ *balance ' "$TMP/.err"; }
state() {
	for path in orders pools instances; do
		market GET "/v2/$path?limit=200" | jq -cS '[.data[] | [.id, .name, .status, .allocation_schedule]]'
	done
	balance_now
}
state >before
for line in ls nodes "show train-0" orders types "price -t h100 -d 1h" "sell train --last 1h -p 9 --dry-run" \
	"release train --dry-run" "extend train -d 1h --dry-run"; do
	n=0 wrong=
	# shellcheck disable=SC2086
	while point_any $n np $line && [ "$asked" -gt $n ]; do
		{ [ "$status" -eq 8 ] && told; } || unbalanced || { wrong="$wrong $n:$status"; diag "$how=$n: $status $err"; }
		n=$((n + 1))
	done
	ok "$line: asks the market" [ $n -gt 0 ]
	is "$wrong" "" "$line: 8 and a sentence at each of $n requests"
done
state >after
ok "and nothing changed" cmp before after

# once NAME COMMAND…: cut off at each point, then repeated: `effect` says how often it was done.
once() {
	name=$1 n=0 wrong=; shift
	while :; do
		prepare
		point_any $n "$@"
		[ "$asked" -gt $n ] || break
		first=$status
		case $first in 8 | 10) told || wrong="$wrong $n:sentence" ;; *) wrong="$wrong $n:$first" ;; esac
		said=$err
		rules_off
		run "$@"
		[ "$status $(effect)" = "0 1" ] ||
			{ wrong="$wrong $n:repeated"; diag "$how=$n: $first $said"; diag "then: $status, $(effect) times: $err"; }
		n=$((n + 1))
	done
	ok "$name: asks the market" [ $n -gt 1 ]
	is "$wrong" "" "$name: 8 or 10 and a sentence at each of $n requests, and the same command does it once"
}
end_of() { market GET /v2/pools | jq --arg n "$1" '.data[] | select(.name == $n).allocation_schedule.total | map(.end_at) | max'; }
prepare() { was=$(end_of train); }
effect() { echo $((($(end_of train) - was) / HOUR)); }
once "extend" np extend train -d 1h -p 3 -y


window=0
prepare() {
	window=$((window + 1)) spare=spare-$window
	rules_off
	np buy -t h100 -d 1h -s +$((window * 2 + 90))h -p 3 -y --no-instances --name $spare >bought 2>&1 || diag "$(cat bought)"
}
effect() { market GET '/np/v1/leases?active=true' | jq --arg n "$spare" '[.data[] | select(.pool.name == $n)] | if length == 0 then 1 else 0 end'; }
release_spare() { np release $spare -y; }
once "release" release_spare

# ---- The market dies while nodes are at work ----
WHERE="$WHERE --connect-timeout 1m"
rules_off
cp good "$KEPT"
# begin NAME COMMAND…: in the background; `ends NAME` waits for its status.
begin() { name=$1; shift; "$NANOPOD" "$@" >"$name.out" 2>"$name.err" & eval "pid_$name=\$!"; at_exit "kill $! 2>/dev/null"; }
ends() { eval "wait \$pid_$1"; }
work="touch $TMP/\$NANOPOD_HOST.began; until [ -e $TMP/go ]; do sleep 0.05; done; echo done"
begin run run $WHERE -r train -- "$work"
begin ssh ssh $WHERE train-0 -- "touch $TMP/ssh.began; until [ -e $TMP/go ]; do sleep 0.05; done; echo done; exit 7"
echo one >followed
begin logs logs -f $WHERE train-0 "$TMP/followed"
begin tunnel tunnel $WHERE train-0 "0:$(sshd_address 1):$SSHD_PORT"
head -c 100000000 /dev/zero >large
begin copy cp $WHERE large "train-1:$TMP/copied"
# shellcheck disable=SC2154
ok "(a copy is on its way)" wait_for 60 sh -c 'ls .copied.* || ls copied'
kill -STOP $pid_copy 2>/dev/null
for file in train-0.began train-1.began ssh.began; do
	ok "($file)" wait_for 60 test -e $file
done
ok "(logs follow)" wait_for 60 grep -q one logs.out
ok "(a tunnel listens)" wait_for 60 grep -q -- '-> ' tunnel.err
marketd_kill
kill $BETWEEN_PID
kill -CONT $pid_copy 2>/dev/null
touch go
ends run
is "$? $(sort run.out | tr '\n' ' ')$(cat run.err)" "0 train-0: done train-1: done " "run: its commands end as they would"
ends ssh
is "$? $(cat ssh.out ssh.err)" "7 done" "ssh: too"
ends copy
is "$? $(sed 's/ in .*//' copy.err)" "0 nanopod: copied 95.3 MiB" "cp: it ends"
ok "with the whole file" cmp large copied
echo two >>followed
ok "logs -f: what is written later comes" wait_for 60 grep -q two logs.out
port=$(sed -n 's/.*localhost:\([0-9]*\) -> .*/\1/p' tunnel.err)
is "$(python3 -c 'import socket, sys; print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60).recv(4).decode())' "$port")" "SSH-" \
	"tunnel: a new connection gets through"
for name in logs tunnel; do
	eval "kill -INT \$pid_$name"
	ends $name
	is "$(grep -c 'market' $name.err)" 0 "$name: nothing is told of the market"
done
done_testing
