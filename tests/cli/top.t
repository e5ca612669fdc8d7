#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod top: its screen at 40, 80, 120 and 200 columns, compared with tests/fixtures/screens (SCREENS=write writes those
# anew: read them before you commit them), keys, lists, a market that is away, and names that mean harm. The market is
# real, on a clock that the test moves; the agent is curl and openssl.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"
. "$(dirname "$0")/../lib/trade.sh"

PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
SCREENS_DIR=$SRC/tests/fixtures/screens
[ -x "$PTY" ] || skip_all "tests/lib/pty is not built"
export TERM=xterm LC_ALL=C.UTF-8
cd "$TMP" || exit 99

# ---- A market with three nodes: one that works, one that is silent, one that waits for its host's first word ----
v2_start --rate 0 --agent-silent 86400
NANOPOD_TOKEN=$ACME
export NANOPOD_TOKEN
key one
AGT=$(join "$(join_token)" rack1 one m1 | json .id)
AGENT=$(session "$AGT" one 1 m1 | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 1664 17592186044416 246290604621824 '64 h100')" >/dev/null
for i in 1 2 3; do
	v2_offer "$(as "$AGENT" POST /np/v1/agent/hosts "{\"name\":\"h$i\",\"instance_sku\":\"richmond\"}" | json .id)" 16.80 >/dev/null
done
as "$ACME" POST /v2/orders "$(order buy train 3 $((NOW + 60)) $((NOW + 5 * HOUR)) 20.0)" >/dev/null
for i in 1 2 10; do
	as "$ACME" POST /v2/instances "{\"name\":\"train-$i\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id
done >ids
A=$(sed -n 1p ids) B=$(sed -n 2p ids)
v2_clock $((NOW + 60))
for id in "$A" "$B"; do
	as "$AGENT" POST "/np/v1/instances/$id/report" '{"status":"running","hostname":"10.0.0.7","port":2201,"user":"root","driver":"ns",
		"host_keys":[{"type":"ssh-ed25519","key":"AAAAC3Nz"}],"gpus":[{"model":"h100","count":8,"memory_bytes":85899345920}]}' >/dev/null
done
# samples AT JSON
samples() { as "$AGENT" POST /np/v1/agent/samples "{\"samples\":[$(jq -c ". + {at: $1}" <<<"$2")]}" >/dev/null; }
# node ID USE…: what a node with so many GPUs measures.
measured() {
	id=$1; shift
	jq -nc --arg id "$id" '{id: $id, measures: {cpu: 20.5, memory: 4e11, network_in: 1.2e6, network_out: 0},
		gpus: [$ARGS.positional[] | tonumber | {use: ., memory: (1e10 + 6e10 * .), memory_total: 85899345920, temperature: (40 + 40 * .),
			power: (100 + 600 * .), power_limit: 700, clock: 1.755e9, throttled: (if . == 1 then 1 else 0 end), memory_errors: 0}]}' --args "$@"
}
AT=$((NOW + 1200))
for i in 0 1 2 3 4 5 6 7 8 9 10 11 12 13; do
	t=$((AT - 840 + 60 * i)) use=0.$(((i * 7) % 10))
	nodes=$(measured "$A" $use $use $use 0 $use $use $use $use)
	[ $i -gt 8 ] || nodes=$nodes,$(measured "$B" 0.5 0.5)
	v2_clock $t
	samples $t "{\"machine\":{\"cpu\":0.25,\"memory\":1e12,\"memory_total\":2e12,\"disk\":1e12,\"disk_total\":4e12},\"gpus\":[{\"use\":$use}],\"nodes\":[$nodes]}"
done
v2_clock $((AT - 10))
samples $((AT - 10)) "{\"nodes\":[$(measured "$A" 1 0.87 0.87 0 0.87 0.87 0.87 0.87)]}"
v2_clock $AT

# top_keys NAME COLUMNS ROWS [OPTION…] <STEPS: a terminal that sees the steps; what it showed is in NAME.
top_keys() {
	name=$1 columns=$2 rows=$3
	shift 3
	{ printf 'size %s %s\nsend go\\n\n' "$columns" "$rows"; cat; } >keys
	status=0
	timeout 200 "$PTY" keys sh -c 'read go; exec "$@"' sh "$NANOPOD" top "$@" >"$name" 2>pty.err || { status=$?; diag "$(tail -n 1 pty.err)"; }
}
# frame FILE TEXT [N]: the last frame with that text (or the first one), without what only moves the cursor.
frame() {
	awk -v RS='\033\\[H' -v text="$2" -v first="${3-}" 'index($0, text) && NR > 1 { f = $0; if (first) exit } END { printf "%s", f }' "$1" |
		sed 's/\x1b\[J.*//' | tr -d '\r' | sed 's/\x1b\[[0-9;?]*[A-Za-z]//g; s/ *$//'
}
wide() { LC_ALL=C.UTF-8 wc -L <"$1"; }

# ---- At four widths ----
for columns in 40 80 120 200; do
	top_keys seen $columns 14 <<<"expect train-10
send q"
	is "$status" 0 "q ends it ($columns columns)"
	frame seen train-10 >screen
	[ "${SCREENS-}" != write ] || cp screen "$SCREENS_DIR/top-$columns"
	ok "the screen at $columns columns" diff "$SCREENS_DIR/top-$columns" screen
	ok "no line is wider" [ "$(wide screen)" -lt $columns ]
	is "$(wc -l <screen)" 13 "it fills the terminal"
done
like "$(tr '\033' '^' <seen | tr -d '\n')" '\^\[\?1049h.*\^\[\?25h\^\[\?1049l$' "q gives the terminal back"
LC_ALL=C top_keys seen 120 14 <<<"expect train-10
send q"
unlike "$(cat seen)" $'[\x80-\xff]' "without UTF-8 the curve is of plain characters"
like "$(frame seen train-1)" '^train-1 +running +[_.:=+*#-]{10,} ' "and still a curve"

# ---- Keys ----
order() { awk '/^train/ { printf "%s ", $1 }' screen; }
shown() { frame seen "$1" >screen; }
top_keys seen 120 14 <<'END'
expect by name
send u
expect by use
send r
expect by use, reversed
send rn
expect by name
send c
expect by cost
send e
expect by end
send w
expect by watts
send m
expect by memory
send q
END
is "$status" 0 "keys sort"
shown 'by name'; is "$(order)" "train-1 train-2 train-10 " "by name, with numbers as numbers"
shown $'by use\033'; is "$(order)" "train-1 train-2 train-10 " "by use, what is not known last"
shown 'by use, reversed'; is "$(order)" "train-2 train-1 train-10 " "reversed it is still the last"
top_keys seen 120 14 <<'END'
expect by name
send /
expect filter: _
send RAIN-1x
expect filter: RAIN-1x_
expect no row has that text
send \x7f
expect filter: RAIN-1_
expect train-10
send \r
expect filter: RAIN-1
expect q quit
send \e
expect train-2
send /pend\n
expect filter: pend
send \e
expect train-2
send h
expect this help, and back
send h
expect train-2
send p
expect paused
send p
expect every 5s
send g
expect 1755
send \e[B
expect rows 2-9 of 16
send \e[6~
expect rows 9-16 of 16
send \e[5~
expect rows 1-8 of 16
send \e[F
expect rows 9-16 of 16
send \e[A
expect rows 8-15 of 16
send \e[H
expect rows 1-8 of 16
send q
END
is "$status" 0 "keys filter, explain, pause, show GPUs and scroll"
shown 'filter: RAIN-1_'; is "$(order)" "train-1 train-10 " "the filter fits in any case, as it is typed"
shown 'filter: pend'; is "$(order)" "train-10 " "a state, too"
frame seen 'rows 1-8 of 16' >screen
is "$(sed -n '4,5p' screen | tr -s ' ' | cut -d' ' -f1,2,4-)" $'train-1 0 100% 10s 65/80G 700/700 80C! 1755\ntrain-1 1 87% 10s 58/80G 622/700 75C 1755' \
	"a row a GPU"

# ---- The terminal ----
top_keys seen 80 14 <<'END'
expect by name
size 60 8
expect rows 1-1 of 3
raw on
send \x03
END
is "$status" 130 "a new size is followed at once; Ctrl-C ends it"
like "$(tr '\033' '^' <seen | tr -d '\n')" '\^\[\?25h\^\[\?1049l$' "and gives the terminal back"
{ printf 'send PS1=ready; %s top\\n\nexpect by name\nraw on\nsend \\x1a\nexpect \\e[?25h\\e[?1049l\nexpect Stopped\nraw off\n' "$NANOPOD"
	printf 'send echo "<"$((6*7))">"; fg\\n\nexpect <42>\nexpect \\e[?1049h\\e[?25l\nexpect by name\nraw on\nsend q\nexpect \\e[?1049l\nsend exit\\n\n'; } >keys
status=0
timeout 200 "$PTY" keys bash --norc --noediting -i >seen 2>&1 || status=$?
is "$status" 0 "Ctrl-Z stops it and gives the terminal back, fg takes it again"
printf 'size 80 14\nexpect by name\nsend q\n' >keys
TERM=dumb timeout 200 "$PTY" keys "$NANOPOD" top >seen 2>&1
like "$(erased <seen)" '^NODE ' "a terminal that cannot move its cursor gets a list"

# ---- The market is killed, and comes back ----
printf 'size 80 14\nexpect by name\nsend h\nexpect this help\nsend h\nexpect no answer for\nexpect values of 08:20:00\nsend g\nexpect 1755\nsend g\nexpect LEFT\nexpect every 1s\nsend q\n' >keys
rm seen
timeout 300 "$PTY" keys "$NANOPOD" top --every 1s >seen 2>pty.err &
pid=$!
there() { grep -q "$1" seen; }
ok "(it is there)" wait_for 20 there 'by name'
marketd_kill
ok "a market that is gone is told" wait_for 60 there 'no answer for'
ok "keys work meanwhile" wait_for 60 there 1755
marketd_start --test-clock=$AT --rate 0 --agent-silent 86400 --listen "${NANOPOD_URL#http://}" || done_testing
status=0; wait $pid || status=$?
is "$status $(cat pty.err)" "0 " "when it is back, values are new again"
shown 'no answer for'
like "$(sed -n 3p screen)" "^no answer for [0-9]+[sm]: cannot reach 'http" "the screen says since when and why"
like "$(sed -n 4p screen)" '^values of 08:20:00 UTC ' "and of when the values are"
is "$(grep -c '^train' screen)" 3 "which stay"
AGENT=$(session "$AGT" one 2 m1 | json .token)

# The process that asks the market is started again: Ctrl-Z and a crash stay its parent's, who has the terminal.
children() { cat "/proc/$1/task/$1/children" 2>/dev/null; }
child() { fed=$(children "$1" | tr -d ' '); [ -n "$fed" ] && [ "$fed" != "${2-}" ]; }
printf 'size 80 14\nexpect by name\n' >keys
rm seen
timeout 300 "$PTY" keys "$NANOPOD" top --every 1s >seen 2>pty.err &
pid=$!
ok "(it is there)" wait_for 60 there 'by name'
child $pid; child $fed; top=$fed
ok "(it has one that asks)" child $top
first=$fed
kill -9 $first
ok "killed, it is started again" wait_for 60 child $top $first
caught() { caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' /proc/$1/status); [ $((0x$caught >> $2 - 1 & 1)) -eq 1 ]; }
forgot() { ! caught $fed 20 && ! caught $fed 18; }
ok "(its parent has a handler of TSTP)" caught $top 20
ok "without the screen's handlers of TSTP and CONT" wait_for 60 forgot
kill -INT $top
wait $pid
is "$?" 130 "Ctrl-C ends both"

# ---- Lists ----
run_is 0 "without a terminal it is a list" "$NANOPOD" top
is "$(awk '{ print $1, $2 }' <<<"$out")" $'NODE STATUS\ntrain-1 running\ntrain-2 running\ntrain-10 pending' "of all nodes"
for columns in 40 80 120 200; do
	top_keys seen $columns 24 --once </dev/null
	erased <seen | sed '1{/^go$/d}; s/\x1b\[[0-9;]*m//g' >screen
	[ "${SCREENS-}" != write ] || cp screen "$SCREENS_DIR/top-once-$columns"
	ok "--once at $columns columns" diff "$SCREENS_DIR/top-once-$columns" screen
done
np() { timeout 60 "$NANOPOD" "$@"; }
is "$(np top -o json | jq -c '.[] | [.node, .status, .gpus, .age, .cost_per_hour_micros]')" \
	"$(printf '%s\n' '["train-1","running",8,10,16800000]' '["train-2","running",8,360,16800000]' '["train-10","pending",0,null,16800000]')" "as JSON"
is "$(np top train-10 -o json | jq -c '.[0] | [.use, .watts, .cpu, .memory, .age, .temperature]')" '[null,null,null,null,null,null]' "what is not known is null, never 0"
is "$(np top train-1 -o json | jq -c '.[0] | [.curve | length, last, .[28]]')" '[30,null,0.7775]' "with the curve"
is "$(np top train-1 -o csv --fields node,gpus,age)" $'node,gpus,age\ntrain-1,8,10' "as CSV"
is "$(np top train -q -s use --reverse | tr '\n' ' ')" "train-2 train-1 train-10 " "names alone, of a reservation, sorted"
is "$(np top 'train-1*' -g -o jsonl | jq -c '[.node, .gpu]' | sed -n '1p;9p')" $'["train-1",0]' "a row a GPU"
is "$(np top train-1 -o yaml | head -n 1)" "- node: train-1" "as YAML"
run_is 3 "a name that is none" "$NANOPOD" top train-7
like "$err" "no running or pending node or reservation 'train-7'" "and says so"
run_is 0 "a pattern may fit nothing" "$NANOPOD" top 'x*'
run_is 2 "a list that never ends is refused" "$NANOPOD" top --every 10s
run_is 2 "and what is too often" "$NANOPOD" top -o jsonl --every 10ms
"$NANOPOD" top -o jsonl --every 1s >stream 2>stream.err &
pid=$!
lines() { [ "$(wc -l <stream)" -ge "$1" ]; }
ok "-o jsonl --every looks again and again" wait_for 30 lines 6
v2_clock $((AT + 60))
later() { grep -q '"time":"2027-01-15T08:21:00Z"' stream; }
ok "with the time of each look" wait_for 30 later
kill -INT $pid; status=0; wait $pid || status=$?
is "$status" 130 "until Ctrl-C"
is "$(jq -s 'map(type) | unique | .[]' stream)" '"object"' "each line is an object"

# ---- Few requests ----
trade_between
run_is 0 "(through something that counts)" "$NANOPOD" top -o json
is "$(grep -c . "$BETWEEN_LOG") $(asked GET /np/v1/samples)" "4 1" "one request for all samples, one for nodes, for money, and for what market it is"
rule 'status=404 GET /np/v1/samples'
top_keys seen 120 14 <<<"expect does not tell what nodes measure
send q"
is "$status" 0 "a market of an older version tells no samples: that is said"
like "$(frame seen train-1)" 'train-1 +running' "and the nodes are there"

# ---- Names that mean harm ----
long=$(printf '%350s' | tr ' ' A)
rule 'swap="name":"train-1","name":"\u001b[2J\u001b]0;owned\u0007\u202e\nevil\u0301\u0301\u0301\u0301\u0301name-'"$long"'" GET /np/v1/nodes'
top_keys seen 80 14 <<<"expect train-10
send q"
is "$status" 0 "a market that lies about names"
unlike "$(tr '\033\007' '^!' <seen)" '\^\[2J|\^\]0|!' "cannot send what moves the cursor"
unlike "$(cat seen)" $'\u202e' "nor turn a line around"
frame seen train-10 >screen
ok "nor make a line longer than the screen" [ "$(wide screen)" -lt 80 ]
is "$(wc -l <screen) $(grep -c '^train' screen)" "13 2" "and the other rows are where they were"
rules_off

# ---- Who rents out, who is a stranger ----
NANOPOD_TOKEN=$FOUNDRY
is "$(np top --hosts -o json | jq -c '.[] | [.host, .gpus, .cpu, .disk_total > 3e12, .age]')" '["rack1",1,0.25,true,120]' "an owner sees his hosts"
is "$(np top -o json)" "[]" "and no node of a buyer"
is "$(np top --hosts -g -o json | jq -c '.[0] | [.host, .gpu, .used_by, has("machine_gpu")]')" '["rack1",0,null,false]' "nor whose node has a GPU, where no machine says it"
t=$((AT + 120))
v2_clock $t
samples $t "{\"gpus\":[{\"use\":0.5},{\"use\":0.5,\"xid\":79}],\"nodes\":[$(measured "$A" 0.5 | jq -c '.gpus[0].machine_gpu = 1')]}"
is "$(np top --hosts -g -o json | jq -c '[.[] | [.gpu, .used_by, .xid]]')" '[[0,null,null],[1,"h1",79]]' "the host whose node has it, where it does"
like "$(NANOPOD_TOKEN=$ACME "$NANOPOD" show train-1 -o wide)" '^which gpus +1 of its machine$' "its buyer sees which of the machine's it is"
unlike "$(NANOPOD_TOKEN=$ACME "$NANOPOD" show train-1)" 'of its machine' "with -o wide"
is "$(NANOPOD_TOKEN=$ACME np top train-1 -g -o json | jq -c '[.[] | [.gpu, .machine_gpu, has("used_by")]] | .[0]')" '[0,1,false]' "and in top -g"
top_keys seen 100 10 --hosts <<'END'
expect 1 host
expect rack1
send g
expect GPU
send q
END
is "$status" 0 "on a screen, too"
NANOPOD_TOKEN=$STRANGER
is "$(np top -o json)" "[]" "a stranger sees nothing"
run_is 3 "not by name either" "$NANOPOD" top train-1
run_is 4 "nor hosts" "$NANOPOD" top --hosts
is "$(np top 2>&1)" "nanopod: no running or pending nodes" "which is said"
done_testing
