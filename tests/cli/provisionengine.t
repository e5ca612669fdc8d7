#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The engine of nanopod provision against real sshd, as whoever runs the test: each "node" is an sshd whose commands keep their
# state in a folder of their own (lib.sh is told so). Real nodes with root are in provisionnodes.t and tests/provision.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need jq
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
nl='
'
cd "$TMP" || exit 99
NANOPOD_STACKS=$TMP/stacks XDG_STATE_HOME=$TMP/kept
export NANOPOD_STACKS XDG_STATE_HOME
cp -r "$SRC/tests/fixtures/engine" stacks && chmod -R u+w stacks && mkdir -p stacks/common || exit 99
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|NP_RUN=/run|NP_RUN=$NANOPOD_RUN|' "$SRC/stacks/common/lib.sh" >stacks/common/lib.sh
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|"$1" ] .. return 0|"$1" ] \|\| return 0|' "$SRC/stacks/common/facts.sh" >stacks/common/facts.sh

# A node a1, b1 …, with the shell that its commands are given found in $TMP/X/bin first. f1 and g1 permit few sessions.
: >config
for x in a b c f g; do
	mkdir -p "$x/state" "$x/run" "$x/bin"
	SSHD_EXTRA="SetEnv SHLVL=3 NANOPOD_STATE=$TMP/$x/state NANOPOD_RUN=$TMP/$x/run NANOPOD_UPLOADS=$TMP/$x/uploads PATH=$TMP/$x/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
	case $x in f) SSHD_EXTRA="MaxSessions 1$nl$SSHD_EXTRA" ;; g) SSHD_EXTRA="MaxSessions 2$nl$SSHD_EXTRA" ;; esac
	sshd_up 1 "$x" || { fail "sshd is up"; done_testing; }
	sed "s/^Host \*/Host ${x}1/" "$SSHD_CONFIG" >>config
	eval "${x}_pids=\$SSHD_PIDS ${x}_dir=\$SSHD_DIR ${x}_net=\$SSHD_NET ${x}_port=\$SSHD_PORT"
done
cat >toys.yaml <<'END'
cluster: toys
nodes: {hosts: 'a1,b1,c1'}
stacks: {toy: {}}
END
sed 's/{toy: {}}/{toy: {}, top: {}}/' toys.yaml >tops.yaml
skip=''
for gate in name machine-id address root dpkg system disk route mtu names clock memory; do skip="$skip --skip-gate $gate"; done
p() { verb=$1; shift; timeout -k 5 300 "$NANOPOD" provision "$verb" -F "$TMP/config" $skip "$@" </dev/null; }
state() { ls "$TMP/$1/state" | grep -v '^np$' | tr '\n' ' '; }
# In the background, as this shell's own child: $pid.
p_begin() { rm -f out; "$NANOPOD" provision apply -y -F "$TMP/config" $skip "$@" </dev/null >out 2>&1 & pid=$!; }
forget() { rm -rf a/state/* b/state/* c/state/* "$XDG_STATE_HOME"; }
applying() { [ -e "$TMP/$1/state/applying" ]; }
# Processes that sshd's commands left on a node: all have its folder in their environment.
ours() { for x in ${*:-a b c}; do grep -lazs "^NANOPOD_STATE=$TMP/$x/" /proc/[0-9]*/environ; done | sed 's/environ$/cmdline/' | xargs -r grep -azs . | tr '\0' ' '; }
alone() { [ -z "$(ours "$@")" ]; }

# ---- Plan, apply, again ----
run p plan toys.yaml
is "$status" 0 "plan"
like "$out" "toy/take +take the key" "it says what would be done"
is "$(state a)$(state b)" "" "and does nothing"
sed -i.was 's|^check() {|& echo a word;|' stacks/toy/slow.sh
run_is 0 "plan, where a check says something" p plan toys.yaml
not_ok "looking leaves no folder here" test -e "$XDG_STATE_HOME/nanopod/clusters/toys" || diag "$(ls -R "$XDG_STATE_HOME")"
mv stacks/toy/slow.sh.was stacks/toy/slow.sh
run_is 10 "--detailed-exitcode" p plan --detailed-exitcode toys.yaml
mkdir -p folder/sub && echo hello >folder/sub/file
run p apply -y --set toy.file="$TMP/folder" toys.yaml
is "$status" 0 "apply" || { diag "$err"; }
is "$(state a)" "applied key last slow " "the head did its steps"
is "$(state b)" "applied file file.id key slow " "a worker its own"
is "$(cat b/state/key c/state/key)" "SECRETa1SECRETa1" "what one gave the others took"
is "$(cat b/state/file/sub/file)" hello "what was to be brought is there"
unlike "$out$err" "not a record" "a program cannot make a record"
is "$(grep -rl SECRET "$XDG_STATE_HOME" a/run b/run c/run)" "" "no secret is kept here, or left in a folder there"
like "$(cat "$XDG_STATE_HOME"/nanopod/clusters/toys/logs/toy.slow.b1.log)" "what a program says" "the log of a step is kept"
before=$(date +%s%N)
run p apply -y toys.yaml
took=$((($(date +%s%N) - before) / 1000000))
is "$status" 0 "again"
like "$out$err" "nothing to do" "nothing to do"
diag "a repeat for three nodes took $took ms"
is "$(wc -l <b/state/applied)" 1 "and nothing was done"
# What b1's shells are told is kept, before they read it: each script names its watch once.
scripts() { cat "$TMP/b/told" 2>/dev/null | grep -c nanopod-watch; }
printf '#!/bin/sh\n[ "$*" = -s ] || exec /bin/sh "$@"\n{ tee /dev/fd/4 4>&1 >>%s/b/told; } | /bin/sh -s\n' "$TMP" >b/bin/sh && chmod +x b/bin/sh
run p plan toys.yaml
is "$status $(scripts)" "0 2" "a taker is asked by one script for its facts, and by one whether anything differs: it knows what it took last"
echo OTHER >a/state/key
run p plan toys.yaml
like "$(tr -d '\n' <<<"$out") $(scripts)" "b1,c1 +toy/take +take the key.*2 changes.* 5\$" "where another key is given, both takers would take it, asked once more" || diag "$out"
cp a/state/key b/state/key && cp a/state/key c/state/key
run p plan toys.yaml
like "$out$err" "nothing to do" "those that have it already would not, whatever they took last" || diag "$out"
rm -f b/bin/sh b/told

# ---- Sessions: a shell that has run a script waits for the next one ----
shells() { cat "$TMP/b/shells" 2>/dev/null | wc -l; }
printf '#!/bin/sh\necho >>%s/b/shells\nexec /bin/sh "$@"\n' "$TMP" >b/bin/sh && chmod +x b/bin/sh
run p plan toys.yaml
is "$status $(shells)" "0 1" "one session asks a node for its facts, whether anything differs, and of a taker once more"
rm -f b/shells
mkdir -p "$HOME/.config/nanopod" && echo 'fanout: 1' >"$HOME/.config/nanopod/config.yaml" && chmod 600 "$HOME/.config/nanopod/config.yaml"
run p plan toys.yaml
is "$status $(shells)" "0 3" "where few hosts may be connected at once, none stays open, which would keep others out"
sed 's|/bin/sh "|bash --posix "|' b/bin/sh >b/bin/sh.bash && chmod +x b/bin/sh.bash && mv b/bin/sh.bash b/bin/sh
run_is 0 "also where sh takes no more of its input than a command" p plan toys.yaml
printf '#!/bin/sh\necho >>%s/b/shells\nexec /bin/sh "$@"\n' "$TMP" >b/bin/sh
rm -f "$HOME/.config/nanopod/config.yaml"
rm -f b/shells b/state/key
run p apply -y toys.yaml
is "$status $(shells) $(cat b/state/key)" "0 2 $(cat a/state/key)" "and one does all steps, beside the one that keeps the lock" || diag "$out$err"
ok "and leaves nothing" wait_for 20 alone || diag "$(ours)"
rm -f b/bin/sh
printf SECRETa1 >a/state/key && cp a/state/key b/state/key && cp a/state/key c/state/key
run_is 0 "verify" p verify toys.yaml
rm c/state/slow
run_is 11 "verify, where something is not as it should be" p verify toys.yaml
like "$out$err" "it was not slow" "which is said"
run p apply -y toys.yaml
is "$status $(state c)" "0 applied file file.id key slow " "apply mends it"
rm c/state/key
run_is 0 "verify, where the checks hold, but a node is not as the file says" p verify toys.yaml
like "$err" "all checks hold, but 'toys' differs from its file in [0-9]+ places?; 'nanopod provision plan toys.yaml' shows where" "says so"
run_is 0 "where a taker lost what it took" p apply -y toys.yaml
is "$(cat c/state/key)" SECRETa1 "it is given again"
run_is 0 "remove" p remove -y toys
is "$(ls a/state b/state c/state a/uploads b/uploads c/uploads 2>/dev/null | grep -v :)" "" "leaves nothing"

# ---- Servers that permit few sessions ----
# The shells of these "nodes" end late, as on a node that has much to do.
for x in f g; do
	printf '#!/bin/bash\n/bin/sh "$@"\nend=$?\nsleep 0.3\nexit $end\n' >$x/bin/sh && chmod +x $x/bin/sh
	printf "cluster: few%s\nnodes: {hosts: '%s1'}\nroles: {head: %s1, work: %s1}\nstacks: {toy: {}}\n" $x $x $x $x >few$x.yaml
done
echo 'fanout: 1' >"$HOME/.config/nanopod/config.yaml" && chmod 600 "$HOME/.config/nanopod/config.yaml"
run p plan fewf.yaml
is "$status" 0 "MaxSessions 1: a session that begins as another ends is asked for again" || diag "$out$err"
rm -f "$HOME/.config/nanopod/config.yaml"
run p apply -y fewf.yaml
is "$status" 10 "to apply needs two"
like "$err" "MaxSessions in its sshd_config" "which is said" || diag "$out$err"
run p apply -y --set toy.file="$TMP/folder" fewg.yaml
is "$status $(cat g/state/file/sub/file)" "0 hello" "MaxSessions 2 is enough, also to bring files" || diag "$out$err"
run p verify fewg.yaml
is "$status" 0 "and to verify" || diag "$out$err"
rm -f f/bin/sh g/bin/sh

# ---- Ends that are hard to tell ----
forget
cp -r stacks kept.stacks
# What the step `slow` does first on b1.
does() {
	printf 'early() {\n\t[ "$NP_NODE" = b1 ] || return 0\n\t%s\n}\n' "$1" >stacks/toy/slow.sh
	sed 's/^apply() {/&\n\tearly/' kept.stacks/toy/slow.sh >>stacks/toy/slow.sh
}
said() { cat "$XDG_STATE_HOME"/nanopod/clusters/toys/logs/toy.slow.b1.log; }
does "printf 'half a line' >&3; sh -c 'kill -9 \$PPID'"
run p apply -y toys.yaml
is "$status" 10 "a step that is killed in the middle of a line" || diag "$out$err"
like "$err" "b1.*toy/slow.*it ended with status 1" "is told" || diag "$out$err"
like "$(said)" "^half a line$" "without what follows in that line"
does "printf '\\036NP\\tdid\\thalf a record' >&3; sh -c 'kill -9 \$PPID'"
run p apply -y toys.yaml
is "$status" 10 "in the middle of a record" || diag "$out$err"
like "$err" "b1.*toy/slow.*cannot understand the node" "is told" || diag "$out$err"
does 'printf "half a line" >&3; [ -e "$NANOPOD_STATE/killed" ] || { : >"$NANOPOD_STATE/killed"; kill -9 $$; }'
run p apply -y toys.yaml
is "$status" 0 "a script whose shell is killed starts again" || diag "$out$err"
like "$err" "b1.*toy/slow.*waiting up to 3 minutes" "which is said at once" || diag "$out$err"
rm b/state/slow
does 'printf "one\036NP\tend\t1 two\n" >&3; for i in 1 2 3 4 5 6 7 8 9; do printf "three\036NP\tend\t$i four\n" >&2; done; printf "five\036NP\tend\t99\n" >&2'
run p apply -y toys.yaml
is "$status $(said | tr -d '\036\t?' | grep -cE "^oneNPend1 two|^threeNPend[1-9] four|^fiveNPend99")" "0 11" "the words of an end within a line are none" || diag "$out$err" "$(said | cat -v)"
rm b/state/slow
does 'head -c 6000000 /dev/zero | tr "\0" x >&3; echo >&3; yes "a line that is not short" | head -c 6000000'
run p apply -y toys.yaml
is "$status" 0 "nor is one lost among much that a step says" || diag "$out$err"
rm b/state/slow
rm -rf stacks && mv kept.stacks stacks

# ---- Failures ----
forget
run_is 10 "a step that fails on one node" p apply -y --set toy.fail=b1 toys.yaml
like "$out$err" "it was told to fail" "its cause"
like "$out$err" "E: it is broken" "what it said last"
like "$out$err" "stop telling it" "and what to type"
is "$(state c)" "applied key slow " "the others go on"
is "$(state a)" "applied key slow " "but for what needs it"
run_is 0 "apply goes on there" p apply -y toys.yaml
is "$(wc -l <c/state/applied)$(wc -l <b/state/applied)" "12" "and does nothing twice elsewhere"

forget
p_begin --set toy.slow=6000 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
mkdir other
XDG_STATE_HOME=$TMP/other run_is 5 "another nanopod at the same time" p apply -y toys.yaml
like "$err" "is being provisioned by .*nanopod [0-9]" "is told by whom"
isnt "$(ours b)" "" "(the step still runs)"
kill -KILL $pid
wait $pid 2>/dev/null
ok "killed in the middle: nothing of it stays on the nodes" wait_for 20 alone || diag "$(ours)"
run p apply -y --set toy.slow=1 toys.yaml
is "$status" 0 "the next apply goes on" || diag "$out$err"

forget
p_begin --set toy.slow=6000 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
kill -TERM $pid
gone() { ! kill -0 $pid 2>/dev/null; }
ok "SIGTERM breaks it off at once" wait_for 20 gone || diag "$(cat out)"
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
ok "and nothing of it stays" wait_for 20 alone || diag "$(ours)"

forget
p_begin --set toy.slow=700 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
kill -STOP $pid
unlocked() { flock -n "$1/run/nanopod-lock/nanopod-provision.lock" true; }
ok "a nanopod that is mute for a minute: its locks end" wait_for 120 unlocked b || diag "$(ours)"
kill -CONT $pid
wait $pid; status=$?
is "$status" 0 "and when it continues, it ends its work" || diag "$(cat out)"
is "$(cat a/state/applied b/state/applied c/state/applied | wc -l)" 3 "and no step began twice"

# A holder who is silent, as after a cut that neither end has noticed.
forget
rm -f ready
setsid bash -c 'exec 9>>"$1/nanopod-provision.lock"; flock 9; printf "%s\tother\tpat@home (nanopod 12)\t15:02\n" $$ >"$1/nanopod-provision.lock"; : >ready; exec sleep 600' hold a/run/nanopod-lock &
holder=$!
at_exit "kill -- -$holder 2>/dev/null"
wait_for 10 test -e ready
p_begin toys.yaml
said_for() { grep -q "waiting for pat@home (nanopod 12), at work here since 15:02 and silent for" out; }
ok "who waits for a silent one says for whom" wait_for 15 said_for || diag "$(cat out)"
kill -TERM $pid
ok "SIGTERM ends the wait" wait_for 10 gone || diag "$(cat out)"
wait $pid; status=$?
is "$status" 143 "(by the signal)"
ok "and no waiter stays" wait_for 10 alone || diag "$(ours)"
p_begin toys.yaml
wait_for 15 said_for
kill -- -$holder
wait $holder 2>/dev/null
wait $pid; status=$?
is "$status" 0 "when the silent one ends the other goes on" || diag "$(cat out)"

forget
cp -r stacks kept.stacks
# The step that is lost has no end of its own.
does '[ -e "$NANOPOD_STATE/applied" ] || { echo x >"$NANOPOD_STATE/applied"; : >"$NANOPOD_STATE/applying"; sleep 600; }'
p_begin toys.yaml
wait_for 20 applying b || diag "$(cat out)"
for child in $(cat /proc/"${b_pids##* }"/task/*/children); do pkill -KILL -P "$child" sshd; kill -KILL "$child"; done # OpenSSH 9.8: two
wait $pid; status=$?
is "$status" 0 "a lost connection" || diag "$(cat out)"
like "$(cat out)" "waiting up to 3 minutes" "is said"
is "$(wc -l <b/state/applied)" 2 "its step ended with it and began again"
rm -rf stacks && mv kept.stacks stacks
ok "and no other was left" wait_for 20 alone || diag "$(ours)"

forget
p_begin --set toy.slow=6000 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
kill -INT $pid
wait_for 10 grep -q stopping out
kill -INT $pid
wait $pid; status=$?
is "$status" 130 "Ctrl-C twice breaks it off"
unlike "$(cat out)" "was slow" "nothing was done to its end"

# sshds that say nothing, so that nanopod still connects at Ctrl-C.
printf 'size 2000 24\nexpect connecting\nsend \\x03\n' >leave
connecting() { # COMMAND…: $status, $again
	kill -STOP $c_pids
	status=0
	"$PTY" leave "$NANOPOD" provision "$@" -F "$TMP/config" $skip >out 2>&1 || status=$?
	kill -CONT $c_pids
	again=$(tr -d '\r' <out | sed -n "s/^nanopod: interrupted before anything was changed; '\(.*\)' starts again.*/\1/p")
}
forget
connecting apply -y --set toy.word='a b' toys.yaml
is "$status" 130 "Ctrl-C while it connects"
like "$again" "^nanopod provision" "says what to type" || diag "$(cat out)"
is "$(state a)" "" "(nothing was done)"
nanopod() { "$NANOPOD" "$@" </dev/null; }
run_is 0 "that" eval "$again"
is "$(state a)" "applied key last slow " "does it"
connecting remove -y toys
run_is 0 "remove: so too" eval "$again"
is "$(state a)" "" "does it"

# ---- Locks ----
forget
lock_of() { echo "$1/run/nanopod-lock/nanopod-provision.lock"; }
cp -r stacks kept.stacks
does ': >"$NANOPOD_STATE/applying"; until [ -e "$NANOPOD_STATE/go" ]; do sleep 0.1; done'
p_begin toys.yaml
wait_for 20 applying b || diag "$(cat out)"
wait_for 20 grep -q '^a1 toy/slow: was slow' out || diag "$(cat out)"
is "$(stat -c %a a/run/nanopod-lock)" 700 "locks are where nobody else may write"
locker() { locker=$(cut -f 1 "$(lock_of a)") && [ -n "$locker" ]; } # it writes the file anew every few seconds
wait_for 10 locker
kill "$locker"
exec 7>>"$(lock_of a)"
flock -w 10 7 || diag "a's lock is still held"
beats() { while sleep 0.5; do printf '1\tother\tpat@home\ttoday\n' >"$(lock_of a)"; done; }
beats 7>&- &
beats=$!
: >b/state/go
wait $pid; status=$?
rm -rf stacks && mv kept.stacks stacks
kill $beats
wait $beats 2>/dev/null
exec 7>&-
is "$status" 10 "a node whose lock somebody else took" || diag "$(cat out)"
like "$(cat out)" "a1.*now pat@home since today is provisioning the node" "is left to them"
unlike "$(state a)" last "and no other step is begun there"
exec 7<"$(lock_of a)"
run_is 0 "apply goes on then" p apply -y toys.yaml
ok "the file of the lock stays" [ "/proc/$$/fd/7" -ef "$(lock_of a)" ]
exec 7<&-

forget
sleep 300 &
innocent=$!
exec 7>>"$(lock_of a)"
flock 7
printf '%s\tother\tpat@home\tlong ago\n' "$innocent" >"$(lock_of a)"
touch -d '10 minutes ago' "$(lock_of a)"
run_is 5 "a lock that nobody has been heard of for long" timeout 300 "$NANOPOD" provision apply -y -F "$TMP/config" $skip toys.yaml
ok "a process that only its file names is not ended" [ -d "/proc/$innocent" ]
exec 7>&-
kill "$innocent"; wait "$innocent" 2>/dev/null

forget
run_is 0 "a stack whose steps can be upgraded" p apply -y tops.yaml
run p upgrade -y toys
is "$status" 0 "is" || diag "$out$err"
is "$(cat a/state/upgraded c/state/upgraded)" "held
held" "with its nodes locked"

# ---- What nobody was shown ----
forget
: >a/state/moving
run p apply -y --set toy.more=yes toys.yaml
is "$status" 0 "a node that differs in another way than the plan said, with -y" || diag "$out$err"
like "$err" "a1.*also differs: be more 2" "is shown"
forget
: >a/state/moving
printf 'expect Do it\nsend yes\\r\n' >yes
status=0
"$PTY" yes "$NANOPOD" provision apply -F "$TMP/config" $skip --set toy.more=yes toys.yaml >out 2>&1 || status=$?
is "$status" 5 "where somebody said yes to the plan" || diag "$(cat out)"
like "$(cat out)" "have changed since the plan was shown" "it is to be looked at again"
is "$(state a)$(state b)" "moving " "and nothing is done before"

# ---- What the file does not ask for any more ----
forget
run_is 0 "a step that a setting asks for" p apply -y --set toy.more=yes --set toy.word=one toys.yaml
is "$(cat b/state/more.was)" one "is done"
run p plan --set toy.more=no --set toy.word=two toys.yaml
is "$(grep -c "toy/more *undo it" <<<"$out")" 1 "where none asks for it any more the plan undoes it" || diag "$out"
is "$(state b)" "applied key more.was slow " "(not yet)"
run_is 10 "and --detailed-exitcode says so" p plan --detailed-exitcode --set toy.more=no toys.yaml
rm b/state/slow
run_is 10 "it is left until the rest is done" p apply -y --set toy.more=no --set toy.fail=b1 toys.yaml
like "$err" "no longer has stay until the rest succeeds" "which is said"
is "$(cat c/state/more.was)" one "on no node is it undone"
run_is 0 "apply" p apply -y --set toy.more=no --set toy.word=two toys.yaml
is "$(cat a/state/more.undone c/state/more.undone)" "one
one" "undoes it, with the settings that it was done with" || diag "$out$err"
rm -f a/state/more.undone b/state/more.undone c/state/more.undone
run_is 0 "again" p apply -y --set toy.more=no toys.yaml
like "$err" "nothing to do" "nothing is left to do"
run_is 0 "a stack of the file" p apply -y tops.yaml
is "$(state c)" "applied key slow top " "is done"
run_is 0 "that has gone from it" p apply -y toys.yaml
is "$(state c)" "applied key slow " "is undone"
run p apply -y tops.yaml
mv stacks/top stacks.top
run_is 0 "a stack that is not known here any more" p apply -y toys.yaml
is "$(state c)$(cat c/state/np/steps/top.one 2>/dev/null)" "applied key slow " "is undone by what the node kept of it"
mv stacks.top stacks/top
run p apply -y -w a1,b1,c1 top
is "$status $(state c)" "0 applied key slow top " "a stack for nodes that are a cluster" || diag "$out$err"
run p plan toys
like "$err" "nothing to do" "is added to that cluster"
run p apply -y -w a1,b1,c1 --set toy.more=yes toy
is "$status $(state c)" "0 applied key more.was slow top " "one that it has is changed" || diag "$out$err"
run_is 5 "other nodes than it has" p plan --name toys -w a1,b1 top
like "$err" "the cluster 'toys' has 3 nodes, and 2 of them are among the 2 that you named" "are refused"
run_is 0 "remove" p remove -y toys
is "$(ls a/state b/state c/state | grep -v :)" "more.undone

more.undone

more.undone" "takes all away"
forget
run p apply -y tops.yaml
# Who takes the place of another.
forget
run p apply -y toys.yaml
cat >moved.yaml <<'END'
cluster: toys
nodes: {hosts: 'a1,b1,c1'}
roles: {head: b1, work: 'a1,c1'}
stacks: {toy: {}}
END
sed '/^Host b1$/,/^Host c1$/s/Port .*/Port 1/' config >config.away
run_is 10 "a role that goes to a node that cannot be reached" timeout 300 "$NANOPOD" provision apply -y -F "$TMP/config.away" $skip --skip-gate reach moved.yaml
is "$(state a)" "applied key last slow " "stays where it was until then" || diag "$out$err"
run_is 0 "to one that can" p apply -y moved.yaml
is "$(state a)" "applied key slow " "leaves the old one"
is "$(state b)" "applied key last slow " "for the new one"
is "$(cat a/state/key b/state/key c/state/key)" "SECRETa1SECRETa1SECRETa1" "and what both have a part in stays as it is"
unlike "$err" "also differs" "(nothing had to be mended)"
run_is 0 "remove" p remove -y toys
is "$(ls a/state b/state c/state a/state/np b/state/np 2>/dev/null | grep -v :)" "" "takes away what was handed on, too"
run p apply -y --set toy.vote=yes toys.yaml
run_is 5 "who votes" p plan --set toy.vote=no toys.yaml
like "$err" "'a1' votes in 'toy', and the cluster file would take that role away" "is not taken away by the file"
run_is 0 "by remove it is" p remove -y toys
run p apply -y --set toy.more=yes tops.yaml
run p apply -y toys.yaml
is "$(jq -r 'select(.event == "end" and .step == ("one", "more")) | .step' "$XDG_STATE_HOME/nanopod/clusters/toys/journal.jsonl" | tail -n 6 | uniq | xargs)" "one more" "what stood on top goes first, on all nodes" || diag "$(cat "$XDG_STATE_HOME/nanopod/clusters/toys/journal.jsonl")"

# Another cluster's by now.
forget
run p apply -y --set toy.more=yes toys.yaml
sed -i 's/toys$/others/' b/state/np/steps/toy.more
sed 's/^cluster: toys/cluster: others/' tops.yaml >others.yaml
run p apply -y --skip-gate cluster toys.yaml
is "$(ls a/state/more.was b/state/more.was 2>/dev/null)" b/state/more.was "what another cluster did since is not undone"
forget
run p apply -y -w a1,b1,c1 --name toys toy top
cp toys.yaml "$XDG_STATE_HOME/nanopod/clusters/toys/cluster.yaml"
run_is 0 "a drop" p drop toys -y -w c1
like "$err" "2 steps that the cluster file no longer has stay; .*provision apply toys" "says what else it does not undo" || diag "$out$err"
like "$(state b)" "top" "on those that stay"
forget
run p apply -y tops.yaml
run p add -y -w d1 toys
is "$status" 8 "a node that is not reached"
like "$err" "cannot add 'd1'" "is not added"
run p plan toys
is "$status" 0 "and not in the cluster" || diag "$out$err"
mkdir -p empty
run p plan --airgap empty toys
is "$status" 3 "a folder without packages"
like "$err" "neither 'bundle' nor 'debs'" "is none to install from"
echo 'stacks: base k3s' >empty/bundle
run p plan --airgap empty toys
is "$status" 0 "but a bundle of stacks that need no packages is one" || diag "$err"
cp tops.yaml others.yaml && sed -i 's/^cluster: toys/cluster: others/' others.yaml
run p plan others.yaml
is "$status" 11 "a node that another cluster has"
like "$err" "a1.*is already in the cluster 'toys'" "is refused"
like "$err" "provision drop toys -w a1" "and what to type"

rm -rf b/state/*
run p plan -w b1 --name fresh toy
like "$out" "to make on 1 of 1 node of 'fresh'" "a free node"
run p plan -w a1,b1 --name fresh toy
is "$status" 11 "beside one of another cluster"
like "$err" "'fresh' would be a new cluster, but of its nodes 1 of 2 is in another already" "is not made one alone"
is "$out" "" "nor planned"
run p status toys
like "$err$out" "a1" "what is there is looked at all the same"

# ---- A check that hangs, as one does on a file system whose server is gone ----
forget
cp -r stacks kept.stacks
sed -i 's|^check() {|& [ ! -e "$NANOPOD_STATE/hang" ] \|\| sleep 100;|; s|^verify() {|& [ ! -e "$NANOPOD_STATE/hang" ] \|\| sleep 100;|' stacks/toy/slow.sh
: >c/state/hang
hangs() { ours c | grep -q 'sleep \(/proc/[^ ]*:\)*100 '; }
for signal in KILL INT; do
	"$NANOPOD" provision plan -F "$TMP/config" $skip toys.yaml </dev/null >out 2>&1 & pid=$!
	ok "(it hangs)" wait_for 60 hangs || diag "$(cat out)"
	kill -$signal $pid; wait $pid 2>/dev/null
	ok "$signal: nothing of it stays on the nodes" wait_for 60 alone || diag "$(ours)"
done
# Its facts hang, below a program that makes a process group of its own: the session gets SIGTERM as nanopod ends.
cp stacks/common/facts.sh facts.was
sed -i 's|^facts_root$|[ ! -e "$NANOPOD_STATE/hang" ] \|\| timeout 300 sleep 100; &|' stacks/common/facts.sh
"$NANOPOD" provision plan -F "$TMP/config" $skip toys.yaml </dev/null >out 2>&1 & pid=$!
ok "(its facts hang)" wait_for 60 hangs || diag "$(cat out)"
kill -INT $pid; wait $pid 2>/dev/null
ok "nothing of them stays" wait_for 60 alone || diag "$(ours)"
mv facts.was stacks/common/facts.sh
sed -i 's/timeout: 300/timeout: 20/' stacks/toy/stack.yaml
run p plan toys.yaml
like "$err" "c1 toy/slow: .*it took longer than 20 s, so nanopod ended it" "has its own time, and is named"
like "$out" "^b1" "the others are planned"
rm c/state/hang
run_is 0 "it hangs no more" p apply -y toys.yaml
: >c/state/hang
run p verify toys.yaml
like "$out$err" "c1.*slow.*: it took longer than 20 s" "verify's own, too"
rm -rf c/state/hang stacks && mv kept.stacks stacks

# ---- A node that says nonsense ----
forget
evil() { printf '#!/bin/bash\n%s\n' "$2" >"$1/bin/sh" && chmod +x "$1/bin/sh"; }
evil c 'for i in {1..30000}; do printf "\036NP\tsay\tx\n"; done; cat >/dev/null'
run p plan toys.yaml
like "$out$err" "c1.*its output is too long" "records without end"
evil c 'exit 0'
run p plan toys.yaml
like "$out$err" "c1.*its script stopped with status" "a shell that ends at once"
like "$out" "b1|a1" "the others are looked at"
evil c 'yes | tr -d "\n"'
run p plan toys.yaml
like "$out$err" "c1.*its output is too long" "an endless line"
evil c 'printf "\036NP\tclock\tx\n\036NP\t%%\n"; sleep 1; printf "\036NP\tend\t0\n"'
run p plan toys.yaml
like "$out$err" "c1.*cannot understand the node" "a broken record"
evil c 'printf "hostname=\033[31m\n\036NP\tend\t0\n"; cat >/dev/null'
run p plan toys.yaml
unlike "$out$err" "$(printf '\033')" "nothing of it reaches the terminal"
done_testing
