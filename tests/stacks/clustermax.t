#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clustermax.tsv says which suite shows what a judge of clusters asks: is that test there, and does README.md count right?
. "$(dirname "$0")/../lib/tap.sh"
cd "$SRC" || exit 99
table=tests/stacks/clustermax.tsv
tab=$(printf '\t')
count() { awk -F '\t' -v state="$1" '!/^#/ && (state == "" || $2 == state)' $table | wc -l; }

is "$(awk -F '\t' '!/^#/ && (NF != 4 || $2 !~ /^(passes|ready|missing)$/ || $3 == "")' $table)" "" "each line has a state, and a suite or a reason"
is "$(sed 's/\t.*//' $table | sort | uniq -d)" "" "none is there twice"
grep "${tab}passes$tab" $table | while IFS=$tab read -r what _ suite text; do
	[ -n "$text" ] && grep -qF "\"$text\"" "$suite" || echo "$what: $suite has no '$text'"
done >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "what passes is shown by a test that is there"
line="$(count passes) of $(count '') pass"
ok "README.md says: $line" grep -qF "[$line]($table)" README.md
done_testing
