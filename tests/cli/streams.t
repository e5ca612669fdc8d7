#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod cp --streams against real sshd: a large file over several connections to one host.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 2 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
FARPATH=$BUILD/tests/bench/farpath
cp_() { timeout -k 5 200 "$NANOPOD" cp -F "$SSHD_CONFIG" "$@"; }
accepted() { grep -c '^Accepted publickey' "$SSHD_DIR/sshd.log"; }
D=$TMP/there
mkdir there small
head -c 24000001 /dev/urandom >big
head -c 17000000 /dev/urandom >other
echo alpha >small/a; ln big small/big; ln other small/other

# ---- Both ways ----
run_is 0 "to a host, by 4" cp_ --streams 4 big "n1:$D/"
ok "whole" cmp big there/big
run_is 0 "from it, by 4" cp_ --streams 4 "n1:$D/big" back
ok "whole" cmp big back
run_is 0 "a tree to two hosts, compared" cp_ --streams 3 -r -p --checksum small "n1,n2:$D/tree/"
ok "whole" diff -r small there/tree/small
is "$(stat -c '%a %Y' there/tree/small/big)" "$(stat -c '%a %Y' small/big)" "mode and time are kept"
run_is 0 "a tree from two" cp_ --streams 3 -r "n[1-2]:$TMP/small" trees/
ok "whole" diff -r small trees/n1/small
ok "the other too" diff -r small trees/n2/small
is "$(find there trees -name '*pssh-part*')" "" "no temporary name is left"

# ---- What is not split ----
# A stream that was no longer needed may still be signing in.
sessions() { cat /proc/$(echo $SSHD_PIDS)/task/*/children; } # oldest first
wait_for 60 eval '[ -z "$(sessions)" ]'
before=$(accepted)
run_is 0 "a small file" cp_ --streams 8 small/a "n1:$D/a"
is $(($(accepted) - before)) 1 "takes one connection"
before=$(accepted)
run_is 0 "an unchanged large file" cp_ -u --streams 8 -p -r small "n1:$D/tree/"
is $(($(accepted) - before)) 1 "too"
run_is 2 "more than 8" cp_ --streams 9 big "n1:$D/"
run_is 2 "with --tree" cp_ --streams 2 --tree big "n1:$D/"
like "$err" "leave out '--streams'" "what to type is said"

# ---- Modes, holes, an interrupted copy ----
cp big readonly && chmod 444 readonly
run_is 0 "a file that its owner may only read" cp_ --streams 4 readonly "n1:$D/"
ok "whole" cmp readonly there/readonly
is "$(stat -c %a there/readonly)" 444 "and keeps that mode"
{ head -c 9000000 big; truncate -s 40000000 /dev/stdout; } >holes; truncate -s 40000000 holes
dd if=other of=holes bs=1000000 seek=30 count=5 conv=notrunc status=none
run_is 0 "a file with holes" cp_ --streams 4 holes "n1:$D/"
ok "whole" cmp holes there/holes
run_is 0 "and back" cp_ --streams 4 "n1:$D/holes" backholes
ok "whole" cmp holes backholes
head -c 20000000 big >there/.resumed.pssh-part
run_is 0 "the rest of a copy" cp_ --resume --streams 4 big "n1:$D/resumed"
ok "whole" cmp big there/resumed
cat holes big >large; head -c 20000000 large >.resumed2.pssh-part
run_is 0 "and of one from a host" cp_ --resume --streams 8 "n1:$TMP/large" resumed2
ok "whole" cmp large resumed2

# ---- Over a jump host ----
# A stream that waited for its way through the jump host once slept for ever; 8 of them met that at every third copy.
for nth in 1 2 3 4; do
	run_is 0 "through a jump host, by 8: $nth" cp_ --streams 8 -J n2 big "n1:$D/jumped"
	ok "whole" cmp big there/jumped
done

# ---- A slow way: what happens in the middle ----
"$FARPATH" "$TMP/ports" 10 12 "$(sshd_address 1):$SSHD_PORT" &
way=$!
at_exit "kill -CONT $way; kill $way 2>/dev/null"
wait_for 20 [ -s "$TMP/ports" ]
printf 'Host far\n  HostName 127.0.0.1\n  Port %s\n  HostKeyAlias [%s]:%s\n' "$(cat ports)" "$(sshd_address 1)" \
	"$SSHD_PORT" | cat - "$SSHD_CONFIG" >far_config
# timeout(1) passes Ctrl-C on, and kills what has not ended so long after it: a busy machine takes its time.
far() { exec timeout -k 60 200 "$NANOPOD" cp -v -F far_config --streams 4 "$@"; }
# Where sshd parts privileges, a child has the socket.
end_sessions() { for pid; do kill -9 $pid $(cat /proc/$pid/task/*/children); done; }
# How many sessions have read or written in the middle of a file of this name. Quickly: the copy goes on meanwhile.
carrying() {
	for pid in $(sessions); do
		for fd in $(find $(printf '/proc/%s/fd ' $pid $(cat /proc/$pid/task/*/children)) -lname "*$1"); do
			! grep -q '^pos:.0$' "${fd%/fd/*}/fdinfo/${fd##*/}" || continue; echo "$pid"
		done
	done | sort -u | wc -l
}
begun() { [ "$(carrying "$2")" -ge "$1" ]; }
middle() { # FILE OPTIONS...: begins a copy and waits until all connections carry that file there
	file=$1
	shift
	wait_for 60 eval '[ -z "$(sessions)" ]'
	far "$@" 2>far.err &
	copy=$!
	wait_for 100 begun 4 "$file" || { diag "it did not begin"; cat far.err >&2; }
}

middle .pssh-part big "far:$D/cut"
set -- $(sessions)
end_sessions $3
wait $copy
is $? 0 "a stream is killed: the copy goes on"
like "$(cat far.err)" "lost one of its streams" "-v tells it"
ok "whole" cmp big there/cut

mkdir here
middle /big "far:$TMP/big" here/cut
set -- $(sessions)
end_sessions $2 $3 $4
wait $copy
is $? 0 "all but the first are killed: a copy from the host goes on"
ok "whole" cmp big here/cut

# One stream stands still, and the others may not leave it far behind; then all are lost, with what each has.
still() { # FILE: none of the others goes on
	was=$(stat -c %s "$1")
	sleep 1
	[ "$was" -ge 8000000 ] && [ "$(stat -c %s "$1")" -eq "$was" ]
}
for nth in 2 4; do
	middle "rest$nth.pssh-part" --resume big "far:$D/rest$nth"
	set -- $(sessions)
	eval "slow=\$$nth"
	kill -STOP $slow $(cat /proc/$slow/task/*/children)
	wait_for 60 still "$D/.rest$nth.pssh-part" || diag "it never waits"
	end_sessions $2 $3 $4
	wait $copy
	is $? 0 "a copy to be resumed waits for stream $nth, and goes on without the three"
	ok "whole" cmp big "there/rest$nth"
done

middle .pssh-part big "far:$D/lost"
set -- $(sessions)
end_sessions $1
wait $copy
is $? 255 "the first one is killed: the copy fails"
like "$(cat far.err)" "connection" "and says why"
ok "nothing has the target's name" [ ! -e there/lost ]

# Until nanopod has the signal nothing arrives, so a copy that had not ended by then is met in its middle.
interrupted() { # begins a copy; false if it ended before
	middle /big "far:$TMP/big" here/stopped
	kill -STOP $way
	met=$(cat /proc/$copy/task/*/children) && begun 4 /big && kill -INT $met
	met=$?
	kill -CONT $way
	wait $copy
	ended=$?
	[ $met -eq 0 ] || { rm -f here/stopped; return 1; }
}
interrupted || interrupted || interrupted || diag "it ended each time before it was met"
is $ended 130 "Ctrl-C"
is "$(ls -A here)" cut "leaves nothing"

# ---- A server that refuses further connections ----
SSHD_LIMIT=1:100:1 SSHD_EXTRA='LoginGraceTime 60'
sshd_up 1 r || { fail "the second sshd is up"; done_testing; }
run_is 0 "one connection at a time may sign in" timeout 200 "$NANOPOD" cp -F "$SSHD_CONFIG" --streams 8 big "r1:$D/refused"
ok "whole" cmp big there/refused
like "$(cat "$SSHD_DIR/sshd.log")" "drop connection|beginning MaxStartups throttling|exceeded MaxStartups" "the others were refused"
done_testing
