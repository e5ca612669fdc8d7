#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The engine of nanopod provision against real sshd, as whoever runs the test: each "node" is an sshd whose commands keep their
# state in a folder of their own (lib.sh is told so). Real nodes with root are in provisionnodes.t and tests/provision.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need jq
cd "$TMP" || exit 99
NANOPOD_STACKS=$TMP/stacks XDG_STATE_HOME=$TMP/kept
export NANOPOD_STACKS XDG_STATE_HOME
cp -r "$SRC/tests/fixtures/engine" stacks && chmod -R u+w stacks && mkdir -p stacks/common || exit 99
# shellcheck disable=SC2016
sed 's|/var/lib/nanopod|$NANOPOD_STATE/np|g; s|NP_RUN=/run|NP_RUN=$NANOPOD_RUN|' "$SRC/stacks/common/lib.sh" >stacks/common/lib.sh
cp "$SRC/stacks/common/facts.sh" stacks/common/

# A node a1, b1 …, with the shell that its commands are given found in $TMP/X/bin first.
: >config
for x in a b c; do
	mkdir -p "$x/state" "$x/run" "$x/bin"
	SSHD_EXTRA="SetEnv SHLVL=3 NANOPOD_STATE=$TMP/$x/state NANOPOD_RUN=$TMP/$x/run NANOPOD_UPLOADS=$TMP/$x/uploads PATH=$TMP/$x/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
	sshd_up 1 "$x" || { fail "sshd is up"; done_testing; }
	sed "s/^Host \*/Host ${x}1/" "$SSHD_CONFIG" >>config
	eval "${x}_pids=\$SSHD_PIDS ${x}_dir=\$SSHD_DIR ${x}_net=\$SSHD_NET ${x}_port=\$SSHD_PORT"
done
cat >toys.yaml <<'END'
cluster: toys
nodes: {hosts: 'a1,b1,c1'}
stacks: {toy: {}}
END
skip=''
for gate in name machine-id address root dpkg system disk route mtu names clock memory; do skip="$skip --skip-gate $gate"; done
p() { verb=$1; shift; timeout -k 5 60 "$NANOPOD" provision "$verb" -F "$TMP/config" $skip "$@" </dev/null; }
state() { ls "$TMP/$1/state" | grep -v '^np$' | tr '\n' ' '; }
# In the background, as this shell's own child: $pid.
p_begin() { "$NANOPOD" provision apply -y -F "$TMP/config" $skip "$@" </dev/null >out 2>&1 & pid=$!; }
forget() { rm -rf a/state/* b/state/* c/state/* "$XDG_STATE_HOME"; }
applying() { [ -e "$TMP/$1/state/applying" ]; }

# ---- Plan, apply, again ----
run p plan toys.yaml
is "$status" 0 "plan"
like "$out" "toy/take +take the key" "it says what would be done"
is "$(state a)$(state b)" "" "and does nothing"
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
run_is 0 "verify" p verify toys.yaml
rm c/state/slow
run_is 11 "verify, where something is not as it should be" p verify toys.yaml
like "$out$err" "it was not slow" "which is said"
run p apply -y toys.yaml
is "$status $(state c)" "0 applied file file.id key slow " "apply mends it"
rm c/state/key
run_is 0 "where a taker lost what it took" p apply -y toys.yaml
is "$(cat c/state/key)" SECRETa1 "it is given again"
run_is 0 "remove" p remove -y toys
is "$(ls a/state b/state c/state a/uploads b/uploads c/uploads 2>/dev/null | grep -v :)" "" "leaves nothing"

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
p_begin --set toy.slow=30 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
mkdir other
XDG_STATE_HOME=$TMP/other run_is 5 "another nanopod at the same time" p apply -y toys.yaml
like "$err" "is being provisioned by .*nanopod [0-9]" "is told by whom"
kill -KILL $pid
wait $pid 2>/dev/null
run p apply -y --set toy.slow=30 toys.yaml
is "$status" 0 "killed in the middle: the next apply goes on" || diag "$out$err"
is "$(cat a/state/applied b/state/applied c/state/applied | wc -l)" 3 "the steps that ran on were waited for, not done twice"

forget
p_begin --set toy.slow=20 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
for child in $(cat /proc/"${b_pids##* }"/task/*/children); do kill -KILL "$child"; pkill -KILL -P "$child"; done
wait $pid; status=$?
is "$status" 0 "a lost connection" || diag "$(cat out)"
like "$(cat out)" "waiting up to 3 minutes" "is said"
is "$(wc -l <b/state/applied)" 1 "and its step was not done twice"

forget
p_begin --set toy.slow=300 toys.yaml
wait_for 20 applying b || diag "$(cat out)"
kill -INT $pid
wait_for 10 grep -q stopping out
kill -INT $pid
wait $pid; status=$?
is "$status" 130 "Ctrl-C twice breaks it off"
unlike "$(cat out)" "was slow" "nothing was done to its end"

# ---- A node that says nonsense ----
forget
evil() { printf '#!/bin/bash\n%s\n' "$2" >"$1/bin/sh" && chmod +x "$1/bin/sh"; }
evil c 'exit 0'
run p plan toys.yaml
like "$out$err" "c1.*broke off" "a shell that ends at once"
like "$out" "b1|a1" "the others are looked at"
evil c 'yes | tr -d "\n"'
run p plan toys.yaml
like "$out$err" "c1.*says more than it may" "an endless line"
evil c 'printf "\036NP\tclock\tx\n\036NP\t%%\n"; sleep 1; printf "\036NP\tend\t0\n"'
run p plan toys.yaml
like "$out$err" "c1.*cannot be understood" "a broken record"
evil c 'printf "hostname=\033[31m\n\036NP\tend\t0\n"; cat >/dev/null'
run p plan toys.yaml
unlike "$out$err" "$(printf '\033')" "nothing of it reaches the terminal"
done_testing
