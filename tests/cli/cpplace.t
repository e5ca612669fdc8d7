#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod cp: where files land, by one rule in both directions, and a file of its own for each host.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_up 3 || { fail "sshd is up"; done_testing; }
cd "$TMP" || exit 99
cp_() { timeout -k 5 100 "$NANOPOD" cp -F "$SSHD_CONFIG" "$@"; }
files() { (cd "$1" && find . -type f | sort | paste -sd ' '); }
mkdir there
D=$TMP/there
echo alpha >a; echo beta >b
mkdir -p tree/sub && echo 1 >tree/sub/x
cp -r a tree there/

# ---- One rule: a directory or a slash means inside; anything else is the new name ----
for way in put get; do
	case $way in
	put) from='' to=n1:$D/put ;;
	get) from=n1:$D/ to=get ;;
	esac
	mkdir -p "there/put/is" get/is
	at=$way; [ $way = put ] && at=there/put
	run_is 0 "$way: a file under a new name" cp_ "${from}a" "$to/new"
	run_is 0 "$way: a file into a directory" cp_ "${from}a" "$to/is"
	run_is 0 "$way: a file with a slash, which makes the directory" cp_ "${from}a" "$to/made/"
	run_is 0 "$way: a tree under a new name" cp_ -r "${from}tree" "$to/tnew"
	run_is 0 "$way: a tree into a directory" cp_ -r "${from}tree" "$to/is"
	run_is 0 "$way: a tree with a slash, which makes the directory" cp_ -r "${from}tree" "$to/tmade/"
	run_is 0 "$way: two sources, which need a directory" cp_ -r "${from}a" "${from}tree" "$to/two"
	is "$(files "$at")" "./is/a ./is/tree/sub/x ./made/a ./new ./tmade/tree/sub/x ./tnew/sub/x ./two/a ./two/tree/sub/x" \
		"$way: all are where the rule says"
	run_is 1 "$way: the directory above it is missing" cp_ "${from}a" "$to/no/such/"
	like "$err" "no/such" "$way: which is told"
done
run_is 0 "put: many hosts" cp_ a "n[1-3]:$D/many/"
is "$(files there/many)" "./a" "by the same rule"
mkdir dir
run_is 0 "get: many hosts, a directory" cp_ "n[1-2]:$D/a" dir
run_is 0 "get: many hosts, a slash" cp_ -r "n[1-2]:$D/tree" slash/
run_is 0 "get: many hosts, {host}, with directories on the way" cp_ "n[1-2]:$D/a" 'deep/{host}/x/name'
is "$(files dir) $(files slash) $(files deep)" \
	"./n1/a ./n2/a ./n1/tree/sub/x ./n2/tree/sub/x ./n1/x/name ./n2/x/name" "a directory for each host"


# ---- One host under its own name is one; what can mean several has a directory for each, whatever it means today ----
printf 'groups:\n  solo: n1\n' >settings.yaml
export NANOPOD_CONFIG=$TMP/settings.yaml
for hosts in n1 "$SSHD_USER@n1"; do
	rm -rf one
	run_is 0 "get: $hosts" cp_ "$hosts:$D/a" one/
	is "$(files one)" "./a" "is one host"
done
run_is 0 "get: two sources on one host" cp_ -r "n1:$D/a" "n1:$D/tree" pair/
is "$(files pair)" "./a ./tree/sub/x" "is one host, too"
run_is 0 "get: one host of which another is left out" cp_ -x n2 "n1:$D/a" but/
is "$(files but)" "./a" "is one host, too"
for hosts in @solo 'n[1-1]' 'n[1-2]!n2' n1,n1 '^just'; do
	rm -rf one
	echo n1 >just
	run_is 0 "get: $hosts" cp_ "$hosts:$D/a" one/
	is "$(files one)" "./n1/a" "can mean several"
done
run_is 0 "get: -w with one host" cp_ -w n1 ":$D/a" picked/
is "$(files picked)" "./n1/a" "can mean several"
run_is 0 "get: a group beside its host" cp_ -r "@solo:$D/a" "n1:$D/tree" both/
is "$(files both)" "./n1/a ./n1/tree/sub/x" "both are in its directory"
run_is 0 "get: a group of one, {host}" cp_ "@solo:$D/a" './solo-{host}'
ok "is the new name" cmp a solo-n1
run_is 2 "get: a group of one under a new name" cp_ "@solo:$D/a" new
like "$err" "'new' would be one file, and '@solo:$D/a' can be on several hosts" "is refused"
not_ok "and nothing is copied" test -e new

# ---- No file is replaced by another of the same command ----
mkdir other && echo other >other/a
run_is 2 "two sources of one name" cp_ a other/a "n1:$D/twice/"
like "$err" "'a' and 'other/a' would both become 'a'" "are refused"
not_ok "before anything is sent" test -e there/twice
run_is 2 "on hosts, too" cp_ "n1:$D/a" "n1:$D/is/a" twice/
run_is 2 "two hosts of one name" cp_ "$SSHD_USER@n1,n1:$D/a" 'same/{host}'
like "$err" "several hosts are named 'n1'" "are refused"
not_ok "before anything is made" test -e same

# ---- Wildcards on hosts ----
mkdir there/log && echo 1 >there/log/1.log && echo 2 >there/log/2.log && echo 3 >there/log/3.txt
run_is 0 "a pattern on hosts" cp_ "n[1-2]:$D/log/*.log" logs/
is "$(files logs)" "./n1/1.log ./n1/2.log ./n2/1.log ./n2/2.log" "each host's matches in its directory"
run_is 0 "several parts, beside a plain source" cp_ "n1:$D/l*/[23].*" "n1:$D/a" parts
is "$(files parts)" "./2.log ./3.txt ./a" "are there"
run_is 3 "no match" cp_ "n1:$D/log/*.none" none/
like "$err" "no file on the host matches" "is told"
not_ok "and nothing is made" test -e none/n1

# ---- What has not changed ----
mkdir -p up/sub && echo 1 >up/f && echo 2 >up/sub/g
run_is 0 "--update" cp_ -r -u up "n[1-2]:$D/"
like "$err" "; unchanged: [0-2]$" "says how many were unchanged"
ino=$(stat -c %i there/up/f)
run_is 0 "a second time, of two sources" cp_ -r -u a up "n1:$D/"
like "$err" "copied (6 B|0 B) .*; unchanged: [23]$" "leaves all alone"
is "$(stat -c %i there/up/f)" "$ino" "which is true"
echo 3 >up/f; touch -d '2001-02-03 04:05:06' up/f
run_is 0 "one file of the same size changed" cp_ -r -u up "n1:$D/"
like "$err" "copied 2 B .*; unchanged: 1$" "is copied"
ok "is the same" diff -r up there/up
run_is 0 "from a host" cp_ -r -u "n1:$D/up" back/
run_is 0 "a second time" cp_ -o jsonl -r -u "n1:$D/up" back/
like "$out" '"bytes":0,"unchanged":2' "is said in JSON, too"
ok "is the same" diff -r up back/up

# ---- A file for each host ----
mkdir conf && for i in 1 2 3; do echo "of n$i" >conf/n$i.yaml; mkdir -p conf/n$i && echo "$i" >conf/n$i/f; done
run_is 0 "{host} in a source" cp_ './conf/{host}.yaml' "n[1-3]:$D/"
is "$(cat there/n1.yaml there/n2.yaml there/n3.yaml | paste -sd ,)" "of n1,of n2,of n3" "is each host's own"
run_is 0 "a tree for each, beside a file for all" cp_ -r 'conf/{host}' a "n[1-2]:$D/trees/"
is "$(files there/trees)" "./a ./n1/f ./n2/f" "is there"
rm conf/n2.yaml conf/n3.yaml there/n1.yaml
run_is 3 "where files are missing" cp_ './conf/{host}.yaml' "n[1-3]:$D/"
like "$err" "2 of 3 hosts .*'./conf/n2.yaml', './conf/n3.yaml'" "all are told"
not_ok "before anything is sent" test -e there/n1.yaml
run_is 0 "user and port are no part of the name" cp_ './conf/{host}.yaml' "$SSHD_USER@n1:$D/"
done_testing
