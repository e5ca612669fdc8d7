#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod hosts: expressions, folding, and what ssh would use.
. "$(dirname "$0")/../lib/tap.sh"
cd "$TMP" || exit 99

hosts() { "$NANOPOD" hosts "$@"; }
lines() { paste -sd ' ' "$TMP/.out"; }

run hosts 'n[01-03,7]'
is "$status $(lines)" "0 n01 n02 n03 n7" "a range"
run hosts 'r[1-2]n[1-2]' a,b
is "$(lines)" "r1n1 r1n2 r2n1 r2n2 a b" "two dimensions, and several words"
run hosts 'n[1-5]' -x 'n[2,4]'
is "$(lines)" "n1 n3 n5" "-x"
run hosts 'n[1-5]!n[2,4]'
is "$(lines)" "n1 n3 n5" "! in the expression"
run hosts n2 n1 n2
is "$(lines)" "n2 n1" "a name counts once, the order is kept"
run hosts --count 'r[1-100]n[1-100]'
is "$out" 10000 "--count"
run hosts --fold n1 n2 n3 x
is "$out" "n[1-3],x" "--fold"
printf 'n1 # first\n\nn[2-3]\n' >list
run_stdin list hosts --fold -
is "$out" "n[1-3]" "standard input"
run hosts --fold ^list -w n4
is "$out" "n[1-4]" "^FILE, and -w"
run hosts --fold --hosts-file list
is "$out" "n[1-3]" "--hosts-file"
printf 'n2\nm1\n' >less
run hosts --fold 'n[1-5]' -x ^less
is "$status $out" "0 n[1,3-5]" "-x ^FILE"
run hosts --fold 'a,^list m1' '^less,b'
is "$out" "a,n[1-3],m1,b" "^FILE among other words"
run hosts --fold '^list,-^less'
is "$out" "n[1,3]" "-^FILE leaves its names out"
run hosts --fold 'n[1-9]' -x '^list,n[4-5],-n2'
is "$out" "n[2,6-9]" "an exclusion may have exceptions"
run hosts --fold '^list,-n1'
is "$out" "n[2-3]" "^FILE with a name left out"
run_stdin list hosts --fold x,^-
is "$out" "x,n[1-3]" "^- among other words is standard input"
printf '#include less\n' >more
run hosts --fold ^more
is "$out" "n2,m1" "a file that includes another"
run_is 3 "one that is not there" hosts a,^nosuch,b
like "$err" "nosuch'" "is named alone"
# pdsh filters by regular expressions: silently a name, it would reach the hosts that were to be left out.
for words in "-x /[1-9]\$/" "-w foo1,/0\$/"; do
	run_is 2 "a regular expression" hosts 'foo[0-20]' $words
	like "$err" "grep" "is refused with what to type instead"
done
run_is 2 "an open bracket" hosts 'n[1-'
like "$err" "n\[1-" "is named"
is "$out" "" "and nothing is printed"
run_is 2 "no hosts" hosts
run_is 3 "a file that is not there" hosts ^nosuch
like "$err" "nosuch" "is named"
run_is 3 "an unknown group" hosts @nosuch
like "$err" "nosuch" "is named too"

mkdir -p "$HOME/.config/nanopod"
printf "groups:\n  web: 'w[1-3]'\n  all: '@web,db'\n" >"$HOME/.config/nanopod/config.yaml"
chmod 600 "$HOME/.config/nanopod/config.yaml"
run hosts --fold @all
is "$out" "w[1-3],db" "groups, also in groups"
printf "groups:\n  a: '@b'\n  b: '@a'\n" >"$HOME/.config/nanopod/config.yaml"
run timeout 20 "$NANOPOD" hosts @a
ok "a group that contains itself ends in an error" test "$status" -gt 0 -a "$status" -lt 124
rm "$HOME/.config/nanopod/config.yaml"

cat >config <<'END'
Host gate
  HostName 10.0.0.1
  User jumper
Host n*
  HostName %h.example
  Port 2222
  User worker
  ProxyJump gate
END
run hosts -F config -o jsonl n1 root@n2:22 other
if have jq; then
	is "$(jq -r '[.host,.address,.user,.port,.jump]|map(tostring)|join(" ")' "$TMP/.out" | head -n 2)" \
		"$(printf 'n1 n1.example worker 2222 gate\nroot@n2:22 n2.example root 22 gate')" "what ssh would use"
	is "$(jq -r '.jump' "$TMP/.out" | tail -n 1)" null "no way round is null"
	run hosts -F config -o json nosuchthing
	is "$(jq length "$TMP/.out")" 1 "json is an array"
fi
run hosts -F config -o wide n1
like "$out" '^HOST +ADDRESS +USER +PORT +JUMP' "-o wide"
like "$out" '^n1 +n1.example +worker +2222 +gate' "with the way there"
run hosts -F config -l bob -p 99 -J none -o csv n1 al@n2
is "$(tail -n 2 "$TMP/.out")" "$(printf 'n1,n1.example,bob,99,,\nal@n2,n2.example,al,99,,')" "options win over the configuration, names over options"
{ printf 'IdentityFile /k/one\nIdentityFile /k/%%h\n'; cat config; } >key_config
: >own
run hosts -F key_config -i own -o wide n1
like "$out" '^HOST +ADDRESS +USER +PORT +JUMP +IDENTITIES' "key files"
like "$out" 'gate +/k/one, /k/n1.example, own' "of the configuration and the options"
run hosts -F config --fields port,host n1
like "$out" "2222 +n1" "--fields"
if [ -w /dev/full ]; then
	status=0; hosts 'n[1-3]' >/dev/full 2>err || status=$?
	is "$status" 1 "a full disk is an error"
fi
done_testing
