#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One way to say which hosts, for every command: -w, -r, @name, patterns, --type, --zone, -x.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 3
trade_between

# Another reservation of another type, in another zone.
CPU=$(sku plain 0 '{"region":"moon-1"}')
NANOPOD_URL=$MARKET_URL as "$FOUNDRY" POST /np/v1/hosts/"$(host plain-1 "$CPU")"/offers \
	"{\"price_dollars_per_node_hour\":\"1.200000\",\"start_at\":$((NOW + 120)),\"end_at\":$((NOW + 864000))}" >"$TMP/.offer"
"$NANOPOD" buy -t plain -n 1 -d 2h -p 2 --name moon --ssh-key "$SSHD_KEY.pub" -y >"$TMP/.bought" 2>&1 || diag "$(cat "$TMP/.bought")"
clock $((NOW + 181))
node_runs moon-0 1
mkdir -p "$HOME/.config/nanopod"
printf 'groups: {mine: "h[1-2]", train-0: "h9"}\n' >"$HOME/.config/nanopod/config.yaml" && chmod 600 "$HOME/.config/nanopod/config.yaml"

# hosts ARGUMENT…: what it comes to, in one line
hosts() { "$NANOPOD" hosts "$@" 2>"$TMP/.err" | tr '\n' ' ' | sed 's/ $//'; }

is "$(hosts -r train)" "train-0 train-1 train-2" "-r"
is "$(hosts -r train -r moon)" "train-0 train-1 train-2 moon-0" "several"
is "$(hosts -w @train)" "train-0 train-1 train-2" "@reservation"
is "$(hosts @moon)" moon-0 "(as a word too)"
is "$(hosts -w @mine)" "h1 h2" "@group"
is "$(hosts -w @train-0)" h9 "a group of the settings comes before a reservation"
is "$(hosts -w 'train-*')" "train-0 train-1 train-2" "a pattern"
is "$(hosts -w 't*-[02]')" "" "has no ranges in it"
is "$(hosts -w 'moon-?,train-*,n[1-2]')" "moon-0 train-0 train-1 train-2 n1 n2" "with ranges beside it"
is "$(hosts -w 'train-*' -x train-1)" "train-0 train-2" "-x"
is "$(hosts -r train -x 'train-[0-1]')" train-2 "-x with a range"
is "$(hosts -r train -r moon -x 'train-*')" moon-0 "-x with a pattern"
is "$(hosts -r train -x '*-2')" "train-0 train-1" "of any kind"
is "$(hosts -w '*,-train-1')" "moon-0 train-0 train-2" "within the words too"
is "$(hosts --type plain)" moon-0 "--type alone is all of a type"
is "$(hosts --type richmond -x train-0)" "train-1 train-2" "and goes with -x"
is "$(hosts --zone moon-1)" moon-0 "--zone"
is "$(hosts -w '*' --type plain)" moon-0 "--type filters"
is "$(hosts -w 'train-0,n1' --type richmond)" "train-0 n1" "nodes of the market alone"
is "$(hosts -w 'moon-0,n1' --type richmond)" n1 "(so a plain host stays)"
for what in 'run -- true' 'cp :/etc/hostname x' 'hosts'; do
	set -- $what
	verb=$1; shift
	run "$NANOPOD" $verb --type nothing "$@"
	is "$status" 3 "$verb: a type that no node has" || diag "$err"
	run "$NANOPOD" $verb -w 'zzz-*' "$@"
	is "$status" 3 "$verb: a pattern that no node has"
	like "$err" "you have no node 'zzz-\*'" "$verb: and says so"
	run "$NANOPOD" $verb -w @nothing "$@"
	is "$status" 3 "$verb: a name that is neither group nor reservation"
	like "$err" "'nanopod reservations' the reservations" "$verb: and where to look"
	run "$NANOPOD" $verb --reservation nothing "$@"
	is "$status" 3 "$verb: a reservation that is none"
done
run_is 2 "run: --wait wants a time" "$NANOPOD" run -r train --wait=soon -- true
like "$err" "cannot use '--wait'" "(and says so)"

# Asked once, and only where it is needed.
: >"$BETWEEN_LOG"
run "$NANOPOD" run $WHERE -r train -r moon -w '*' -w @train --type richmond -- echo x
is "$status $(asked GET /np/v1/nodes)" "0 1" "a command asks once, however much is typed"
: >"$BETWEEN_LOG"
run "$NANOPOD" hosts -w 'n[1-3],@mine,other'
is "$(grep -c . "$BETWEEN_LOG")" 0 "plain hosts need no market"
: >"$BETWEEN_LOG"
run "$NANOPOD" run $WHERE -w train-0 -- echo x
is "$status $(asked GET /np/v1/nodes)" "0 1" "a name that the market told is looked up"
rm "$HOME"/.cache/nanopod/nodes-*
: >"$BETWEEN_LOG"
run "$NANOPOD" run $WHERE -w train-0 -- echo x
is "$status $(asked GET /np/v1/nodes)" "0 1" "and any name, where the market told none yet"
: >"$BETWEEN_LOG"
run "$NANOPOD" run --connect-timeout 2s -w "127.0.0.1:$SSHD_PORT" -- echo x
is "$(grep -c . "$BETWEEN_LOG")" 0 "a plain address is not asked about"

# Completion knows them, without the network.
"$NANOPOD" nodes -q >/dev/null
: >"$BETWEEN_LOG"
is "$("$NANOPOD" complete -- ssh tra | cut -f1 | tr '\n' ' ')" "train-0 train-1 train-2 " "completion of nodes as hosts"
is "$("$NANOPOD" complete -- replace m | cut -f1)" moon-0 "and as nodes"
is "$(grep -c . "$BETWEEN_LOG")" 0 "and asks nobody"

# The shell.
printf 'run -r train -x train-0 -- echo there\nrun -w train-1 -- echo again\n' >"$TMP/lines"
out=$("$NANOPOD" shell $WHERE <"$TMP/lines" 2>/dev/null)
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')" "train-1: again train-1: there train-2: there " "the shell's lines take them too"
done_testing
