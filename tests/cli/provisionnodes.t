#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod provision on real nodes with a stack of a few files: plan, apply, repeat, verify, drift, a step that fails, two at
# once, Ctrl-C and on, secrets, add, drop, drain, remove.
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
need jq ssh
. "$SRC/tests/lib/cluster.sh"

# ---- A stack whose steps a test can bend -------------------------------------------------------------------------
NANOPOD_STACKS=$TMP/stacks
export NANOPOD_STACKS
mkdir -p "$NANOPOD_STACKS/toy"
cp -r "$SRC/stacks/common" "$SRC/stacks/base" "$NANOPOD_STACKS/"
cat >"$NANOPOD_STACKS/toy/stack.yaml" <<'END'
stack: toy
about: a few files
roles:
  lead: {min: 1, max: 1, default: first, help: makes the key}
  crew: {min: 1, default: rest, help: have it}
settings:
  text: {type: text, default: hello, help: what is written}
  slow: {type: number, default: 0, help: how long a step takes}
  break: {type: text, default: '', help: the node on which it fails}
  early: {type: text, default: '', help: nodes on which the first step fails}
steps:
  - {name: conf, help: a file}
  - {name: key, help: a key, roles: [lead], needs: [conf], gives: toy-key}
  - {name: copy, help: the key, roles: [crew], needs: [conf, key@lead], takes: toy-key}
  - {name: slow, help: takes its time, needs: [conf], after: [copy]}
  - {name: fragile, help: fails where it is told to, needs: [slow]}
  - {name: drain, help: drain and leave, roles: [lead], only-verify: true}
END
cat >"$NANOPOD_STACKS/toy/conf.sh" <<'END'
want() {
	case " $S_early " in *" $NP_NODE "*) ! np_changing || { np_fail "it was told to break early"; return 1; } ;; esac
	printf '%s\n' "$S_text" | np_file /etc/toy.conf 0644 root:root
}
verify() { if [ -s /etc/toy.conf ]; then np_ok "toy.conf is there"; else np_hint "nanopod provision apply train"; np_bad "toy.conf is empty"; fi; }
END
cat >"$NANOPOD_STACKS/toy/key.sh" <<'END'
want() {
	if [ ! -s /etc/toy.key ]; then
		np_changing || np_differs "make the key"
		! np_changing || od -An -N16 -tx1 /dev/urandom | tr -d ' \n' | np_file /etc/toy.key 0600 root:root secret
	fi
	! np_has_failed || return 1
	if np_changing; then np_give toy-key </etc/toy.key; elif [ -s /etc/toy.key ]; then np_give_hash toy-key "$(np_hash /etc/toy.key)"; fi
}
END
cat >"$NANOPOD_STACKS/toy/copy.sh" <<'END'
check() {
	hash=$(np_taken_hash)
	if [ ! -s /etc/toy.key ] || { [ -n "$hash" ] && [ "$(np_hash /etc/toy.key)" != "$hash" ]; }; then np_differs "write /etc/toy.key"; fi
}
apply() { np_file /etc/toy.key 0600 root:root secret <"$NP_TAKEN"; }
END
cat >"$NANOPOD_STACKS/toy/slow.sh" <<'END'
want() {
	[ ! -e /etc/toy.slow ] || return 0
	if np_changing; then echo "sleeps for $S_slow"; : >/run/toy.begun; sleep "$S_slow"; fi
	echo done | np_file /etc/toy.slow 0644 root:root
}
END
cat >"$NANOPOD_STACKS/toy/fragile.sh" <<'END'
want() {
	if np_changing && [ "$NP_NODE" = "$S_break" ]; then
		echo "E: the first line that matters"; echo "E: the last line that matters"
		np_hint "mend it"; np_fail "it was told to break"; return 1
	fi
	echo fine | np_file /etc/toy.fragile 0644 root:root
}
END
cat >"$NANOPOD_STACKS/toy/drain.sh" <<'END'
drain() { echo "drain $*" >>/var/tmp/toy.calls; }
undrain() { echo "undrain $*" >>/var/tmp/toy.calls; }
leave() { echo "leave $*" >>/var/tmp/toy.calls; }
END

cluster_nodes 3
TWO=(-w 'train-[1-2]' "${CLUSTER_WAY[@]}")
np() { "$NANOPOD" provision "$@" </dev/null; }
npc() { "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}" </dev/null; }
STATE=$HOME/.local/state/nanopod/clusters/train
pictures before

# ---- A file for what is there --------------------------------------------------------------------------------------
run_is 0 "init of a reservation" npc init -r train toy --name made --file "$TMP/made.yaml"
like "$err" "wrote '$TMP/made.yaml'; 'nanopod provision $TMP/made.yaml' applies it" "says what to type" || diag "$err"
like "$(cat "$TMP/made.yaml")" '^# +train-3 \(train-3, [0-9.]+\): debian 12 [a-z0-9_]+, [0-9]+ CPUs, [0-9]+ MiB' "it tells what was found, in comments"
like "$(cat "$TMP/made.yaml")" 'text:' "and the stack's settings"
not_ok "nothing is kept of it" test -e "$HOME/.local/state/nanopod/clusters/made/cluster.yaml"
run_is 5 "init again" npc init -r train toy --name made --file "$TMP/made.yaml"
run_is 0 "the file, unchanged, applied" npc "$TMP/made.yaml" -y
is "$(on_nodes 'cat /etc/toy.conf' | xargs)" "hello hello hello" "does it on all"
run_is 0 "and has nothing left to do" npc plan "$TMP/made.yaml" --detailed-exitcode
run_is 0 "remove" npc remove made -y

# ---- Plan ----------------------------------------------------------------------------------------------------------
run_is 0 "a plan" np plan "${TWO[@]}" toy --name train
like "$out" "^train-\[1-2\]$|^train-1$" "names the nodes"
like "$out" "toy/conf +write /etc/toy.conf" "says what would be written"
run_is 10 "with --detailed-exitcode" np plan "${TWO[@]}" toy --name train --detailed-exitcode
run_is 0 "with --diff" np plan "${TWO[@]}" toy --name train --diff
like "$out" "^ +\+hello" "the lines"
run_is 0 "as JSON" np plan "${TWO[@]}" toy --name train -o json
is "$(jq -r '.changes | map(select(.step == "conf")) | length' <<<"$out")" 2 "one object with every change"
run_is 0 "as JSON Lines" np plan "${TWO[@]}" toy --name train -o jsonl
is "$(jq -rs 'map(select(.event == "differs" and .step == "conf")) | length' <<<"$out")" 2 "a line a change"
is "$(jq -rs '(map(.seq) == [range(1; length + 1)]) and all(.time | test("^20.*Z$"))' <<<"$out")" true "numbered, with times"
run_is 2 "nobody to ask" np "${TWO[@]}" toy --name train
ok "nothing was changed" in_node train-1 '[ ! -e /etc/toy.conf ] && [ ! -e /var/lib/nanopod ]'
ok "and nothing is kept" test ! -e "$STATE" || diag "$(tail -n +1 "$STATE"/*.jsonl "$STATE"/logs/* 2>&1)"

# ---- Apply, repeat, verify -----------------------------------------------------------------------------------------
run_is 0 "apply" np "${TWO[@]}" toy --name train -y
like "$err" "changes to make on 2 of 2 nodes" "shows the plan all the same"
like "$err" "^train-2 toy/conf: write /etc/toy.conf" "a line a change"
like "$err" "'train' is as its file says" "and how it ended"
is "$(in_node train-1 'sha256sum </etc/toy.key')" "$(in_node train-2 'sha256sum </etc/toy.key')" "both have the key"
is "$(stat -c %a "$STATE" "$STATE/cluster.yaml" "$STATE/journal.jsonl" "$STATE/logs" | tr '\n' ' ')" "700 600 600 700 " "what is kept is its owner's alone"
run_is 0 "once more by its name" npc apply train -y
like "$err" "nothing to do" "has nothing to do"
run_is 0 "plan" npc plan train --detailed-exitcode
run_is 0 "verify" npc verify train
like "$out" "[0-9]+ checks hold, 0 do not" "says how many checks hold"
run_is 0 "status" npc status train -o json
is "$(jq -r '.[] | "\(.node) \(.state) \(.roles)"' <<<"$out" | head -n 1)" "train-1 ready base.nodes,toy.lead" "of each node"
run_is 0 "list" np list -o json
is "$(jq -r '.[] | "\(.cluster) \(.nodes) \(.members) \(.last)"' <<<"$out")" "train 2 train-[1-2] verify: ok" "has it"

# ---- Drift -----------------------------------------------------------------------------------------------------------
in_node train-2 ': >/etc/toy.conf'
run_is 11 "verify of what was broken" npc verify train
like "$out" "train-2 toy/conf: check failed: toy.conf is empty" "says what"
like "$err" "a check failed" "and that it is not well"
run_is 10 "plan" npc plan train --detailed-exitcode
like "$out" "^train-2$" "shows the node alone"
unlike "$out" "train-1" "and not the other"
run_is 0 "apply mends it" npc apply train -y
ok "there" in_node train-2 'grep -qx hello /etc/toy.conf'
run_is 0 "a setting" npc apply train --set toy.text=servus -y
ok "is written" in_node train-1 'grep -qx servus /etc/toy.conf'
run_is 0 "and kept" npc plan train --detailed-exitcode

# ---- A step that fails -----------------------------------------------------------------------------------------------
on_nodes 'rm -f /etc/toy.fragile'
run_is 10 "a step that fails on one node" npc apply train --set toy.break=train-2 -y
like "$err" "toy/fragile failed on train-2" "is named"
like "$err" "\| E: the last line that matters" "with the lines of its log"
like "$err" "cause  it was told to break" "its cause"
like "$err" "next   mend it" "and what to type"
log=$(printf '%s\n' "$err" | sed -n 's/^  log    //p')
ok "the log is kept" grep -q "the first line that matters" "$log"
is "$(stat -c %a "$log")" 600 "for its owner alone"
ok "the other node went on" in_node train-1 'grep -qx fine /etc/toy.fragile'
run_is 10 "plan" npc plan train --detailed-exitcode
like "$out" "begun and not finished|finish an interrupted step" "knows that it was begun"
run_is 10 "with -o json" npc apply train -y -o json
is "$(jq -r '.steps[] | select(.ok == false) | .text' <<<"$out")" "it was told to break" "the object has it"
run_is 10 "with -o jsonl" npc apply train -y -o jsonl
is "$(jq -rs 'map(select(.event == "end" and .ok == false)) | map("\(.node) \(.stack)/\(.step) \(.text) \(.hint)") | .[]' <<<"$out")" \
	"train-2 toy/fragile it was told to break mend it" "a line has it"
is "$(jq -rs 'map(select(.event == "end" and .ok == false)) | .[0].log' <<<"$out")" "$log" "with its log"
is "$(jq -rs 'map(select(.event == "lost")) | map(.node) | join(" ")' <<<"$out")" train-2 "and that the node is out"
like "$err" "1 of 2 nodes failed" "and for people what it comes to"
run_is 0 "mended" npc apply train --set toy.break= -y

# ---- Ctrl-C, and two at once --------------------------------------------------------------------------------------------
on_nodes 'rm -f /etc/toy.slow /run/toy.begun'
"$NANOPOD" provision apply train --set toy.slow=900 "${CLUSTER_WAY[@]}" -y </dev/null >"$TMP/slow.out" 2>"$TMP/slow.err" &
slow=$!
wait_for 30 in_node train-1 '[ -e /run/toy.begun ]'
run_is 5 "a second one here" npc apply train -y
like "$err" "process $slow|process [0-9]+" "is refused and told who"
XDG_STATE_HOME=$TMP/elsewhere run_is 5 "one of somebody else's" np -w 'train-[1-2]' "${CLUSTER_WAY[@]}" toy --name train --set toy.text=x -y
like "$err" "is being provisioned by .*nanopod" "is refused by the nodes, and told who"
kill -INT $slow
ok "Ctrl-C lets what runs go on to its end" wait_for 10 grep -q 'Ctrl-C again' "$TMP/slow.err"
kill -INT $slow
wait $slow
is $? 130 "the second one does not"
like "$(cat "$TMP/slow.err")" "provision apply train" "says what goes on" || diag "$(cat "$TMP/slow.err")"
run_is 10 "plan" npc plan train --detailed-exitcode
like "$out" "toy/slow" "knows what is missing"
run_is 0 "the same again goes on" npc apply train --set toy.slow=0 -y
run_is 0 "to the end" npc plan train --detailed-exitcode

# ---- Secrets ---------------------------------------------------------------------------------------------------------------
key=$(in_node train-1 'cat /etc/toy.key')
is "$(grep -rl -e "$key" -e "$(printf %s "$key" | base64 -w0 | cut -c1-24)" "$HOME/.local" "$TMP/slow.err" 2>/dev/null)" "" "the key is in no file of this machine"
is "$(on_nodes "grep -rl $key /var/lib/nanopod /run /tmp /var/log 2>/dev/null | grep -v /proc/")" "" "nor in one of the nodes but its own"

# ---- Nodes come and go --------------------------------------------------------------------------------------------------------
run_is 0 "a node comes" npc add train -w train-3 -y
like "$err" "^train-3$" "the plan is about it"
is "$(in_node train-3 'cat /etc/toy.key')" "$key" "it has the key"
is "$(wc -l <"$STATE/members")" 3 "and is a member"
run_is 0 "the same again" npc add train -w train-3 -y
like "$err" "nothing to do" "has nothing to do"
run_is 0 "drain" npc drain train -w train-3
is "$(in_node train-1 'tail -n 1 /var/tmp/toy.calls')" "drain train-3" "is typed on the right node"
run_is 0 "undrain" npc undrain train -w train-3
run_is 3 "drain of a stranger" npc drain train -w train-9
run_is 5 "a drop that would move a role" npc drop train -w train-1 -y
like "$err" "would become the lead" "is refused"
run_is 0 "a node goes" npc drop train -w train-3 -y
like "$err" "drop train-3 from 'train'" "after a plan"
is "$(in_node train-1 'tail -n 2 /var/tmp/toy.calls | tr "\n" ,')" "drain train-3,leave train-3," "drained and forgotten"
ok "nothing of it is there" in_node train-3 '[ ! -e /etc/toy.conf ] && [ ! -e /etc/toy.key ] && [ ! -e /var/lib/nanopod ]'
is "$(wc -l <"$STATE/members")" 2 "two are left"
run_is 0 "which need nothing" npc plan train --detailed-exitcode

# ---- A node that cannot be reached ------------------------------------------------------------------------------------------------
sed 's/train-\[1-2\]/train-[1-2],127.9.9.9:1/' "$STATE/cluster.yaml" >"$TMP/three.yaml"
run_is 10 "with a node that is not there" npc plan "$TMP/three.yaml" --connect-timeout 20s
like "$err" "127.9.9.9:1.*not reached|127.9.9.9:1: " "is told"

# Part of a cluster all the same: what is away is told, and let go only where that is asked for.
AWAY=(--connect-timeout 20s)
run_is 10 "applied with it" npc "$TMP/three.yaml" -y "${AWAY[@]}"
run_is 0 "drop of a node that is away" npc drop train -w 127.9.9.9:1 -y "${AWAY[@]}"
like "$err" "dropped nodes may still have what was installed" "says that it was not emptied" || diag "$err"
is "$(wc -l <"$STATE/members")" 2 "it is no member any more"
run_is 0 "the others need nothing" npc plan train --detailed-exitcode
run_is 10 "with it once more" npc "$TMP/three.yaml" -y "${AWAY[@]}"
run_is 10 "remove with a node that is away" npc remove train -y "${AWAY[@]}"
ok "the cluster is kept, as it is not done" test -e "$STATE"
run_is 10 "the same again" npc remove train -y "${AWAY[@]}"
run npc remove train --force -y "${AWAY[@]}"
like "$err" "removed 'train'" "remove --force lets it go" || diag "$status" "$err"
ok "nothing is kept" test ! -e "$STATE"
run_is 0 "(the two are what is left of it)" np "${TWO[@]}" toy --name train -y

# ---- How many may fail --------------------------------------------------------------------------------------------------------------
MANY=(-r train toy --name many --set toy.text=many --set 'toy.early=train-2 train-3' -y)
run_is 0 "(the two are free again)" npc remove train -y
# The node that is well is not at its last step before another one failed.
run_is 10 "--max-fail" npc "${MANY[@]}" --set toy.slow=30 --max-fail 1
like "$err" "--max-fail.*nothing more starts" "says that it stops" || diag "$err"
ok "the node that is well is not gone on with" in_node train-1 '[ ! -e /etc/toy.fragile ]'
run_is 10 "without it" npc "${MANY[@]}" --set toy.slow=0
ok "it is" in_node train-1 '[ -e /etc/toy.fragile ]'
like "$err" "2 of 3 nodes failed" "of three"
run_is 0 "remove" npc remove many -y
run_is 0 "(and again, to be removed)" np "${TWO[@]}" toy --name train -y

# ---- The end --------------------------------------------------------------------------------------------------------------------------
run_is 0 "remove" npc remove train -y
like "$err" "removed 'train'" "says so"
ok "nothing is kept" test ! -e "$STATE"
ok "nothing is left there" in_node train-1 'rm -f /var/tmp/toy.calls; [ ! -e /etc/toy.conf ] && [ ! -e /etc/toy.key ] && [ ! -e /var/lib/nanopod ]'
# What timedatectl of the facts woke goes to sleep by itself, later.
on_nodes 'systemctl stop systemd-timedated 2>/dev/null || :'
pictures after
for node in train-1 train-2 train-3; do same_picture before after $node "$node is as it was"; done
done_testing
