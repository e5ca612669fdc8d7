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
SSHD_EXTRA="SetEnv HOME=$TMP/gate XDG_CACHE_HOME=$TMP/gate/.cache TMPDIR=$TMP/gate/tmp SHLVL=3 PATH=$TMP/gate/bin:$PATH"
sshd_up 3 gw || { fail "sshd of gateways is up"; done_testing; }
{
	sed '/^Host \*/,$d' "$SSHD_CONFIG"
	printf 'Host gw*\n  UserKnownHostsFile %s\n  IdentityFile %s\n' "$SSHD_KNOWN" "$SSHD_KEY"
	sed 's/^  IdentityFile.*//' "$hosts_config"
} >config
direct() { timeout -k 5 60 "$NANOPOD" run -F "$hosts_config" "$@"; }
via() { timeout -k 5 60 "$NANOPOD" run -F config --via 'gw[1-2]' "$@"; }
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
	sed 's/"time":"[^"]*",//; s/"seq":[0-9]*,//' "$TMP/.out" | sort >$way.jsonl
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

done_testing
