#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What one means: a reservation's name for its nodes, a slip for the nearest name, and those nodes that run now.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
buy() { "$NANOPOD" buy -t h100 -n 1 -d 2h -p 3 --ssh-key "$SSHD_KEY.pub" -y "$@" >"$TMP/.bought" 2>&1 || diag "$(cat "$TMP/.bought")"; }
buy --name one
buy --name late
clock $((NOW + 121))
node_runs one-0 1
"$NANOPOD" nodes -q >"$TMP/nodes"
is "$(tr '\n' ' ' <"$TMP/nodes")" "late-0 one-0 train-0 train-1 " "(three nodes run, one is pending)"

# ---- A reservation's name ----
run_is 0 "ssh to a reservation of one node" "$NANOPOD" ssh $WHERE one -- echo there
is "$out" there "reaches it"
run_is 2 "of two nodes" "$NANOPOD" ssh $WHERE train -- echo there
like "$err" "a reservation of 2 nodes.*'nanopod nodes -r train' lists them, 'nanopod run -r train -- COMMAND'" "is refused with what to type"
run_is 2 "tunnel, likewise" "$NANOPOD" tunnel $WHERE train 80
like "$err" "a reservation of 2 nodes, and tunnel takes one" "is refused"
run_is 2 "tunnel to many" "$NANOPOD" tunnel $WHERE 'n[1-2]' 80
like "$err" "means 2 hosts, tunnel takes one" "is refused"
run_is 0 "run RESERVATION -- COMMAND" "$NANOPOD" run $WHERE train -- echo there
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "train-0: there train-1: there " "runs on its nodes"
run_is 0 "run NODE -- COMMAND" "$NANOPOD" run $WHERE train-1 -- echo there
is "$out" "train-1: there" "on the node"
run_is 2 "run RESERVATION COMMAND" "$NANOPOD" run $WHERE train echo there
like "$err" "no hosts given; nanopod run -r train -- COMMAND" "is refused with what to type"
run_is 2 "run SLIP -- COMMAND" "$NANOPOD" run $WHERE trian-0 -- echo there
like "$err" "no hosts given; did you mean 'train-0'\? 'nanopod run -w trian-0 -- COMMAND' takes it for a host" "names the nearest"
run_is 2 "run OTHER -- COMMAND" "$NANOPOD" run $WHERE n1 -- echo there
like "$err" "no hosts given; nanopod run -w n1 -- COMMAND" "likewise"
run_is 2 "run RANGE -- COMMAND" "$NANOPOD" run $WHERE 'train-[0-1]' -- echo there
like "$err" "no hosts given; nanopod run -w 'train-\[0-1\]' -- COMMAND" "is repeated in quotes"
run_is 3 "run -r NODE" "$NANOPOD" run $WHERE -r train-0 -- echo there
like "$err" "no reservation 'train-0': it is a node; '-w train-0' takes the node, '-r train' all" "says what takes it"
run_is 2 "run -r A,B" "$NANOPOD" run $WHERE -r train,one -- echo there
like "$err" "'-r train -r one' names several" "says how"
run_is 3 "run -r RANGE" "$NANOPOD" run $WHERE -r 'train[0-1]' -- echo there
like "$err" "no reservation 'train\[0-1\]'.*'nanopod reservations' lists yours" "is not repeated in a command"
run_is 2 "buy TYPE" "$NANOPOD" buy -- h100 extra
like "$err" "did you mean -t h100" "is taken for a type"
for word in -t help 'a b'; do
	run_is 2 "buy -- '$word'" "$NANOPOD" buy -- "$word"
	unlike "$err" "did you mean" "is not"
done
run_is 0 "run -w RESERVATION" "$NANOPOD" run $WHERE -w train -- echo there
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "train-0: there train-1: there " "its nodes"
for way in "-w train -x train-1" "-w train,-train-1" "-w train!train-1" "-x train-1 train"; do
	# shellcheck disable=SC2086
	run_is 0 "run $way" "$NANOPOD" run $WHERE $way -- echo there
	is "$out" "train-0: there" "leaves it out"
done
is "$("$NANOPOD" hosts n1 train n2 | tr '\n' ' ')" "n1 train-0 train-1 n2 " "hosts, in its place"
echo text >"$TMP/file"
run_is 0 "cp FILE RESERVATION:PATH" "$NANOPOD" cp $WHERE "$TMP/file" "one:$TMP/sent"
is "$(cat "$TMP/sent")" text "copies"
for from in one @one 'one-*' 'train!train-1' one-0; do
	rm -rf "$TMP/got"
	run_is 0 "cp $from:PATH DIRECTORY/" "$NANOPOD" cp $WHERE "$from:$TMP/file" "$TMP/got/"
	case $from in
	one-0) where=./file ;;
	train*) where=./train-0/file ;;
	*) where=./one-0/file ;;
	esac
	is "$(cd "$TMP/got" && find . -type f)" "$where" "has a directory for each node that may be meant"
done
is "$("$NANOPOD" hosts 'train,-train-1' n1 | tr '\n' ' ')" "train-0 n1 " "and what it leaves out by itself"
run_is 0 "so does logs" "$NANOPOD" logs $WHERE -x train-1 train "$TMP/file"
is "$out" "train-0: text" "with -x"
run_is 0 "so does cp" "$NANOPOD" cp $WHERE "$TMP/file" "train!train-1:$TMP/sent"
like "$err" " to 1 host$" "to the others"
printf 'Host train\n  HostName elsewhere.invalid\n' >"$TMP/config"
is "$("$NANOPOD" hosts --ssh-config "$TMP/config" train)" train "a host that ssh_config has stays one"

# ---- A machine where nothing was listed yet ----
new() { rm -rf "$TMP/cache"; XDG_CACHE_HOME=$TMP/cache "$NANOPOD" "$@"; }
run_is 0 "there, run -w NODE" new run $WHERE -w train-0 -- echo there
is "$out" "train-0: there" "finds the node"
run_is 0 "cp FILE NODE:PATH" new cp $WHERE "$TMP/file" "one-0:$TMP/sent2"
is "$(cat "$TMP/sent2")" text "too"

# ---- Slips ----
run_is 255 "run -w: a name with a slip" "$NANOPOD" run -w trian-0 $WHERE --connect-timeout 5s -- true
like "$err" "did you mean 'train-0'\?" "names the nearest"
run_is 255 "ssh: a name with a slip" "$NANOPOD" ssh $WHERE --connect-timeout 5s trainn-0 -- true
like "$err" "did you mean 'train-0'\?" "names the nearest"
run_is 3 "a reservation with a slip" "$NANOPOD" run $WHERE -r tarin -- true
like "$err" "no reservation 'tarin'.*did you mean 'train'\? 'nanopod nodes -r tarin --all'" "too"

for line in "nodes -r tarin" "extend tarin -d 1h -p 3 -y" "sell tarin -p 3 -y" "release tarin -y"; do
	# shellcheck disable=SC2086
	run_is 3 "$line" "$NANOPOD" $line
	like "$err" "no reservation 'tarin'; did you mean 'train'\? 'nanopod reservations'" "names the nearest"
done

for verb in "extend train-0 -d 1h -p 3 -y" "sell train-0 -p 3 -y" "orders -r train-0"; do
	# shellcheck disable=SC2086
	run_is 3 "$verb" "$NANOPOD" $verb
	like "$err" "no reservation 'train-0': it is a node of 'train'; a reservation is needed here" "says whose node it is"
done
for verb in "extend nosuch -d 1h" "extend nosuch -d 1h --auto-extend 10" "sell nosuch -p 3" "replace nosuch"; do
	# shellcheck disable=SC2086
	run_is 3 "$verb, where nobody can be asked" "$NANOPOD" $verb
	like "$err" "'nosuch'" "names what is missing first"
done
for verb in "extend train -d 1h" "sell train -p 3" "replace train-0"; do
	# shellcheck disable=SC2086
	run_is 2 "$verb, where nobody can be asked" "$NANOPOD" $verb
	like "$err" "not a terminal; '-y' answers yes" "is refused"
done
run_is 3 "nodes RESERVATION" "$NANOPOD" nodes train
like "$err" "no running or pending node 'train'; it is a reservation: 'nanopod nodes -r train' lists" "leads to its nodes"
run_is 5 "release of too many nodes" "$NANOPOD" release train -n 9 -y
like "$err" "^nanopod: cannot release 'train': reservation 'train' has only 2 nodes from then on" "speaks of the reservation"
run_is 2 "release of several nodes" "$NANOPOD" release train-0 train-1 -y
like "$err" "release takes one reservation or node at a time; 'nanopod release train-0' first, then" "says what works"
for verb in wait show; do
	run_is 3 "$verb tarin" "$NANOPOD" $verb tarin
	like "$err" "did you mean 'train'\?" "names the nearest"
done

# ---- Completion of both ----
offers() { "$NANOPOD" complete -- "$@" 2>/dev/null | cut -f1 | tr '\n' ' '; }
is "$(offers run -w @tra)" "@train " "a reservation after '@'"
is "$(offers cp file @tra)" "@train: :files " "as a target"
is "$(offers inventory tra)" "train-0 train-1 train " "nodes and reservations, where hosts are meant"
for verb in wait release show; do
	is "$(offers $verb tra)" "train train-0 train-1 " "$verb: reservations and nodes"
done

# ---- Habits ----
for habit in "ps=nanopod nodes" "list=nanopod reservations" "rm x=nanopod release" "exec a b=nanopod ssh" "scp a b:=nanopod cp" \
	"run -g web x=-w @GROUP" "run -u 5 x=--timeout" "ssh -L 1:h:2 n=nanopod tunnel" "cp -L x=nanopod tunnel" \
	"up=nanopod buy" "stop x=nanopod release" "status=nanopod nodes" "logs --tail 3 x=-n N"; do
	# shellcheck disable=SC2086
	run_is 2 "'${habit%%=*}'" "$NANOPOD" ${habit%%=*}
	like "$err" "; .*${habit#*=}" "names what does it here"
done
run_is 2 "an option that nobody has" "$NANOPOD" run -y
like "$err" "nanopod run --help" "leads to the help"

# ---- Nodes that are not up ----
run_is 10 "run, where one node is pending" "$NANOPOD" run $WHERE -r train -r late -- echo there
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "train-0: there train-1: there " "the others go on"
like "$(printf '%s' "$err" | tr '\n' ' ')" "1 of 3 hosts failed.*pending.*late-0.*'--wait' waits.*'--only-ready'" "it is named, with what to do"
run_is 10 "for programs" "$NANOPOD" run $WHERE -r train -r late -o jsonl -- echo there
is "$(printf '%s\n' "$out" | jq -r 'select(.type == "error") | [.host, .retryable] | join(" ")')" "late-0 true" "its failure is an event"
run_is 0 "--only-ready" "$NANOPOD" run $WHERE -r train -r late --only-ready -- echo there
is "$err" "nanopod: left out 1 node that does not run yet" "leaves it out, and one line says so"
run_is 0 "with reservations by their names" "$NANOPOD" run $WHERE -w train,late --only-ready -- echo there
is "$err" "nanopod: left out 1 node that does not run yet" "too"
run_is 0 "cp from hosts" "$NANOPOD" cp $WHERE --only-ready "train,late:$TMP/file" "$TMP/left/"
is "$(printf '%s\n' "$err" | grep -c 'left out')" 1 "says so once"
"$NANOPOD" run $WHERE -r train -r late --save "$TMP/saved" -- 'exit 3' >"$TMP/.out" 2>&1
run_is 10 "with --failed-from" "$NANOPOD" run $WHERE --failed-from "$TMP/saved" --only-ready
like "$err" "left out 1 node that does not run yet" "too"
for verb in "run -r train -r late" "ssh-config -r late" "logs -r late"; do
	# shellcheck disable=SC2086
	run_is 2 "$verb --only-ready --wait" "$NANOPOD" $verb $WHERE --only-ready --wait -- true
	like "$err" "--only-ready leaves out nodes that do not run yet, and --wait waits for them; choose one" "is refused"
done
run_is 5 "where none runs" "$NANOPOD" run $WHERE -r late --only-ready -- echo there
run_is 5 "where none runs, without it" "$NANOPOD" run $WHERE -r late -- echo there
like "$err" "cannot reach 'late-0': pending" "is told"
run_is 10 "cp" "$NANOPOD" cp $WHERE "$TMP/file" "late,one:$TMP/again"
is "$(cat "$TMP/again")" text "copies to the others"
run_is 10 "logs of a file" "$NANOPOD" logs $WHERE -r late -r one "$TMP/file"
is "$out" "one-0:  text" "reads the others"
like "$err" "cannot reach 'late-0': pending" "and names it"
run_is 0 "logs of a pending node" "$NANOPOD" logs $WHERE late-0
like "$err" "'late-0' is pending: its console is empty until it starts" "say why there are none"

# ---- Nodes that ended ----
clock $((NOW + 3 * HOUR))
for verb in "ssh one-0" "run -w one-0 true" "logs one-0" "cp $TMP/file one-0:" "ssh-config one-0"; do
	# shellcheck disable=SC2086
	run "$NANOPOD" ${verb%% *} $WHERE ${verb#* }
	like "$err" "node 'one-0' ended Fri 15 Jan 1[01]:.*; 'nanopod console one-0' shows its last output" "$verb says that it ended"
done

done_testing
