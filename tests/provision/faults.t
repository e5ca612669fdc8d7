#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong on real nodes while they are provisioned, and what is said then: a node that is down, one that restarts in
# the middle, a step that hangs, no mirror, full disks there and here, a wrong clock, another release, a hostile name, sudo
# with and without password. Three of these stand in for what they are, and say so: nodes of the driver ns share this
# machine's clock and its release. Needs root, an image and packages (tests/lib/cluster.sh says where from).
TEST_IMAGES=${NANOPOD_TEST_IMAGES-} TEST_DEBS=${NANOPOD_TEST_DEBS-}
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/cluster.sh"
"$NANOPOD" provision --help >/dev/null 2>&1 || skip_all "this nanopod has no 'provision'"
cluster_repo slurm
cluster_nodes 3
pictures before
N123=$CLUSTER_NODES

# Stacks of the test beside the real ones.
NANOPOD_STACKS=$TMP/stacks
export NANOPOD_STACKS
mkdir "$NANOPOD_STACKS"
ln -s "$SRC"/stacks/* "$SRC"/tests/provision/stacks/* "$NANOPOD_STACKS"

provision() { timeout -k 5 300 "$NANOPOD" provision "$@" "${CLUSTER_WAY[@]}"; }
# By names of OpenSSH's config, which here has nodes that are none, too.
HOSTS=(--ssh-config "$CLUSTER_CONFIG" --agent none)
by_name() { timeout -k 5 300 "$NANOPOD" provision "$@" "${HOSTS[@]}"; }
said() {
	[ -z "${TEST_SHOW-}" ] || diag "$out" "$err"
	like "$out
$err" "$1" "$2"
}
unsaid() { unlike "$out
$err" "$1" "$2"; }
forget() { rm -rf "$HOME/.local/state/nanopod/clusters"; }
clean() { in_node "$1" 'rm -rf /etc/tiny.* /var/lib/nanopod /run/nanopod-lock; sed -i "/nanopod/,/nanopod/d" /etc/hosts' >/dev/null; }
has() { in_node "$1" "cat $2 2>/dev/null"; }

# ---- A node that is down ---------------------------------------------------------------------------------------
cat >>"$CLUSTER_CONFIG" <<-END_HOST
	Host gone
		HostName 127.0.0.1
		Port 1
		User root
END_HOST
FROM=$(date +%s)
run by_name -w train-1,train-2,gone tiny --name down -y
is "$status" 10 "a node that is down: done for some" || diag "$out" "$err"
said 'gone.*(refused|reach|connect)' "it is named, with the reason"
is "$(has train-1 /etc/tiny.last; has train-2 /etc/tiny.last)" "last
last" "the others are done"
ok "without a long wait" test $(($(date +%s) - FROM)) -lt 100
run by_name remove down -y
unsaid 'Assertion|Sanitizer' "(remove with a node that is down)"
is "$(has train-1 /etc/tiny.conf)$(has train-2 /etc/tiny.conf)" "" "what could be removed was"
forget

# ---- A step that hangs ------------------------------------------------------------------------------------------------
FROM=$(date +%s)
run provision -r train tiny --name hang --set tiny.hang=train-2 -y
is "$status" 10 "a step that never ends" || diag "$out" "$err"
said 'train-2.*(15 s|timed out|took|time)|slow.*(15 s|timed out|time)' "is ended, and said"
ok "at its limit" test $(($(date +%s) - FROM)) -lt 150
is "$(has train-1 /etc/tiny.last; has train-3 /etc/tiny.last)" "last
last" "the others went on"
is "$(has train-2 /etc/tiny.last)" "" "what comes after it was not done there"
none() { ! in_node train-2 'pgrep -f "sleep 86397"'; }
ok "it does not go on there" wait_for 20 none
run_is 0 "without what hung" provision -r train tiny --name hang --set tiny.hang= -y
is "$(has train-2 /etc/tiny.last)" "last" "it is done"
run_is 0 "remove" provision remove hang -y
forget

# ---- A node that restarts in the middle -----------------------------------------------------------------------------
restart_when() { wait_for 60 in_node train-2 'test -e /var/tmp/tiny.waits' && node_restart train-2; }
restart_when >"$TMP/restarted" 2>&1 &
pid=$!
run provision -r train tiny --name restart --set tiny.restart=train-2 -y
wait $pid
is $? 0 "(the node restarts)" || diag "$(cat "$TMP/restarted")"
is "$status" 0 "a node that restarts in the middle" || diag "$out" "$err"
said 'train-2.*(lost|closed).*wait' "is waited for, and that is said"
is "$(has train-2 /etc/tiny.last)" "last" "then what was begun there is done"
is "$(has train-1 /etc/tiny.last; has train-3 /etc/tiny.last)" "last
last" "the others went on"
run_is 0 "plan: nothing to do" provision plan restart --detailed-exitcode
run_is 0 "remove" provision remove restart -y
in_node train-2 "rm -f /var/tmp/tiny.waits"
forget

# ---- No mirror -----------------------------------------------------------------------------------------------------------
FROM=$(date +%s)
run provision -r train slurm --name mirror -y --skip-gate names --skip-gate route
isnt "$status" 0 "no mirror within reach" || diag "$out"
said '(mirror|fetch|candidate|package).*' "says what it lacks"
said 'airgap' "and what may help"
ok "without a long wait" test $(($(date +%s) - FROM)) -lt 200
run provision remove mirror -y
forget

# ---- Full disks --------------------------------------------------------------------------------------------------------------
in_node train-3 'mkdir -p /var/lib/nanopod && mount -t tmpfs -o size=1m,mode=755 tmpfs /var/lib/nanopod'
run provision -r train base --airgap "$CLUSTER_REPO" --name full -y --skip-gate disk
isnt "$status" 0 "a node's disk is full" || diag "$out"
said 'train-3.*([Nn]o space|full|disk)' "is said of that node" || diag "$out"
in_node train-3 'umount -l /var/lib/nanopod'
run_is 0 "with room" provision -r train base --airgap "$CLUSTER_REPO" --name full -y
run_is 0 "remove" provision remove full -y
forget

if unshare -m true 2>/dev/null; then
	mkdir -p "$HOME/.local/state/nanopod/clusters"
	run timeout -k 5 300 unshare -m sh -c 'mount -t tmpfs -o size=16k tmpfs "$HOME/.local/state/nanopod/clusters" && dd if=/dev/zero of="$HOME/.local/state/nanopod/clusters/fill" 2>/dev/null; exec "$@"' sh \
		"$NANOPOD" provision -r train tiny --name here -y "${CLUSTER_WAY[@]}"
	isnt "$status" 0 "this machine's disk is full: nothing is begun without a journal" || diag "$out" "$err"
	said '[Nn]o space|full' "and that is said"
	is "$(has train-1 /etc/tiny.conf)" "" "(nothing was begun)"
	forget
fi

# ---- A wrong clock, another release, a hostile name: all three are stand-ins ----------------------------------------------------
# A node cannot have a clock of its own here: its 'date' says another time, and that is what is looked at.
in_node train-2 'printf "#!/bin/sh\nexec /usr/bin/date -d \"+1 hour\" \"\$@\"\n" >/usr/local/bin/date; chmod 755 /usr/local/bin/date'
run provision -r train tiny --name clock -y
isnt "$status" 0 "a clock that is an hour ahead (a stand-in: its 'date' says so)" || diag "$out" "$err"
said 'train-2.*clock|clock.*train-2' "is refused, by name"
is "$(has train-2 /etc/tiny.conf)" "" "nothing is done there"
in_node train-2 'rm /usr/local/bin/date'
run provision remove clock -y
for node in $N123; do clean "$node"; done
forget

in_node train-3 'cp -p /usr/lib/os-release /run/os-release; sed -i "s/^VERSION_ID=.*/VERSION_ID=\"11\"/; s/bookworm/bullseye/g; s/(12)/(11)/" /usr/lib/os-release'
run provision plan -r train tiny --name release
said 'train-3.*(release|Debian|debian|11|bullseye)|(release|Debian|debian).*train-3' "another release of Debian (a stand-in: its os-release says so) is told"
in_node train-3 'cp -p /run/os-release /usr/lib/os-release'
forget

in_node train-1 'perl -e "syscall(170, my \$n = q(x\$(touch /tmp/pwned);\`id\`), length q(x\$(touch /tmp/pwned);\`id\`))"'
like "$(in_node train-1 'uname -n')" 'pwned' "(a node with a hostile name)"
run provision -r train tiny --name hostile -y
isnt "$status" 0 "is refused" || diag "$out"
said 'train-1.*name|name.*train-1' "by name"
unsaid "$(printf '\033')" "no control character is printed"
is "$(on_nodes 'ls /tmp/pwned 2>/dev/null')$(ls /tmp/pwned 2>/dev/null)" "" "and nothing of it was run"
in_node train-1 'perl -e "syscall(170, my \$n = q(train-1), 7)"'
run provision remove hostile -y
for node in $N123; do clean "$node"; done
forget

# ---- Not root, but sudo -----------------------------------------------------------------------------------------------------------
PASSWORD="it's \$(secret) \\ $$"
cluster_sudo train-1
cluster_sudo train-2 "$PASSWORD"
in_node train-3 'id bob >/dev/null 2>&1 || useradd -m -s /bin/bash bob; install -d -m 700 -o bob -g bob /home/bob/.ssh'
in_node_stdin train-3 'cat >/home/bob/.ssh/authorized_keys; chown bob:bob /home/bob/.ssh/authorized_keys' <"$TMP/buyer.pub"
run by_name -w train-1 tiny --name bob -y -l bob
is "$status" 0 "sudo without a password" || diag "$out" "$err"
is "$(has train-1 /etc/tiny.last)" last "does it"
is "$(in_node train-1 'stat -c %U /etc/tiny.conf')" root "as root"
run_is 0 "remove" by_name remove bob -y -l bob
forget
run by_name -w 'train-[1-2]' tiny --name bob -y -l bob
isnt "$status" 0 "sudo with a password that nobody gives" || diag "$out"
said 'train-2.*(password|sudo)|(password|sudo).*train-2' "is told"
said 'NANOPOD_SUDO_PASSWORD|--ask-sudo' "with what to do"
forget; clean train-1
export NANOPOD_SUDO_PASSWORD=wrong
run by_name -w 'train-[1-2]' tiny --name bob -y -l bob
isnt "$status" 0 "a wrong one" || diag "$out"
said 'train-2.*(password|sudo)|(password|sudo).*train-2' "is told"
forget; clean train-1
NANOPOD_SUDO_PASSWORD=$PASSWORD
run by_name -w 'train-[1-2]' tiny --name bob -y -l bob
is "$status" 0 "the right one" || diag "$out" "$err"
is "$(has train-1 /etc/tiny.last; has train-2 /etc/tiny.last)" "last
last" "does it on both"
is "$(grep -rlF "$PASSWORD" "$HOME" "$TMP/.out" "$TMP/.err")" "" "and is in no file here"
is "$(in_node_stdin train-2 'read -r p; { grep -rlF "$p" /etc /var /root /home /tmp; journalctl -q --no-pager | grep -F "$p"; } 2>/dev/null' <<<"$PASSWORD")" "" "nor there"
run_is 0 "remove" by_name remove bob -y -l bob
forget
unset NANOPOD_SUDO_PASSWORD
# Typed on a terminal: it is asked for once, when a node wants it or, with --ask-sudo, at first.
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
asked() { script=$1; shift; "$PTY" "$script" "$NANOPOD" provision "$@" "${HOSTS[@]}"; }
if [ -x "$PTY" ]; then
	TYPED=$(sed 's/\\/\\\\/g' <<<"$PASSWORD")
	printf '%s\n' "expect Password of sudo on 'train-2'" 'echo off' "send $TYPED\\n" 'echo on' 'expect Do it?' 'send y\n' >"$TMP.script"
	at_exit 'rm -f "$TMP.script"'
	run asked "$TMP.script" -w 'train-[1-2]' tiny --name bob -l bob
	is "$status" 0 "typed, when a node wants it" || diag "$out" "$err"
	is "$(has train-1 /etc/tiny.last; has train-2 /etc/tiny.last)" "last
last" "it is done on both"
	unsaid 'secret' "and it is not shown"
	printf '%s\n' "expect Password of sudo on the nodes" 'echo off' "send $TYPED\\n" 'echo on' >"$TMP.script"
	run asked "$TMP.script" remove bob -y -l bob --ask-sudo
	is "$status" 0 "typed, with --ask-sudo" || diag "$out" "$err"
	is "$(has train-1 /etc/tiny.last; has train-2 /etc/tiny.last)" "" "it is removed from both"
	printf '%s\n' "expect Password of sudo on the nodes" 'echo off' 'send wrong\n' 'echo on' >"$TMP.script"
	run asked "$TMP.script" plan -w 'train-[1-2]' tiny --name bob -l bob --ask-sudo
	is "$status" 10 "a wrong one is refused" || diag "$out" "$err"
	said 'train-2.*(password|sudo)|(password|sudo).*train-2' "by name"
	printf '%s\n' "expect Password of sudo on 'train-2'" 'echo off' 'send \x03' 'echo on' >"$TMP.script"
	run asked "$TMP.script" plan -w 'train-[1-2]' tiny --name bob -l bob
	is "$status" 130 "Ctrl-C at the question" || diag "$out" "$err"
	printf '%s\n' "expect Password of sudo on the nodes" 'echo off' 'send \x03' 'echo on' >"$TMP.script"
	run asked "$TMP.script" plan -w 'train-[1-2]' tiny --name bob -l bob --ask-sudo
	is "$status" 130 "and with --ask-sudo" || diag "$out" "$err"
	ok "nothing was begun" in_node train-2 '[ ! -e /var/lib/nanopod ]'
	forget
else
	skip "tests/lib/pty is not built"
fi
run by_name -w train-3 tiny --name bob -y -l bob
isnt "$status" 0 "a user who may not" || diag "$out"
said 'sudo|root' "is told"
forget
for node in $N123; do in_node $node 'loginctl terminate-user bob; pkill -9 -u bob; rm -f /etc/sudoers.d/bob; for i in $(seq 100); do userdel -r bob; id -u bob || exit; sleep 0.3; done' >/dev/null; done

pictures after
for node in $N123; do same_picture before after "$node" "$node is as it was, after all that"; done
done_testing
