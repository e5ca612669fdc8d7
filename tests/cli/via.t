#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod run --via: gateways and hosts are real sshd.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

for tool in pgrep sha256sum; do have $tool || skip_all "$tool is not installed"; done
sshd_up 4 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
hosts_config=$SSHD_CONFIG hosts_key=$SSHD_KEY hosts_known=$SSHD_KNOWN hosts_dir=$SSHD_DIR
# Gateways have a home of their own, with a key for the hosts; ours is for the gateways alone.
mkdir -m 700 gate gate/.ssh gate/.cache gate/tmp gate/bin && cp "$hosts_key" gate/.ssh/id_ed25519
gate=$TMP/gate
SSHD_EXTRA="SetEnv HOME=$gate XDG_CACHE_HOME=$gate/.cache TMPDIR=$gate/tmp SHLVL=3 LD_LIBRARY_PATH=$gate/lib PATH=$gate/bin:$PATH"
sshd_up 3 gw || { fail "sshd of gateways is up"; done_testing; }
{
	sed '/^Host \*/,$d' "$SSHD_CONFIG"
	printf 'Host gw*\n  UserKnownHostsFile %s\n  IdentityFile %s\n' "$SSHD_KNOWN" "$SSHD_KEY"
	sed 's/^  IdentityFile.*//' "$hosts_config"
} >config
direct() { timeout -k 5 300 "$NANOPOD" run -F "$hosts_config" "$@"; }
via() { timeout -k 5 300 "$NANOPOD" run -F config --via 'gw[1-2]' "$@"; }
here='here=$(echo "$SSH_CONNECTION" | cut -d" " -f3); here=${here##*.};'
long() { echo $(($1 * 10000000 + $$)); }
gone() { ! pgrep -f "sleep $(long "$1")" >/dev/null; }
runs() { [ "$(pgrep -fc "^sleep $(long "$1")")" -ge "$2" ]; }
clean() { [ -z "$(ls -A gate/.cache)$(ls -A gate/tmp)" ] || { find gate/.cache gate/tmp; return 1; }; }
# The helpers on a gateway.
helpers() {
	local pid at; at=$(sed -n "/^Host $1\$/{n;s/.* //p}" config)
	for pid in $(pgrep -f 'nanopod gateway$'); do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -q "^SSH_CONNECTION=.* $at " && echo "$pid"
	done
}
# Typed by a person, it would wait for ever.
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
if [ -x "$PTY" ]; then
	printf 'size 120 24\n' >"$TMP/keys"
	timeout 200 "$PTY" "$TMP/keys" "$NANOPOD" gateway >"$TMP/terminal" 2>&1
	like "$(tr -d '\r' <"$TMP/terminal")" "reads what 'nanopod run --via' sends, not a terminal" "a terminal is no gateway's input"
fi

# The same words to a direct run and to one through gateways give the same output, errors and status.
same() {
	local text=$1 ours_out ours_err ours; shift
	run direct "$@"; ours=$status; sort "$TMP/.out" >direct.out; sort "$TMP/.err" >direct.err
	run via "$@"; sort "$TMP/.out" >via.out; sort "$TMP/.err" >via.err
	is "$status" "$ours" "$text: the status"
	ok "$text: the output" diff direct.out via.out
	ok "$text: the errors" diff direct.err via.err
}

# ---- As without gateways ----
not_ok "our key does not open the hosts themselves" timeout 60 "$NANOPOD" run -F config -w n1 -- true
same "lines" -w 'n[1-4]' -- 'echo one; echo two; echo bad >&2'
same "some fail" -w 'n[1-4]' -- "$here exit \$((here % 3))"
same "the largest status" -S -w 'n[1-4]' -- "$here exit \$here"
same "a signal" -w 'n[1-4]' -- 'kill -TERM $$'
same "one host" -w n1 -- 'echo x; exit 7'
same "gathered" -w 'n[1-4]' -b -- "$here echo same; [ \$here -ne 4 ] || echo other"
same "differences" -w 'n[1-4]' --diff -- "$here echo a; [ \$here -eq 2 ] && echo x || echo b"
same "bytes" -w n1 --no-label -- 'head -c 3000000 /dev/zero | tr "\0" "\377"'
same "json" -w 'n[1-4]' -o json -- 'echo "a\"b"; printf "x\377\n"; echo e >&2; exit 3'
same "a host that does not resolve" -w n1,nosuch.invalid -- echo here
same "a deadline" -w 'n[1-2]' --timeout 1s -- 'sleep 60'
printf '#!/bin/sh\necho "$0" "$@"\nhead -c 10\n' >script
same "a script" -w 'n[1-4]' --script script -- a 'b c'
for way in direct via; do
	run $way -w 'n[1-4]' -o jsonl -- 'echo x; exit 3'
	# What the gateways' connections agreed on is not told.
	sed 's/"time":"[^"]*",//; s/"seq":[0-9]*,//; s/,"kex":.*"cipher":"[^"]*"//' "$TMP/.out" | sort >$way.jsonl
	grep -o '"seq":[0-9]*' "$TMP/.out" | cut -d: -f2 >$way.seq
	$way -w 'n[1-4]' --save $way.saved -- "$here echo \$here; exit \$((here / 3))" >/dev/null 2>&1
	run $way --failed-from $way.saved; sort "$TMP/.out" >$way.again
done
ok "json lines are the same" diff direct.jsonl via.jsonl
is "$(cat via.seq)" "$(seq "$(wc -l <via.seq)")" "and count without a gap"
ok "what --save keeps" diff -r direct.saved via.saved
ok "and what --failed-from does with it" diff direct.again via.again
run_is 2 "--stdin" via -w n1 --stdin -- cat
like "$err" "does not go through gateways" "is refused"
ok "each gateway has half of the hosts" test "$(via -w 'n[1-4]' --no-label -- 'echo $SSH_CONNECTION' | wc -l)" = 4
ok "nothing is left on the gateways" wait_for 10 clean


# ---- The helper: sent, shared, installed, unfit ----
fake() { printf '#!/bin/sh\n%s\n' "$1" >gate/bin/nanopod; chmod 755 gate/bin/nanopod; }
hold='while [ -e hold ]; do sleep 0.1; done'; hold="cd $TMP; $hold"
: >hold
via --via gw3 -w n1 -- "$hold" & first=$!
uses() { [ "$(find gate/.cache -name 'use.*' | wc -l)" -eq "$1" ]; }
ready() { [ "$({ helpers gw1; helpers gw2; helpers gw3; } | wc -l)" -eq 3 ]; }
ok "helpers are sent" wait_for 30 ready
is "$(stat -c %a gate/.cache/nanopod-via-*)" 700 "its folder is ours alone"
inode() { stat -c %i gate/.cache/nanopod-via-*/nanopod; }
was=$(inode)
run_is 0 "another run beside it" via -w n2 -- true
is "$(inode)" "$was" "uses the same one"
# The other run is over here before its gateways have tidied up.
ok "which the first one still has" wait_for 30 uses 3
rm hold; wait $first; is $? 0 "the first one ends well"
ok "and removes it" wait_for 10 clean
mkdir gate/lib && : >gate/lib/libyaml-0.so.2
run_is 255 "a gateway where our program does not start" via -w n1 -- true
like "$err" "cannot use gateway .gw1.: our program does not start there: .*libyaml.*; install nanopod" "says what to do"
rm -r gate/lib
fake 'echo "$*" >>'"$TMP"'/called; exit 11'
run_is 0 "a gateway with another version" via -w n1 -- true
ok "is asked for its version" grep -q 'gateway --fits' called
not_ok "and no more" grep -vq fits called
fake 'echo "$*" >>'"$TMP"'/called; exec '"$NANOPOD"' "$@"'; : >called
run_is 0 "a gateway with this version" via -w n1 -- true
ok "uses its own" grep -qx gateway called
rm gate/bin/nanopod

# ---- Keys of hosts ----
grep -v "^\[$(sed -n '/^Host n2$/{n;s/.* //p}' config)\]" "$hosts_known" >few
cp config whole_config; cp "$hosts_config" all_config
sed -i "s|$hosts_known|$TMP/few|" config "$hosts_config"
run_is 10 "an unknown key" via -w 'n[1-4]' -- echo x
like "$err" "is not known \\(1\\): n2" "is refused"
is "$(sort "$TMP/.out")" "$(printf 'n%d: x\n' 1 3 4)" "the others run"
sed -i "s|\(.*n*\) ssh-ed25519 .*|\1 $(cut -d' ' -f1,2 "$hosts_key.pub")|" few
run_is 10 "changed keys" via -w 'n[1-2]' -- true
like "$err" "but another one is known here: this is another machine, or" "are told as such"
cp whole_config config; cp all_config "$hosts_config"
cp "$SSHD_KNOWN" new_known
run_is 0 "--host-key accept-new" via --known-hosts new_known --host-key accept-new -w 'n[1-4]' -- true
is "$(sort new_known)" "$(sort "$SSHD_KNOWN" "$hosts_known")" "writes the keys down here"

cp "$hosts_known" known; ssh-keygen -q -H -f known >keygen.out 2>/dev/null; rm -f known.old; cat "$SSHD_KNOWN" >>known
run_is 0 "hashed names in the known hosts" via --known-hosts known -w 'n[1-4]' -- true
printf '@revoked * %s\n' "$(cut -d' ' -f1,2 "$hosts_dir/host.pub")" >>known
run_is 10 "a revoked key" via --known-hosts known -w 'n[1-2]' -- true
like "$err" 'revoked' "is refused"
cp "$SSHD_KNOWN" known
printf 'expect (yes/no)?\nsend yes\\r\n' >yes
timeout 200 "$PTY" yes "$NANOPOD" run -F config --via 'gw[1-2]' --known-hosts known --host-key ask \
	-w 'n[1-4]' -- echo hello >asked 2>&1
is $? 0 "a person who is asked says yes" || diag "$(cat asked)"
is "$(grep -c 'n[1-4]:.* hello' asked)" 4 "all run"
is "$(sort known)" "$(sort "$SSHD_KNOWN" "$hosts_known")" "their keys are known now"
grep -v "^\[$(sed -n '/^Host gw2$/{n;s/.* //p}' config)\]" "$SSHD_KNOWN" >known; cp known known.gates
timeout 200 "$PTY" yes "$NANOPOD" run -F config --via 'gw[1-2]' --known-hosts known --host-key ask \
	-w 'n[1-4]' -- echo hello >asked 2>&1
is $? 0 "yes to the keys of hosts" || diag "$(cat asked)"
is "$(sort known)" "$(sort known.gates "$hosts_known")" "is no yes to the key of a gateway, which was not shown"

# ---- Gateways that fail ----
# A name may still be looked up when the program ends.
export LSAN_OPTIONS=suppressions=$SRC/tests/lib/lsan.supp:print_suppressions=0:${LSAN_OPTIONS-}
run_is 10 "a gateway that cannot be reached" via --via nosuch.invalid -w 'n[1-4],nosuch2.invalid' -- echo x
like "$err" "cannot use gateway 'nosuch.invalid': .*; the others take its 1 hosts" "is named, others take its hosts"
is "$(wc -l <"$TMP/.out")" 4 "all have run"
run_is 10 "no gateway" timeout 60 "$NANOPOD" run -F config --via nosuch.invalid -w 'n[1-4]' -- true
like "$err" 'no gateway can be used \(4\): n\[1-4\]' "is said"
rm -f ran.* hold; : >hold
via -f 2 -w 'n[1-4]' -- "$here echo x >>$TMP/ran.\$here; $hold" >out 2>err & first=$!
begun() { [ "$(ls ran.* 2>/dev/null | wc -l)" = 2 ]; }
ok "two run, two wait" wait_for 30 begun
# The first gateway has n1 and n3, the second n2 and n4; the one that was ready first may have begun both of its own.
victim=gw1 mine='n[13]'; [ -e ran.1 ] || [ -e ran.3 ] || victim=gw2 mine='n[24]'
lost=$(ls ran.* | sed 's/ran./n/' | grep -x "$mine")
kill -KILL $(helpers $victim)
ok "a dead gateway is named" wait_for 30 grep -q "gateway '$victim' died: .*unknown" err
rm hold; wait $first; is $? 10 "the others end"
is "$(cat ran.* | wc -l)" 4 "all ran, and none twice"
is "$(grep -c "unknown: gateway '$victim' died ($(echo "$lost" | wc -l)): " err)" 1 "what ran through it is unknown"
ok "nothing is left there" wait_for 20 clean
at=$(sed -n '/^Host gw1$/{n;s/.* //p}' config)
lie() {
	fake 'case "$*:$SSH_CONNECTION" in
	*fits*) ;;
	*" '"$at"' "*) printf "\nnanopod-via ready 1\n"; head -c 1 >/dev/null; '"$1"'; cat >/dev/null ;;
	*) exec '"$NANOPOD"' "$@" ;; esac'
}
for what in 'printf "\1"; head -c 100000 /dev/urandom' 'printf "\0\0\0\4x\0\0\0\1000\0000\0"' \
	'printf "\377\377\377\377"' 'printf "\0\0\0\4x\0\0\0\0000\0000\0"' 'printf "\0\0\0\1b\0\0\0\0\0\0\0\0\1b\0\0\0\0\0"' exit; do
	lie "$what"
	run_is 10 "a gateway that says: $what" via -w 'n[1-4]' -- echo x
	like "$err" "gateway 'gw1' died" "is not believed"
	is "$(sort "$TMP/.out")" "$(printf 'n%d: x\n' 2 4)" "the other's hosts ran"
done
# frame TYPE ID [WORD...]: as a helper writes it, for printf
frame() {
	local type=$1 id=$2 text= len=0 word; shift 2
	for word; do len=$((len + ${#word} + 1)) text="$text$word\\000"; done
	printf '\\000\\000\\%03o\\%03o%s\\000\\000\\000\\%03o%s' $((len / 256)) $((len % 256)) "$type" "$id" "$text"
}
cat "$SSHD_KNOWN" "$hosts_known" >known; cp known known.was
lie "printf \"$(frame b 0 "$(cut -d' ' -f1,2 "$hosts_key.pub")")\"; exit"
run_is 10 "a gateway that tells another key of a known host" via --known-hosts known --host-key accept-new -w 'n[1-4]' -- true
like "$err" "another machine, or somebody is in between" "is not believed"
ok "and nothing is written down" cmp known known.was
lie "printf \"$(frame r 0 -1 0 127.0.0.1 $'SHA256:x\033[2J (yes/no)? ' why)\"; exit"
run_is 10 "escapes in a fingerprint" via -w 'n[1-4]' -- true
like "$err" "gateway 'gw1' died: what it says of its hosts cannot be true" "are refused"
rm gate/bin/nanopod

# ---- Our agent ----
run_is 2 "-A without an agent" via -A -w n1 -- true
eval "$(ssh-agent -s)" >agent.pid; at_exit "kill $SSH_AGENT_PID"
ssh-add -q "$hosts_key" 2>/dev/null
mv gate/.ssh/id_ed25519 gate/key; : >no_keys
run_is 10 "without -A" via -w 'n[1-4]' -- true
run_is 0 "with -A the gateways use our agent" via -A -w 'n[1-4]' -- true
ok "nothing is left there" wait_for 20 clean
{ printf '\000\001\206\240d\000\000\000\000'; printf '\000\000\000\001\013%.0s' $(seq 20000); } >flood
lie "printf \"$(frame n 0)\"; while cat $TMP/flood; do :; done"
via -A -w 'n[1-4]' -- echo x >out 2>err & first=$!
others() { [ "$(sort out)" = "$(printf 'n%d: x\n' 2 4)" ]; }
stopped() { pkill -INT -P $first; ! kill -0 $first 2>/dev/null; }
ok "a gateway that asks our agent without pause does not stop the others" wait_for 30 others
ok "nor Ctrl-C" wait_for 30 stopped
wait $first
rm gate/bin/nanopod
mv gate/key gate/.ssh/id_ed25519

# ---- Stopping ----
via -w 'n[1-4]' -- "sleep $(long 1)" >out 2>err & first=$!
ok "all sleep" wait_for 30 runs 1 4
pkill -INT -P $first; wait $first; is $? 130 "Ctrl-C"
ok "ends them" wait_for 20 gone 1
"$NANOPOD" run -F config --via 'gw[1-2]' -w 'n[1-4]' -- "sleep $(long 2)" >out 2>err & first=$!
ok "all sleep" wait_for 30 runs 2 4
kill -KILL $first; wait $first 2>/dev/null
ok "where this command dies, the helpers end them" wait_for 30 gone 2
ok "and leave nothing" wait_for 20 clean

done_testing
