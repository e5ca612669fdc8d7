#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Phrases that need two readings, or that say in our own words what everybody has a word for, must not come back
# (tests/meta/phrases): in no error, help text, comment, page or script of the product.
. "$(dirname "$0")/../lib/tap.sh"
cd "$SRC" || exit 99

# found FILE…: "FILE: phrase" of each phrase that stands in a text, also where a line ends within it.
found() {
	awk -v phrases="$SRC/tests/meta/phrases" '
	BEGIN {
		FS = "\t"
		while ((getline line < phrases) > 0)
			if (line !~ /^(#|$)/ && split(line, part, "\t") >= 2)
				list[++count] = part[1]
		if (!count)
			print "tests/meta/phrases: it has no phrases"
	}
	function look(i) {
		for (i = 1; i <= count; i++)
			if (match(text, "(^|[^a-z])(" list[i] ")([^a-z]|$)"))
				print name ": " substr(text, RSTART, RLENGTH)
	}
	FNR == 1 { if (name != "") look(); name = FILENAME; text = "" }
	{
		line = tolower($0)
		sub(/^[ \t]*(\/\*|\*|#|\.[A-Z][a-z] |")?[ \t]*/, "", line)
		sub(/[ \t]*("[;,)]*|\\)?[ \t]*$/, "", line)
		text = text " " line
	}
	END { look() }' "$@"
}

find lib cli daemon stacks examples man completions -type f \( -name '*.[ch1-9]' -o -name '*.sh' -o -name '*.inc' -o -name '*.yaml' -o -name '*.bash' \
	-o -name '*.fish' -o -name '_nanopod' -o -name 'rules.md' \) >"$TMP/files"
ok "there are texts to look at" test -s "$TMP/files"
is "$(found $(cat "$TMP/files") README.md HACKING.md | LC_ALL=C sort)" "" "no phrase of tests/meta/phrases stands in them"

# The check itself.
mkdir "$TMP/probe"
printf '/*\n * It can be\n * gone on with. */\n' >"$TMP/probe/comment.c"
printf '\tfail(f, "cannot use it: "\n\t\t"you said no");\n' >"$TMP/probe/string.c"
printf 'All is well.\n' >"$TMP/probe/good.c"
isnt "$(found "$TMP/probe/comment.c")" "" "(a phrase that goes over two lines of a comment is found)"
isnt "$(found "$TMP/probe/string.c")" "" "(and one in a string)"
is "$(found "$TMP/probe/good.c")" "" "(and other words are not)"
done_testing
