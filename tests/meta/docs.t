#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# README.md and the guides of doc/: short, every link leads somewhere, every guide is run by a test, every chart shows
# what its table says.
. "$(dirname "$0")/../lib/tap.sh"
cd "$SRC" || exit 99

ok "README.md has at most 200 lines" test "$(wc -l <README.md)" -le 200

# links FILE: what it leads to in this tree, from its folder.
links() {
	sed 's/](/\n](/g' "$1" | sed -n 's/^](\([^):#]*\)[^)]*).*/\1/p'
}
for page in README.md HACKING.md doc/*.md; do
	for link in $(links "$page"); do
		[ -e "$(dirname "$page")/$link" ] || echo "$page leads to $link, which is not there"
	done
done >"$TMP/dead"
is "$(cat "$TMP/dead")" "" "no link leads to a file that is not there"

for guide in doc/*.md; do
	grep -q '^```sh$' "$guide" || continue
	grep -q "guide_run $guide\$" tests/cli/*.t tests/provision/*.t || echo "$guide"
done >"$TMP/unrun"
is "$(cat "$TMP/unrun")" "" "the commands of every guide are run by a test"
# A guide's commands stand in sh blocks; what looks like one elsewhere is run by nobody.
is "$(grep -lE '^    (\$ )?nanopod ' doc/*.md)" "" "and no command stands outside of such a block"

charts=$(sed -n 's/^<!-- chart \([^:]*\): \([0-9]*\) \([0-9]*\) \([0-9]*\) \([0-9]*\) .*/\1:\3:\4:\5/p' doc/performance.md)
isnt "$charts" "" "doc/performance.md has charts"
for chart in $charts; do
	IFS=: read -r name value first last <<-END
		$chart
	END
	awk -F '|' -v name="$name" -v v="$value" -v first="$first" -v last="$last" '
		index($0, "<!-- chart " name ":") == 1 { on = 1; next }
		on && /^\|/ { if (++row - 2 >= first && row - 2 <= last) print $(v + 1) + 0; seen = 1; next }
		on && seen { exit }' doc/performance.md | sort >"$TMP/table"
	sed -n 's/.*<tspan[^>]*>[ ]*\([0-9.]*\)<\/tspan>.*/\1/p' "doc/$name" | sort >"$TMP/drawn"
	is "$(comm -23 "$TMP/table" "$TMP/drawn")" "" "doc/$name shows what its table says (else: make charts)"
	ok "(the table has values)" test -s "$TMP/table"
	ok "and the page shows it" grep -q "($name)" doc/performance.md
done
done_testing
