#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod cp --tree where disks are full, hosts hang or lie, and connections are kept.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/../lib/treehosts.sh"

for tool in ssh sha256sum unshare; do have $tool || skip_all "$tool is not installed"; done
treehosts_up 4 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
tree() { timeout -k 5 300 "$NANOPOD" cp -F "$SSHD_CONFIG" --tree "$@"; }
same() { local i; for i in "$@"; do cmp -s big "$TREE/n$i/data/big" || { echo "n$i differs"; return 1; }; done; }
# in_n 3 COMMAND: in the home directory of n3.
in_n() { eval "nsenter -t \$treehosts_pid_$1 -m sh -c 'cd \"\$1\" && eval \"\$2\"' sh '$treehosts_home' \"\$2\""; }
head -c 30000000 /dev/urandom >big

# ---- A disk is full when a key is written ----
for i in 1 2; do
	# No room for a second file, and for some bytes more in the first one.
	in_n $i "{ head -c 3900 /dev/zero | tr '\0' '#'; echo; cat '$SSHD_KEY.pub'; } >data-keys
		mount -t tmpfs -o size=16k none .ssh && cp data-keys .ssh/authorized_keys && chmod 600 .ssh/authorized_keys
		cat /dev/zero >.ssh/rest 2>/dev/null"
done
run_is 0 "no disk with authorized_keys has room" tree big "n[1-2]:$DATA/"
ok "both have the file" same 1 2
for i in 1 2; do
	ok "the keys of n$i are as they were" in_n $i 'cmp .ssh/authorized_keys data-keys'
	is "$(in_n $i 'ls -A .ssh')" "authorized_keys
rest" "and nothing is left beside them"
	in_n $i 'umount .ssh && rm data-keys'
done

# ---- Kept connections ----
rm -rf "$TREE"/n*/data/*
keep="$NANOPOD run -q -F $SSHD_CONFIG --keep 5m"
at_exit "$NANOPOD keep stop >/dev/null 2>&1"
run_is 0 "connections are kept" $keep -w 'n[1-4]' -- true
run_is 0 "a copy with them" tree --keep 5m big "n[1-4]:$DATA/"
ok "all have the file" same 1 2 3 4
run_is 0 "and again" tree --keep 5m big "n[1-4]:$DATA/"
like "$err" "4 hosts had 'big' already" "which all have"
run_is 0 "the connections serve others" $keep -w 'n[1-4]' -- true
"$NANOPOD" keep stop >/dev/null 2>&1
for i in 1 2 3 4; do
	ok "the keys of n$i are as they were" cmp "$SSHD_KEY.pub" "$TREE/n$i/home/.ssh/authorized_keys"
done

# ---- Links, and what is no file ----
for i in 1 2; do
	ln -s there "$TREE/n$i/data/link"; echo old >"$TREE/n$i/data/old"; ln -s old "$TREE/n$i/data/to-old"
	ln -s no/such "$TREE/n$i/data/lost"; mkfifo "$TREE/n$i/data/fifo"
done
run_is 0 "to a link to a file" tree big "n[1-2]:$DATA/to-old"
ok "the file is replaced" cmp big "$TREE/n1/data/old"
ok "the link stays" test -L "$TREE/n2/data/to-old"
run_is 0 "to a link to a file that does not exist" tree big "n[1-2]:$DATA/link"
ok "the file is made" cmp big "$TREE/n2/data/there"
ok "the link stays" test -L "$TREE/n1/data/link"
run_is 10 "to a link that leads nowhere" tree big "n[1-2]:$DATA/lost"
like "$err" "'$DATA/lost' on the host is a link that leads nowhere" "is said"
ok "the link stays" test -L "$TREE/n1/data/lost"
run_is 10 "to a pipe" tree big "n[1-2]:$DATA/fifo"
like "$err" "'$DATA/fifo' on the host is not a plain file" "is said"
ok "it stays" test -p "$TREE/n1/data/fifo"

# ---- Parents that lie ----
rm -rf "$TREE"/n*/data/*
cp "$(command -v tail)" "$TMP/tail"
cat >"$TMP/liar" <<END
#!/bin/sh
case "\$1 \$2" in '-c +'*) "$TMP/tail" "\$@" | tr '\\0-\\377' x ;; *) exec "$TMP/tail" "\$@" ;; esac
END
chmod 755 "$TMP/liar"
for i in 1 2 3 4; do in_n $i "mount --bind '$TMP/liar' '$(readlink -f "$(command -v tail)")'"; done
run_is 0 "what hosts send to each other is not what they have" tree big "n[1-4]:$DATA/"
ok "all have the file" same 1 2 3 4
like "$err" "^nanopod: [1-3] hosts? got 'big' from here, because .*: what they sent differs from the source" "from here"
for i in 1 2 3 4; do in_n $i "umount '$(readlink -f "$(command -v tail)")'"; done

# ---- Killed, and continued ----
rm -rf "$TREE"/n*/data/*
head -c 150000000 /dev/urandom >big
part_of() { stat -c %s "$TREE/n$1/data/".*part; }
treehosts_stuck 100000000 1 2
half() { [ "$(part_of 1)" -gt 80000000 ] && [ "$(part_of 2)" -gt 80000000 ]; }
"$NANOPOD" cp -F "$SSHD_CONFIG" --tree --resume big "n[1-2]:$DATA/" 2>err & pid=$!
ok "both hosts have more than half of it" wait_for 60 half
kill -KILL $pid; wait $pid 2>/dev/null
ok "kill -9: the hosts clean up" wait_for 60 rmdir "$TMP/tmp"
mkdir "$TMP/tmp"
ok "the parts stay" half
: >go
run_is 0 "--resume" tree --resume big "n[1-2]:$DATA/"
ok "both have the file" same 1 2
sent=$(printf '%s\n' "$err" | sed -n 's/.* \([0-9]*\)[.0-9]* MiB sent from here.*/\1/p')
# Both rests are less than the whole: on a busy machine one looks slow, and gets its own from here, too.
ok "and got only the rest" test "$sent" -lt $((150000000 / 1048576)) || diag "$err"

# ---- The host that has most hangs ----
rm -rf "$TREE"/n*/data/*
most() { for i in 1 2 3 4; do stat -c "%s $i" "$TREE/n$i/data/".*part 2>/dev/null; done | sort -n | tail -n 1; }
begun() { set -- $(most); [ "${1:-0}" -gt 20000000 ]; }
below() { echo $1; for child in $(cat /proc/$1/task/*/children 2>/dev/null); do below $child; done; }
"$NANOPOD" cp -F "$SSHD_CONFIG" --tree big "n[1-4]:$DATA/" 2>err & pid=$!
wait_for 60 begun
set -- $(most)
hangs=$2 stopped=$(eval "below \$treehosts_pid_$2")
kill -STOP $stopped
others() { case $hangs in 1) same 2 3 4 ;; 2) same 1 3 4 ;; 3) same 1 2 4 ;; *) same 1 2 3 ;; esac; }
ok "the others get the file from another one" wait_for 120 others
kill -CONT $stopped
status=0; wait $pid || status=$?
is "$status" 0 "then it goes on" || diag "$(cat err)"
ok "and has the file, too" same 1 2 3 4
for i in 1 2 3 4; do
	ok "the keys of n$i are as they were" cmp "$SSHD_KEY.pub" "$TREE/n$i/home/.ssh/authorized_keys"
done
done_testing
