#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Connections that outlive their command, against real sshd: --keep, and nanopod keep.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

need pgrep ssh-agent ssh-add
sshd_up 3 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
mkdir -m 700 run && export XDG_RUNTIME_DIR=$TMP/run
kept=$TMP/run/nanopod
nanopod_run() { timeout -k 5 120 "$NANOPOD" run -F "$SSHD_CONFIG" --keep 10m "$@"; }
logins() { grep -c 'Accepted publickey' "$SSHD_DIR/sshd.log"; }
keepers() { "$NANOPOD" keep --fields keeper -o csv 2>/dev/null | sed 1d | sort -u; }
count() { "$NANOPOD" keep -o name 2>/dev/null | wc -l; }
counts() { [ "$(count)" -eq "$1" ]; }
no_sockets() { [ -z "$(ls "$kept" 2>/dev/null)" ]; }
stop() { "$NANOPOD" keep stop 2>/dev/null; wait_for 20 no_sockets; }
at_exit 'kill -CONT $(keepers) 2>/dev/null; kill $(keepers) 2>/dev/null'
# Remote commands sleep for a time that is theirs alone.
long() { echo $(($1 * 10000000 + $$)); }
running() { pgrep -f "^sleep $(long "$1")" >/dev/null; }
gone() { ! running "$1"; }
who='echo $SSH_CONNECTION'

# ---- Off unless asked for ----
run_is 0 "a command without --keep" timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -w n1 -- true
ok "keeps nothing" no_sockets
is "$(count)" 0 "and nothing is listed"
like "$("$NANOPOD" keep 2>&1)" '--keep' "which says how to keep some"

# ---- The second command ----
before=$(logins)
run_is 0 "a command with --keep" nanopod_run -w 'n[1-3]' -- "$who"
first=$(sort .out)
is "$(($(logins) - before))" 3 "signs in on each host"
is "$(count)" 3 "its connections are kept"
is "$(keepers | wc -l)" 1 "by one process"
like "$("$NANOPOD" keep -o wide 2>/dev/null)" ' [a-z0-9@.-]+ +ssh-ed25519 +(aes|chacha)[a-z0-9@.-]+ *$' \
	"-o wide says what each agreed on"
like "$("$NANOPOD" keep -o json 2>/dev/null)" '"kex": *"[a-z0-9@.-]+".*"hostkey": *"ssh-ed25519".*"cipher": *"[a-z]+' "as does JSON"
is "$(tr -d '\0' <"/proc/$(keepers)/cmdline")" "" "which does not show the words of the command"
run_is 0 "a second command" nanopod_run -w 'n[1-3]' -- "$who"
is "$(($(logins) - before))" 3 "signs in nowhere"
is "$(sort .out)" "$first" "and runs on the same connections"
is "$(keepers | wc -l)" 1 "which stay with the same keeper"
run_is 7 "the exit status comes over" nanopod_run -w n1 -- exit 7
run_is 143 "and the signal that ended it" nanopod_run -w n1 -- 'kill -TERM $$'
head -c 3000000 /dev/urandom >bytes
nanopod_run -w n1 --no-label --stdin -- 'cat; echo bad >&2' <bytes >back 2>said
ok "input and output come over whole" cmp bytes back
is "$(cat said)" "bad" "and standard error apart from it"
printf 'SetEnv FOO=bar\n' | cat - "$SSHD_CONFIG" >env_config
is "$(timeout 60 "$NANOPOD" run -F env_config --keep 10m -w n1 --no-label -- 'echo $FOO')" bar "variables are set"
is "$(nanopod_run -w n1 --no-label -t -- 'tty >/dev/null && stty size' | tr -d '\r')" "24 80" "a terminal has its size"
run_is 0 "a copy" timeout 60 "$NANOPOD" cp -F "$SSHD_CONFIG" --keep 10m bytes "n1:$TMP/there"
run_is 0 "and back" timeout 60 "$NANOPOD" cp -F "$SSHD_CONFIG" --keep 10m "n1:$TMP/there" "$TMP/got"
ok "is whole" cmp bytes got
is "$(($(logins) - before))" 3 "all that over the three connections"
run_is 0 "--no-keep" nanopod_run --no-keep -w n1 -- true
is "$(($(logins) - before))" 4 "makes its own connection"
is "$(count)" 3 "and does not keep it"
is "$(NANOPOD_KEEP=10m timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" -w n1 --no-label -- "$who")" \
	"$(echo "$first" | sed -n 's/^n1: //p')" "the setting does as the option"

like "$("$NANOPOD" doctor -o csv --fields check,why 2>/dev/null)" \
	"kept,.*3 connections are kept open: .*@[0-9.]*:$SSHD_PORT.*nanopod keep" "doctor says what is open"

# ---- A tunnel ----
timeout 60 "$NANOPOD" tunnel -F "$SSHD_CONFIG" --keep 10m n1 "$TMP/tunnel:$(sshd_address 2):$SSHD_PORT" 2>tunnel_said &
tunnel=$!
ok "a tunnel listens" wait_for 20 test -S tunnel
is "$(count)" 3 "over a kept connection"
like "$("$NANOPOD" keep 2>&1)" "$(sshd_address 1):$SSHD_PORT +in use" "which is in use"
kill $tunnel; wait $tunnel
is "$(($(logins) - before))" 4 "it signed in nowhere"

# ---- The keeper ----
keeper=$(keepers)
ls -l /proc/"$keeper"/fd >fds 2>/dev/null # once: a command that has just ended may still be among its sockets
is "$(sed -n 's/.* -> //p' fds | grep -Ev '^(/dev/null|socket:.*|anon_inode:.*)$' | sort -u)" "$kept" \
	"it holds nothing open but sockets and its folder"
is "$(stat -c %a "$kept")" 700 "its folder is closed to others"
isnt "$(ps -o sid= -p "$keeper" | tr -d ' ')" "$(ps -o sid= -p $$ | tr -d ' ')" "it is in a session of its own"

# ---- Which connection may be used ----
before=$(logins)
ssh-keygen -q -t ed25519 -N '' -f other && cat other.pub >>"$SSHD_DIR/authorized_keys"
sed "s|IdentityFile .*|IdentityFile $TMP/other|" "$SSHD_CONFIG" >other_config
run_is 0 "a command with another key" timeout 60 "$NANOPOD" run -F other_config --keep 10m -w n1 -- true
is "$(($(logins) - before))" 1 "signs in with it"
rm other other.pub && ssh-keygen -q -t ed25519 -N '' -f other && cat other.pub >>"$SSHD_DIR/authorized_keys"
run_is 0 "the same with another key under that name" timeout 60 "$NANOPOD" run -F other_config --keep 10m -w n1 -- true
is "$(($(logins) - before))" 2 "signs in with that"
ssh-keygen -q -t ed25519 -N '' -f wrong
sed "s|.* \(ssh-ed25519\) .*|[$(sshd_address 1)]:$SSHD_PORT $(cut -d' ' -f1,2 wrong.pub)|;1q" "$SSHD_KNOWN" >wrong_known
sed "s|UserKnownHostsFile .*|UserKnownHostsFile $TMP/wrong_known|" "$SSHD_CONFIG" >wrong_config
run_is 255 "a kept connection to a host whose key has changed" \
	timeout 60 "$NANOPOD" run -F wrong_config --keep 10m -w n1 -- "echo ran >$TMP/ran"
like "$err" 'another machine|differs' "is not used"
: >no_known
sed "s|UserKnownHostsFile .*|UserKnownHostsFile $TMP/no_known|" "$SSHD_CONFIG" >no_config
run_is 255 "nor one to a host whose key was forgotten" \
	timeout 60 "$NANOPOD" run -F no_config --keep 10m -w n1 -- "echo ran >$TMP/ran"
not_ok "nothing ran there" test -e ran
eval "$(ssh-agent -s)" >/dev/null; at_exit "kill $SSH_AGENT_PID 2>/dev/null"
ssh-add -q "$SSHD_KEY"
sed 's|IdentityFile .*||; s|IdentitiesOnly .*||; s|IdentityAgent .*|IdentityAgent SSH_AUTH_SOCK|' "$SSHD_CONFIG" >agent_config
run_is 0 "a command with a key of the agent" timeout 60 "$NANOPOD" run -F agent_config --keep 10m -w n3 -- true
before=$(logins)
run_is 0 "again" timeout 60 "$NANOPOD" run -F agent_config --keep 10m -w n3 -- true
is "$(logins)" "$before" "uses the connection"
kill "$SSH_AGENT_PID"; wait_for 20 test ! -S "$SSH_AUTH_SOCK"
run_is 255 "but not once the agent has gone" timeout 60 "$NANOPOD" run -F agent_config --keep 10m -w n3 -- true
unset SSH_AUTH_SOCK

# ---- A jump host that is also a target ----
stop
before=$(logins)
run_is 0 "through a host that is one of them" nanopod_run -J n3 -w 'n[1-3]' -- "$who"
first=$(sort .out)
is "$(($(logins) - before))" 4 "signs in on the way and on each host"
run_is 0 "again" nanopod_run -J n3 -w 'n[1-3]' -- "$who"
is "$(sort .out)" "$first" "goes over the same connections"
run_is 0 "to that host itself" nanopod_run -w n3 -- "$who"
isnt "$(cat .out)" "$(echo "$first" | sed -n 3p)" "does not go through itself"
is "$(($(logins) - before))" 4 "and signs in nowhere"

# ---- Confirmed by hand ----
stop
printf '#!/bin/sh\necho asked >>"%s"\nfor i in $(seq 600); do [ -e "%s" ] && exit 0; sleep 0.1; done; exit 1\n' \
	"$TMP/asked" "$TMP/confirmed" >askpass && chmod 755 askpass
eval "$(SSH_ASKPASS=$TMP/askpass SSH_ASKPASS_REQUIRE=force DISPLAY=:0 ssh-agent -s)" >/dev/null
at_exit "kill $SSH_AGENT_PID 2>/dev/null"
ssh-add -q -c "$SSHD_KEY" 2>/dev/null
timeout 60 "$NANOPOD" run -F agent_config --keep 10m -w n3 -- true &
one=$!
ok "an agent asks before it signs" wait_for 20 test -e asked
sleep 1.2 # this is what tells a person
touch confirmed; wait $one
is $? 0 "and signs once somebody has confirmed"
is "$(count)" 0 "such a connection is not kept"
run_is 0 "the next command" timeout 60 "$NANOPOD" run -F agent_config --keep 10m -w n3 -- true
is "$(grep -c . asked)" 2 "is asked about again"
kill "$SSH_AGENT_PID"; unset SSH_AUTH_SOCK SSH_AGENT_PID

# ---- Through a jump host ----
stop
before=$(logins)
run_is 0 "a host behind a jump host" nanopod_run -J n1 -w n2 --no-label -- "$who"
is "$(count)" 2 "both connections are kept"
is "$(nanopod_run -J n1 -w n2 --no-label -- "$who")" "$out" "and the second command uses them"
is "$(($(logins) - before))" 2 "signing in nowhere"
run_is 0 "another host behind it" nanopod_run -J n1 -w n3 -- true
is "$(($(logins) - before))" 3 "goes through the kept connection"

# ---- Two at once ----
stop
nanopod_run -w n1 -- true
before=$(logins)
nanopod_run -w n1 -- "touch $TMP/began; while [ ! -e $TMP/end ]; do sleep 0.1; done; echo first" >first_out &
one=$!
ok "a command holds the connection" wait_for 20 test -e began
run_is 0 "another one meanwhile" nanopod_run -w n1 -- echo second
is "$(($(logins) - before))" 1 "makes its own"
like "$("$NANOPOD" keep stop 2>&1)" 'closed 1 connection; 1 in use closes when the command ends' "stop waits for the first"
touch end; wait $one
is "$?:$(cat first_out)" "0:n1: first" "which ends as if nothing was"
ok "then its connection is closed too" wait_for 20 no_sockets

# ---- Cancelled ----
nanopod_run -w n1 -- true
"$NANOPOD" run -F "$SSHD_CONFIG" --keep 10m -w n1 -- "sleep $(long 1)" 2>said &
one=$!
ok "a command runs on a kept connection" wait_for 20 running 1
kill $one; wait $one
is $? 143 "a signal to nanopod"
ok "ends it there" wait_for 20 gone 1
like "$(cat said)" 'SIGTERM|its processes ended' "and says so"
run_is 0 "the next command works" nanopod_run -w n1 -- true

# ---- A keeper that is lost ----
stop
nanopod_run -w 'n[1-2]' -- true
kill -9 "$(keepers)"
is "$(ls "$kept" | wc -l)" 2 "a killed keeper leaves its sockets"
run_is 0 "the next command connects by itself" nanopod_run -w 'n[1-2]' -- true
is "$(ls "$kept" | wc -l):$(count)" 2:2 "and its connections take their place"
nanopod_run -w n1 -- "echo ran >>$TMP/times; sleep $(long 2)" 2>said &
one=$!
ok "a command runs" wait_for 20 running 2
kill -9 "$(keepers)"; wait $one
is "$?:$(cat times)" "255:ran" "a keeper killed under it: it fails, and does not run twice"
like "$(cat said)" 'keeper' "and says why"
pkill -f "^sleep $(long 2)"
rm -f times
nanopod_run -w n1 -- true
still=$(keepers); kill -STOP $still
started=$(date +%s)
run_is 0 "with a stopped keeper a command connects by itself" nanopod_run -w n1 -- "echo ran >>$TMP/times"
ok "soon" test $(($(date +%s) - started)) -lt 60
is "$(cat times)" ran "and runs once"
like "$(timeout 60 "$NANOPOD" keep 2>&1)" 'does not answer' "the list tells of it"
like "$("$NANOPOD" doctor -o csv 2>/dev/null | grep ',kept,')" 'does not answer.*nanopod keep stop' "doctor as well, with what helps"
all_answer() { ! "$NANOPOD" keep 2>&1 | grep 'does not answer'; }
like "$("$NANOPOD" keep stop 2>&1)" 'ended the keeper' "which ends that keeper"
ok "for good" wait_for 20 all_answer
stop

# ---- Time ----
run_is 0 "kept for a second" nanopod_run --keep 1s -w n1 -- true
ok "it closes by itself" wait_for 20 no_sockets
nanopod_run --keep 2s -w n1 -- true
keeper=$(keepers); before=$(logins)
kill -STOP "$keeper"; sleep 3
(sleep 0.5; kill -CONT "$keeper") &
run_is 0 "a command right after a machine slept for longer" nanopod_run -w n1 -- true
is "$(($(logins) - before))" 1 "does not use it"
stop
nanopod_run -w 'n[1-2]' -- true
for pid in $SSHD_PIDS; do pkill -P "$pid"; done
ok "connections that the server closes are not kept" wait_for 20 no_sockets

# ---- Folders ----
run_is 2 "another word than status and stop" "$NANOPOD" keep start
mkdir -p bad/nanopod; chmod 755 bad/nanopod
run env XDG_RUNTIME_DIR="$TMP/bad" timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" --keep 10m -w n1 -- echo here
is "$status:$out" "0:n1: here" "a folder that others may enter: the command works"
like "$err" 'must belong to you' "and says that nothing is kept"
is "$(ls bad/nanopod)" "" "which is so"
mkdir -m 700 link && ln -s "$kept" link/nanopod
run env XDG_RUNTIME_DIR="$TMP/link" timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" --keep 10m -w n1 -- echo here
like "$status:$err" '0:.*not kept' "nor through a link"
if [ "$(id -u)" -eq 0 ] && have setpriv; then
	mkdir -m 700 theirs theirs/nanopod && chown 65534 theirs/nanopod
	run env XDG_RUNTIME_DIR="$TMP/theirs" timeout 60 "$NANOPOD" run -F "$SSHD_CONFIG" --keep 10m -w n1 -- echo here
	like "$status:$err" '0:.*must belong to you' "nor in a folder of another user"
else
	skip "root and setpriv are needed for folders of others"
fi
done_testing
