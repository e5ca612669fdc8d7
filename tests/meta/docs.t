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

# Tables and charts of the page say what benches left in doc/data, and nothing else.
doc/draw-charts --tables >"$TMP/page"
is "$(diff doc/performance.md "$TMP/page")" "" "doc/performance.md has the rows of doc/data (else: make charts)"
for file in doc/data/*.tsv; do
	ok "and shows ${file#doc/data/}" grep -q "^<!-- table ${file#doc/data/} -->\$" doc/performance.md
	is "$(awk -F '\t' '/^#/ { next } !n { n = NF } NF != n || $NF == ""' "$file")" "" "each row there says when it was measured"
done
charts=$(sed -n 's/^<!-- chart \([^:]*\): \([^ ]*\) \([0-9]*\) \([0-9]*\) \([^;]*\); .*/\1:\2:\4:\5/p' doc/performance.md)
isnt "$charts" "" "doc/performance.md has charts"
while IFS=: read -r name file value first; do
	awk -F '\t' -v v="$value" -v first="$first" '/^#/ || !headed { headed += !/^#/; next }
		first == "*" || $1 == first { print $v + 0 }' "doc/data/$file" | sort >"$TMP/rows"
	sed -n 's/.*<tspan[^>]*>[ ]*\([0-9.]*\)<\/tspan>.*/\1/p' "doc/$name" | sort >"$TMP/drawn"
	is "$(comm -23 "$TMP/rows" "$TMP/drawn")" "" "doc/$name shows what doc/data/$file says (else: make charts)"
	ok "(that has values)" test -s "$TMP/rows"
	ok "and the page shows it" grep -q "($name)" doc/performance.md
done <<-END
	$charts
END
done_testing
