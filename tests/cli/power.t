#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod host power: what it shows, plans, asks and sets, by the real agent on a tree that stands for a machine.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/powertree.sh"
need jq
NANOPOD_LIBEXEC=$BUILD
PATH=$BUILD:$PATH
export NANOPOD_LIBEXEC PATH
powertree "$TMP/root" 2
np() { "$NANOPOD" host power "$@" --data "$TMP/agent" --sysfs-root "$TMP/root" </dev/null; }
caps() { echo "$(powertree_cap "$TMP/root" 0) $(powertree_cap "$TMP/root" 1)"; }
columns() { printf '%s\n' "$1" | awk 'length > most { most = length } END { print (most <= 80 ? "at most 80" : most) }'; }

# Nothing set.
run_is 0 "show" np show
like "$out" "gpu 0 +AMD Radeon RX 7900 XT.* 40 W +300 W +75-350 W +300 W" "what a card draws and may draw"
like "$out" "cpu 0 +AMD Ryzen 7 7700X .* 128 W +no limit" "and the processor, which counts by its threads"
like "$out" "nanopod host power set --envelope 1440W" "and what to type"
is "$(columns "$out")" "at most 80" "on 80 columns"
not_ok "it made no folder" test -e "$TMP/agent"

# What is wrong with the line.
run_is 2 "set without anything" np set -y
like "$err" "--envelope 1440W" "says what to type"
run_is 2 "nobody to ask" np set --envelope 900W
like "$err" "'-y'" "and what to type"
run_is 2 "watts that are none" np plan --envelope much
like "$err" "'envelope=much' is invalid; use watts" "says so"
run_is 2 "a supply that is none" np plan --envelope 900W --psu rusty
like "$err" "use white, bronze, silver, gold" "lists them"
run_is 2 "a GPU that is not there" np plan --envelope 900W --gpu 7=200W
like "$err" "no GPU 7; this machine has 2" "says how many are"
run_is 2 "a cap that is none" np plan --envelope 900W --gpu 0
run_is 2 "a plan of nothing" np plan
run_is 2 "a format that the agent has not" np show -o csv
run_is 2 "an action that is none" np show more

# Plans.
run_is 0 "plan" np plan --envelope 700W --psu gold --price-kwh 0.30
like "$out" "at most +697 W at the wall" "tells what the wall sees"
like "$out" 'price +\$0\.20[0-9] per hour of electricity' "what that costs"
like "$out" "steps +lower gpu 0 from 300 W to 189 W" "what would be done"
is "$(columns "$out")" "at most 80" "on 80 columns"
is "$(caps)" "300 300" "and changes nothing"
run_is 0 "plan as JSON" np plan --envelope 700W --psu gold --price-kwh 0.30 -o json
is "$(printf '%s' "$out" | jq -r '[.object, .steps[0], .dollars_per_hour] | join("|")')" \
	"power|lower gpu 0 from 300 W to 189 W|0.208965" "has all of it"
run_is 5 "what does not fit" np plan --envelope 300W --psu gold
like "$err" "need 437 W at the wall, not 300 W; use '--envelope 437W'" "says what would"
run_is 0 "which is true" np plan --envelope 437W --psu gold
run_is 5 "a cap below what the card takes" np plan --envelope 900W --gpu 0=20W
like "$err" "gpu 0 .* takes limits from 75 to 350 W, not 20 W" "says what it takes"

# Setting.
run_is 0 "a dry run" np set --envelope 700W --psu gold --gpu 0=150W --dry-run
like "$err" "lower gpu 0 from 300 W to 150 W" "shows the plan"
is "$(caps)" "300 300" "and changes nothing"
run_is 0 "set" np set --envelope 700W --psu gold --gpu 0=150W -y
like "$err" "lower gpu 0 from 300 W to 150 W" "shows the plan"
like "$out" "Limits hold" "reads back"
is "$(caps)" "150 229" "and what one card may not draw, the other may"
run_is 0 "more for the wall" np set --envelope 900W -y
like "$err" "read back, and wait 2 s until all draw less" "waits before it raises"
like "$err" "raise gpu 1 from 229 W to 300 W" "and keeps what was set before"
is "$(caps)" "150 300" "up to each card's default"
run_is 0 "show" np show -o json
is "$(printf '%s' "$out" | jq -c '[.holds, .envelope_watts, .psu, .devices[0].target_watts]')" '[true,900,"gold",150]' "knows it all"
run_is 0 "a cap can go" np set --gpu 0=none -y
is "$(caps)" "276 276" "and the card has more, the other less"
powertree_cap "$TMP/root" 1 350 >/dev/null
run_is 0 "somebody else sets one" np show
like "$out" "Limits do not hold, so no node starts: gpu 1 .* enforces 350 W, not 276 W" "and that is seen"
is "$(columns "$(printf '%s\n' "$out" | grep -v '^Limits')")" "at most 80" "(on 80 columns)"
powertree_refuses "$TMP/root" 1
run_is 1 "a card that takes no limit" np set --envelope 700W -y
like "$err" "gpu 1 .* enforces 350 W and not the 189 W that were set: cannot write" "is told"
is "$(powertree_cap "$TMP/root" 0)" 189 "the other has its new limit"
powertree_obeys "$TMP/root" 1
run_is 0 "it is finished later" np set --envelope 700W -y
is "$(caps)" "189 189" "by whoever comes next"
run_is 0 "forget it" np set --envelope none -y
run_is 0 "show" np show
like "$out" "Nothing is set" "says that nothing is kept"

# What limits cost in speed.
run_is 5 "AMD's speed cannot be measured" np sweep
like "$err" "only the speed of NVIDIA's" "which is told"
powertree_nvidia "$TMP/nvidia"
agent() { "$BUILD/nanopod-agentd" --data "$TMP/agent" --sysfs-root "$TMP/nvidia" power "$@"; }
run_is 0 "a plan before" agent plan envelope=600W psu=gold
like "$out" "speed +unknown: 'nanopod host power sweep' measures it" "knows no speed"
run_is 2 "a word that is none" agent sweep steps=1
run_is 0 "measure at two limits" agent sweep steps=2
like "$(printf %s "$err" | tr '\n' ' ')" "gpu 0 at 450 W: .*gpu 0 at 112 W: " "from the one that it has downwards"
is "$(powertree_nvidia_cap "$TMP/nvidia")" 450000 "and the limit is back"
run_is 0 "a plan after" agent plan envelope=600W psu=gold
like "$out" "speed +gpu 0 has [0-9.]+ % of its best speed, as measured on 20" "knows the speed"
(exec "$BUILD/nanopod-agentd" --data "$TMP/agent" --sysfs-root "$TMP/nvidia" power sweep steps=3) >/dev/null 2>&1 &
pid=$!
lowered() { [ "$(powertree_nvidia_cap "$TMP/nvidia")" -lt 450000 ]; }
back() { [ "$(powertree_nvidia_cap "$TMP/nvidia")" = 450000 ]; }
ok "(while it measures)" wait_for 60 lowered
kill -9 $pid
ok "a sweep that is killed puts the limit back" wait_for 30 back
done_testing
