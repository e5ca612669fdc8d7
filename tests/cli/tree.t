#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod cp --tree against real sshd that share neither homes nor disks.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/../lib/treehosts.sh"

for tool in ssh sha256sum unshare; do have $tool || skip_all "$tool is not installed"; done
treehosts_up 8 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
tree() { timeout -k 5 300 "$NANOPOD" cp -F "$SSHD_CONFIG" --tree "$@"; }
# What all hosts but those that are named have under the name $1.
same() {
	local name=$1 i; shift
	for i in 1 2 3 4 5 6 7 8; do
		case " $* " in *" $i "*) continue ;; esac
		cmp -s "$name" "$TREE/n$i/data/${as:-$name}" || { echo "n$i differs"; return 1; }
	done
}
# Nothing of ours is left: keys, locks, part files, temporary folders.
clean() {
	local i
	for i in 1 2 3 4 5 6 7 8; do
		case " $* " in *" $i "*) continue ;; esac
		cmp -s "$SSHD_KEY.pub" "$TREE/n$i/home/.ssh/authorized_keys" || { echo "keys of n$i"; return 1; }
		[ "$(ls -A "$TREE/n$i/home/.ssh")" = authorized_keys ] || { echo "n$i .ssh"; return 1; }
		! ls -A "$TREE/n$i/data" | grep -q part || { echo "parts of n$i"; return 1; }
	done
	[ -z "$(ls "$TMP/tmp")" ] || { ls "$TMP/tmp"; return 1; }
}
sent() { printf '%s\n' "$err" | sed -n 's/.* \([0-9.]*\) MiB sent from here.*/\1/p'; }

# ---- All goes well ----
head -c 60000000 /dev/urandom >big; chmod 750 big; touch -d '2001-02-03 04:05:06' big
run_is 0 "to eight hosts" tree -p big "n[1-8]:$DATA/"
ok "all have it" same big
is "$(stat -c '%a %Y' "$TREE/n5/data/big")" "$(stat -c '%a %Y' big)" "-p keeps mode and time"
# Once, and again for each host that a busy machine made look slow.
ok "it left this machine far fewer than eight times" test "$(sent | cut -d. -f1)" -lt 230 || diag "$err"
ok "nothing temporary is left" clean
run_is 0 "again" tree big "n[1-8]:$DATA/"
like "$err" "8 hosts had 'big' already" "hosts that have the content get nothing"
like "$err" "^nanopod: 0 B sent" "nothing is sent"
rm "$TREE/n1/data/big"; echo other >"$TREE/n2/data/big"; chmod 604 "$TREE/n2/data/big"; head -c 60000000 /dev/zero >"$TREE/n3/data/big"
run_is 0 "to those that lack it, or have another" tree big "n[1-8]:$DATA/"
ok "all have it" same big
is "$(stat -c %a "$TREE/n2/data/big")" 604 "a file that is replaced gives its mode"
like "$err" "5 hosts had 'big' already" "the others had it"
: >none; run_is 0 "an empty file" tree none "n[1-8]:$DATA/new name"
as='new name'; ok "is there" same none; as=
run_is 10 "a directory that is not there" tree big "n[1-8]:$DATA/no/such"
like "$err" "no such directory" "is said"
run_is 2 "a directory as source" tree -r "$TREE" "n[1-8]:$DATA/"
like "$err" "not a plain file" "is refused"
run_is 2 "from hosts" tree "n[1-2]:$DATA/big" got/
run_is 2 "a file for each host" tree 'conf/{host}' "n[1-8]:$DATA/"
like "$err" "leave out '--tree'" "is refused"
printf %s "$(cat "$SSHD_KEY.pub")" >"$TREE/n1/home/.ssh/authorized_keys"
run_is 0 "a file of keys without a newline at its end" tree big "n[1-8]:$DATA/newline"
is "$(cat "$TREE/n1/home/.ssh/authorized_keys" | wc -c)" $(($(wc -c <"$SSHD_KEY.pub") - 1)) "is as it was"
cp "$SSHD_KEY.pub" "$TREE/n1/home/.ssh/authorized_keys"
ok "nothing temporary is left" clean


# ---- Hosts that cannot take it from others ----
rm -rf "$TREE"/n*/data/*
treehosts_break 3 ssh; treehosts_break 6 ssh-keygen
run_is 0 "one whose ssh fails, one without ssh-keygen" tree big "n[1-8]:$DATA/"
ok "all have it" same big
like "$err" "^nanopod: 2 hosts got 'big' from here, because they cannot take it from another host: n3: ." "is said, of them alone"
ok "nothing temporary is left" clean

treehosts_mend 3 ssh; treehosts_mend 6 ssh-keygen

# ---- One is killed on the way ----
rm -rf "$TREE"/n*/data/*
head -c 150000000 /dev/urandom >huge
grown() { local f; for f in "$TREE/n$1/data/".*part; do [ -f "$f" ] && [ "$(stat -c %s "$f")" -gt "$2" ] && return; done; return 1; }
begin() { "$NANOPOD" cp -F "$SSHD_CONFIG" --tree "$@" 2>err & pid=$!; }
treehosts_stuck 100000000 1 2 3 4 5 6 7 8
begin huge "n[1-8]:$DATA/"
ok "(n4 has a part of it)" wait_for 60 grown 4 20000000
treehosts_kill 4
: >go
status=0; wait $pid || status=$?
is "$status" 10 "one host dies on the way"
like "$(cat err)" "n4" "which is told"
ok "all others have it" same huge 4
not_ok "it has no half file" test -e "$TREE/n4/data/huge"
ok "nothing temporary is left on the others" eval 'rm -rf "$TMP/tmp"/*; clean 4'

# ---- The command is killed ----
rm -rf "$TREE"/n*/data/* go
begin huge "n[1-3,5-8]:$DATA/"
ok "(n6 has a part of it)" wait_for 60 grown 6 20000000
kill -KILL $pid; wait $pid 2>/dev/null
ok "kill -9 of the command: the hosts clean up" wait_for 30 clean 4
not_ok "no half file" ls "$TREE"/n[1-8]/data/huge
begin --resume huge "n[1-3,5-8]:$DATA/"
ok "(n6 has a part of it)" wait_for 60 grown 6 50000000
kill -INT $pid
status=0; wait $pid || status=$?
is "$status" 130 "Ctrl-C"
keys_clean() { local i; for i in 1 2 3 5 6 7 8; do cmp -s "$SSHD_KEY.pub" "$TREE/n$i/home/.ssh/authorized_keys" || return 1; done; }
ok "leaves no keys" wait_for 30 keys_clean
ok "with --resume it keeps the parts" grown 6 50000000
part=$(stat -c %i "$TREE"/n6/data/.*part)
: >go
run_is 0 "--resume" tree --resume huge "n[1-3,5-8]:$DATA/"
ok "ends in the same file" same huge 4
is "$(stat -c %i "$TREE/n6/data/huge")" "$part" "which is the part that was there, continued"
diag "$(sent) MiB were sent from here"
ok "nothing temporary is left" clean 4
done_testing
