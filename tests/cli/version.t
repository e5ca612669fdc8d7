#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
cd "$TMP" || exit 99

run_is 0 "version" "$NANOPOD" version
like "$out" '^nanopod [0-9]+\.[0-9]+\.[0-9]+ \(libpssh [0-9]+\.[0-9]+\.[0-9]+\)$' "says both"
said=$out
for words in --version -V; do
	run_is 0 "$words" "$NANOPOD" $words
	is "$out" "$said" "says the same"
done
for words in "version -o json" "--version -o json" "-o json version" "version --output=json"; do
	run_is 0 "$words" "$NANOPOD" $words
	like "$out" '^\{"name":"nanopod","version":"[0-9.]+","libpssh":"[0-9.]+"\}$' "is an object"
done

# Nothing is asked for it: no file below HOME, no socket.
if have strace; then
	strace -f -e trace=execve,openat,socket,connect -o "$TMP/trace" "$NANOPOD" version >/dev/null 2>&1
	isnt "$(grep -c execve "$TMP/trace")" 0 "watched"
	is "$(grep -c "$HOME/\|/etc/nanopod\|nanopod\.yaml\|AF_INET" "$TMP/trace")" 0 "no settings are read, no network is used"
else
	skip "strace is not installed"
fi

done_testing
