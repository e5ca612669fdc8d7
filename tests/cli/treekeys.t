#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a node of `nanopod cp --tree` does to authorized_keys, alone and beside others: the functions of treenode.sh.
. "$(dirname "$0")/../lib/tap.sh"

sed '/^read -r index mark/,$d' "$SRC/cli/tree/treenode.sh" >"$TMP/functions"
ok "the functions are there" grep -q '^keys_add()' "$TMP/functions"
cat >"$TMP/node" <<'END'
node_index=$1 node_command=$2
set -- c0ffee to base 1 644 '' 0
. "$TMP/functions"
index=$node_index dir=$TMP/dir.$node_index
mkdir -p "$dir"
eval "$node_command"
END
# node INDEX COMMAND: in a node of the copy "c0ffee"; COMMAND is evaluated.
node() { sh "$TMP/node" "$1" "$2"; }
keys=$HOME/.ssh/authorized_keys
mine='ssh-ed25519 AAAAmine me@here'
# fresh [FORMAT]: a file of keys with one of this user's.
fresh() {
	rm -rf "$HOME/.ssh" "$TMP"/dir.*
	mkdir -m 700 "$HOME/.ssh"
	printf "${1-%s\n}" "$mine" >"$keys"
	chmod 600 "$keys"
}
alone() { [ "$(ls -A "$HOME/.ssh")" = authorized_keys ]; }

# ---- A line comes and goes ----
fresh; chmod 640 "$keys"; cp -p "$keys" "$TMP/was"
run_is 0 "a key is added" node 4 'keys_add 7 192.0.2.1 ssh-ed25519 AAAAchild'
is "$(wc -l <"$keys")" 2 "to the one that was there"
like "$(cat "$keys")" '^restrict,command="sh .*/serve",expiry-time="[0-9]+",from="192.0.2.1" ssh-ed25519 AAAAchild nano' \
	"restricted"
is "$(stat -c %a "$keys")" 640 "the mode is kept"
node 4 'keys_add 71 - ssh-ed25519 AAAAother'
run_is 0 "it is removed" node 4 'keys_drop "nanopod-tree-$id-$index-7[.]"'
like "$(cat "$keys")" 'AAAAother' "and no other one"
node 4 'keys_drop "nanopod-tree-$id-$index-"'
ok "at the end the file is as it was" cmp "$keys" "$TMP/was"
ok "and alone" alone
fresh %s; cp "$keys" "$TMP/was"
node 4 'keys_add 7 - ssh-ed25519 AAAAchild'
is "$(grep -c AAAA "$keys")" 2 "a file without a newline at its end: each key has its line"
node 4 'keys_drop nanopod-tree-'
ok "it ends without one again" cmp "$keys" "$TMP/was"
rm "$keys"
node 4 'keys_add 7 - ssh-ed25519 AAAAchild'
is "$(stat -c %a "$keys")" 600 "a file that was not there is for its owner alone"
node 4 'keys_drop nanopod-tree-'
not_ok "and goes" test -e "$keys"
mkdir "$TMP/elsewhere"; echo "$mine" >"$TMP/elsewhere/keys"; ln -s "$TMP/elsewhere/keys" "$keys"
node 4 'keys_add 7 - ssh-ed25519 AAAAchild'
ok "a link stays a link" test -L "$keys"
is "$(grep -c AAAA "$TMP/elsewhere/keys")" 2 "and its target has the key"
node 4 'keys_drop nanopod-tree-'
is "$(cat "$TMP/elsewhere/keys") $(ls -A "$TMP/elsewhere")" "$mine keys" "and loses it"

# ---- The old file stays until a whole new one is there ----
fresh; cp "$keys" "$TMP/was"
# A full disk writes a part of what is written; so does this cp, and the line does not come at all.
full='printf() { command printf "%.9s" "$2"; return 1; }'
run_is 1 "the disk is full when the line is written" node 4 "$full; keys_add 7 - ssh-ed25519 AAAAchild"
ok "the file is as it was" cmp "$keys" "$TMP/was"
ok "nothing is left" alone
run_is 1 "the disk says so later" node 4 'sync() { return 1; }; keys_add 7 - ssh-ed25519 AAAAchild'
ok "the file is as it was" cmp "$keys" "$TMP/was"
run_is 1 "the copy would have another owner" node 4 '
	stat() { case "$4" in *keys.nanopod-c0ffee*) echo 65534 0 600 ;; *) command stat "$@" ;; esac; }
	keys_add 7 - ssh-ed25519 AAAAchild'
ok "the file is as it was" cmp "$keys" "$TMP/was"
run_is 0 "somebody adds a line meanwhile" node 4 \
	'sync() { [ -e "$dir/once" ] || { : >"$dir/once"; echo "ssh-rsa AAAAtheirs" >>"$keyfile"; }; }
	keys_add 7 - ssh-ed25519 AAAAchild'
is "$(grep -c -e AAAAtheirs -e AAAAmine -e AAAAchild "$keys")" 3 "no line is lost"

# ---- One at a time ----
# A disk that has much to do holds a key for longer than the ten seconds after which a lock is taken over.
cp "$TMP/functions" "$TMP/hasty"
sed -i 's/-ge 100 /-ge 6000 /; s/-le 600 /-le 6000 /' "$TMP/functions"
fresh
for i in 1 2 3 4; do node $i 'for c in 1 2 3 4 5; do keys_add $c - ssh-ed25519 AAAAc || exit; done' & done; wait
is "$(grep -c nanopod-tree "$keys")" 20 "four nodes at once: every key is there"
for i in 1 2 3 4; do node $i 'keys_drop "nanopod-tree-$id-$index-"' & done; wait
is "$(cat "$keys")" "$mine" "and every key goes"
ok "nothing is left" alone
# Killed with the lock. Here the ten seconds pass at once until both have seen that lock, and neither of them takes it
# over before. The one that waits then gives up soon.
mkdir "$keys.nanopod-lock"; : >"$keys.nanopod-lock/node-dead-1-1"
sed 's/-le 600/-le 120/' "$TMP/hasty" >"$TMP/functions"
meet='sleep() { [ ! -e "$TMP/meet.1" ] || [ ! -e "$TMP/meet.2" ] || command sleep "$1"; }
	meet() { : >"$TMP/meet.$index"; until [ -e "$TMP/meet.1" ] && [ -e "$TMP/meet.2" ]; do command sleep 0.01; done; }
	mv() { case "$*" in *node-dead-1-1*) meet ;; esac; command mv "$@"; }'
for i in 1 2; do
	node $i "$meet
		keys_lock && { echo $i >>'$TMP/got'; until [ -e '$TMP/end' ]; do command sleep 0.01; done; keys_unlock; }
		echo $i >>'$TMP/over'" &
done
over() { [ "$(cat "$TMP/got" "$TMP/over" 2>/dev/null | wc -l)" -ge 2 ]; }
ok "two find a lock that a dead node left" wait_for 60 over
is "$(wc -l <"$TMP/got")" 1 "one of them takes it over"
: >"$TMP/end"; wait
ok "nothing is left" alone
mkdir "$keys.nanopod-lock"
run_is 0 "a lock without an owner is free" node 3 'keys_add 7 - ssh-ed25519 AAAAchild'
node 3 'keys_drop nanopod-tree-'
ok "nothing is left" alone
done_testing
