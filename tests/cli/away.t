#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nodes while the market is away: by what it told last, which is kept for this user alone and trusted no further.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
# What is kept ends by the clock of this machine.
NOW=$(($(date +%s) / 60 * 60))
nodes_up 2
kept() { ls "$HOME"/.cache/nanopod/reach-* 2>/dev/null; }
away() { printf '%s\n' "$err" | grep -c 'the market does not answer; using nodes known at .* UTC$'; }

run_is 0 "(the market is asked)" "$NANOPOD" run $WHERE -r train -- true
FILE=$(kept)
is "$(stat -c %a "$FILE")" 600 "what it told is kept, for this user alone"
is "$(find "$HOME/.cache/nanopod" -name 'reach-*' | wc -l)" 1 "in one file, and nothing else is left behind"
cp "$FILE" "$TMP/good"

# ---- A token that is refused ----
run_is 4 "a token that the market refuses" env NANOPOD_TOKEN=npk_wrong "$NANOPOD" run $WHERE -r train -- true
is "$(away)" 0 "is told, and nothing kept is used"
ok "and nothing is deleted" cmp "$FILE" "$TMP/good"

# ---- A market that accepts and says nothing ----
kill -STOP "$MARKETD_PID"
run_is 0 "a market that hangs" "$NANOPOD" ssh $WHERE train-0 -- echo there
is "$out $(away)" "there 1" "hinders nobody, and is told once"
kill -CONT "$MARKETD_PID"

# ---- No market ----
marketd_kill
run_is 0 "without a market: ssh" "$NANOPOD" ssh $WHERE train-0 -- echo there
is "$out $(away)" "there 1" "reaches the node, and it is told once"
run_is 0 "run -r" "$NANOPOD" run $WHERE -r train -- echo there
is "$(printf '%s\n' "$out" | sort | tr '\n' ' ')$(away)" "train-0: there train-1: there 1" "on all of them"
run_is 0 "run with patterns, groups and types" "$NANOPOD" run $WHERE -w 'train-*' -w @train --type richmond -x train-1 -- echo there
is "$out $(away)" "train-0: there 1" "choose as ever"
echo text >"$TMP/file"
run_is 0 "cp" "$NANOPOD" cp $WHERE "$TMP/file" "train-1:$TMP/sent"
is "$(cat "$TMP/sent") $(away)" "text 1" "copies"
run_is 0 "logs of a file" "$NANOPOD" logs $WHERE train-0 "$TMP/file"
is "$out $(away)" "train-0: text 1" "come"
"$NANOPOD" tunnel $WHERE train-0 "0:$SSHD_PORT" >"$TMP/t.out" 2>"$TMP/t.err" &
T=$!
at_exit "kill $T 2>/dev/null"
ok "a tunnel listens" wait_for 20 grep -q -- "-> train-0:$SSHD_PORT" "$TMP/t.err"
is "$(grep -c 'using nodes known at' "$TMP/t.err")" 1 "and says whence it knows"
kill -INT $T; wait $T
run_is 0 "(completion reads what is kept, too)" "$NANOPOD" complete -- ssh train-
is "$(printf '%s\n' "$out" | cut -f1 | tr '\n' ' ')" "train-0 train-1 " "(names)"
run_is 8 "with another token" env NANOPOD_TOKEN=npk_other "$NANOPOD" run $WHERE -r train -- true
is "$(away)" 0 "nothing is used: it may be another account's"
run_is 8 "what only the market does" "$NANOPOD" nodes
ok "and all that leaves the file as it was" cmp "$FILE" "$TMP/good"
OTHER=$(cut -d' ' -f2 "$SSHD_KEY.pub")
sed "s|$NODE_KEY|$OTHER|" "$TMP/good" >"$FILE"
run_is 255 "a kept host key is pinned" "$NANOPOD" ssh $WHERE train-0 -- touch "$TMP/was-there"
not_ok "and nothing is done where it is another" test -e "$TMP/was-there"

# ---- Leases that ended ----
awk -F'\t' -v OFS='\t' '$1 == "node" && $3 == "train-1" { $12 = 1000 } { print }' "$TMP/good" >"$FILE"
run_is 0 "a node whose time has ended" "$NANOPOD" hosts -r train
is "$out" train-0 "is none any more"
awk -F'\t' -v OFS='\t' '$1 == "node" { $12 = 1000 } { print }' "$TMP/good" >"$FILE"
run_is 8 "where all ended" "$NANOPOD" run $WHERE -r train -- true
is "$(away)" 0 "nothing is used"

# ---- A file that cannot be trusted ----
# refuses TEXT REASON: as $FILE is now
refuses() {
	cp -P "$FILE" "$TMP/hostile" 2>/dev/null
	run_is 8 "$1" "$NANOPOD" run $WHERE -r train -- touch "$TMP/was-there"
	like "$err" "cannot use the nodes kept in '.*/reach-[0-9a-f]*': $2; the next answer" "is refused with a reason"
	like "$err" "cannot list your nodes" "and the market's own failure is told"
	ok "and stays as it is" cmp "$FILE" "$TMP/hostile"
}
size=$(wc -c <"$TMP/good")
for n in 0 1 $((size / 3)) $((size - 1)); do
	head -c "$n" "$TMP/good" >"$FILE"
	refuses "a file cut at $n" "its text is not what nanopod writes"
done
head -c 5000 /dev/urandom >"$FILE"
refuses "garbage" "its text is not what nanopod writes"
sed 's/\(node.*\)127\./\1-oProxyCommand=x 127./' "$TMP/good" >"$FILE"
refuses "an option as an address" "its text is not what nanopod writes"
{ cat "$TMP/good"; echo more; } >"$FILE"
refuses "text behind the end" "its text is not what nanopod writes"
cp "$TMP/good" "$FILE"; chmod 666 "$FILE"
refuses "a file that others may write" "others may write it"
chmod 600 "$FILE"
truncate -s 17M "$FILE"
refuses "a huge file" "it is larger than 16 MiB"
rm "$FILE"; cp "$TMP/good" "$TMP/elsewhere"; ln -s "$TMP/elsewhere" "$FILE"
refuses "a link" "Too many levels of symbolic links"
rm "$FILE"; mkfifo -m 600 "$FILE"
run_is 8 "a pipe" "$NANOPOD" run $WHERE -r train -- true
like "$err" "it is no regular file" "hangs nobody"
rm "$FILE"
if [ "$(id -u)" -eq 0 ]; then
	cp "$TMP/good" "$FILE"; chmod 600 "$FILE"; chown 65534 "$FILE"
	refuses "a file of somebody else" "it belongs to another user"
fi
not_ok "(nothing was done)" test -e "$TMP/was-there"

# ---- The market is back ----
URL=$NANOPOD_URL
marketd_start --test-clock=$((NOW + 61)) --listen "${NANOPOD_URL#http://}" || done_testing
NANOPOD_URL=$URL
run_is 0 "once the market answers" "$NANOPOD" run $WHERE -r train -- true
is "$err" "" "all is as before"
is "$(grep -v '^looked' "$FILE")" "$(grep -v '^looked' "$TMP/good")" "and the file is good again"
run_is 0 "(another reservation)" "$NANOPOD" buy -t h100 -n 1 -d 2h -p 1.80 --name late --ssh-key "$SSHD_KEY.pub" -y
clock $((NOW + 121))
sed -i 's/^looked.*/looked\t12345/' "$FILE"
run_is 0 "a look at one reservation" "$NANOPOD" nodes -r late
is "$(grep -c '^node' "$FILE") $(tail -n 1 "$FILE" | cut -f2)" "3 3" "adds it to what is kept, and forgets no other"
is "$(grep '^looked' "$FILE" | cut -f2)" 12345 "nor when the others were seen"
mkdir -p "$HOME/.config/nanopod"
printf 'profiles: {b: {fanout: 7}}\n' >"$HOME/.config/nanopod/config.yaml" && chmod 600 "$HOME/.config/nanopod/config.yaml"
run_is 0 "(another profile)" "$NANOPOD" nodes -q --profile b
is "$(kept | wc -l)" 2 "has its own file"
done_testing
