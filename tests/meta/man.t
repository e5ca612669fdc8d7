#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Manual pages say what the program and the header say.
. "$(dirname "$0")/../lib/tap.sh"
need mandoc col
cd "$SRC" || exit 99
LC_ALL=C; export LC_ALL

# section PAGE TITLE: its text on one line, blanks squeezed.
section() {
	mandoc -T ascii -O width=1000 "$1" | col -b | awk -v title="$2" '
		/^[A-Z]/ { inside = $0 == title; next }
		inside' | tr -s ' \t\n' ' ' | sed 's/^ //; s/ $//'
}
long_options() { grep -oE -e '(^|[^-A-Za-z])--[a-z][a-z0-9-]*' | sed 's/^[^-]*//' | sort -u; }

for page in man/*.[1-8]; do
	[ -e "$page" ] || continue
	is "$(mandoc -T lint -W warning "$page" 2>&1)" "" "$page: mandoc has nothing to say"
	name=$(basename "$page")
	is "$(sed -n 's/^\.Dt //p' "$page" | tr -d '"')" "$(echo "${name%.*}" | tr a-z A-Z) ${name##*.}" "$page: .Dt is its name"
done

# Commands. A hidden one (complete) is for scripts and has no page.
for file in cli/cmd/*.c cli/cmd/*/*.c; do
	[ -e "$file" ] && ! grep -q COMMAND_HIDDEN "$file" || continue
	sed -n '/^const struct command cmd_/,/^}/s/^[[:space:]]*\.name = "\([^"]*\)".*/\1/p' "$file"
done | sort >"$TMP/commands"
ok "there are commands to look at" test -s "$TMP/commands"

ok "man/nanopod.1 is there" test -s man/nanopod.1
while read -r name; do
	page=man/nanopod-$name.1
	ok "nanopod $name has a page" test -s "$page" || continue
	ok "nanopod(1) names nanopod-$name(1)" grep -q "nanopod-$name 1" man/nanopod.1
	summary=$(sed -n '/^const struct command cmd_/,/^}/s/^[[:space:]]*\.summary = "\([^"]*\)".*/\1/p' $(grep -l "^[[:space:]]*\.name = \"$name\"," cli/cmd/*.c cli/cmd/*/*.c))
	is "$(sed -n "/^\.It Xr nanopod-$name 1\$/{n;p;}" man/nanopod.1)" "$summary" "with the words of 'nanopod help'"
	[ -x "$NANOPOD" ] || { skip "nanopod is not built"; continue; }
	"$NANOPOD" "$name" --help >"$TMP/help" 2>"$TMP/err"
	usage=$(sed -n "s/^.*\(nanopod $name\( .*\)\{0,1\}\)\$/\1/p; /nanopod $name/q" "$TMP/help" | tr -s ' ' | sed 's/ $//')
	sed -n 's/^[Uu]sage:* *//p' "$TMP/help" | head -n 1 >"$TMP/usage"
	[ -s "$TMP/usage" ] && usage=$(tr -s ' ' <"$TMP/usage" | sed 's/ $//')
	is "$(section "$page" SYNOPSIS)" "$usage" "$page: SYNOPSIS is what --help says"
	mandoc -T ascii -O width=1000 "$page" man/nanopod.1 | col -b | long_options >"$TMP/told"
	long_options <"$TMP/help" >"$TMP/offered"
	is "$(comm -13 "$TMP/told" "$TMP/offered")" "" "$page (with nanopod.1) tells every option that --help offers"
	mandoc -T ascii -O width=1000 "$page" | col -b | awk '/^OPTIONS/ { on = 1; next } /^[A-Z]/ { on = 0 } on && /^ {5}-/' |
		long_options >"$TMP/told"
	is "$(comm -23 "$TMP/told" "$TMP/offered")" "" "$page: OPTIONS tells none that --help does not offer"
done <"$TMP/commands"
for page in man/nanopod-*.1; do
	[ -e "$page" ] || continue
	name=${page#man/nanopod-} name=${name%.1}
	ok "$page is about a command" grep -qx "$name" "$TMP/commands"
done

# The library: each function where a reader of section 3 looks for it.
${CC:-cc} -E -P lib/pssh/pssh.h | grep -v '^#' | tr '\n' ' ' | tr ';' '\n' |
	sed -n 's/^[^(]*[ *]\(pssh_[a-z0-9_]*\) *(.*/\1/p' | sort -u >"$TMP/functions"
cat man/*.3 2>/dev/null | sed -n 's/^\.F[no] \([a-z_0-9]*\).*/\1/p' | grep '^pssh_' | sort -u >"$TMP/documented"
is "$(comm -23 "$TMP/functions" "$TMP/documented")" "" "every function of pssh.h is in a page of section 3"
is "$(comm -13 "$TMP/functions" "$TMP/documented")" "" "section 3 has no function that pssh.h has not"
${CC:-cc} -E -P lib/pssh/pssh.h | grep -oE '\bPSSH_E[A-Z]+\b|\bPSSH_EV_[A-Z_]+\b' | sort -u >"$TMP/names"
cat man/*.3 2>/dev/null | grep -oE '\bPSSH_E[A-Z_]+\b' | sort -u >"$TMP/told"
is "$(comm -23 "$TMP/names" "$TMP/told")" "" "every error and event is told in section 3"
# The library of stacks: what its head lists is what the page describes, and what the stacks call.
lib=stacks/common/lib.sh page=man/nanopod-stacks.7
sed -n '/^# What scripts of stacks call is/,/^#$/s/^#     //p' $lib | tr ' ' '\n' | sort >"$TMP/listed"
sed -n 's/^\.It Fn \(np_[a-z_]*\).*/\1/p' $page | sort >"$TMP/described"
ok "$lib lists functions" test -s "$TMP/listed"
is "$(comm -3 "$TMP/listed" "$TMP/described")" "" "$page describes the functions that $lib lists, and no others"
sed -n 's/^\(np_[a-z_]*\)() .*/\1/p' $lib | sort -u >"$TMP/defined"
is "$(comm -23 "$TMP/listed" "$TMP/defined")" "" "$lib has all of them"
for stack in stacks/*/; do
	case $stack in stacks/common/|stacks/base/) continue ;; esac
	cat "$stack"*.sh "$stack"*.inc 2>/dev/null | sed 's/^[[:space:]]*#.*//' | grep -ohE '\bnp_[a-z_]+' | sort -u
done | sort | uniq -d | comm -12 - "$TMP/defined" >"$TMP/called"
is "$(comm -23 "$TMP/called" "$TMP/listed")" "" "what scripts of several stacks call is listed"
mkdir -p "$TMP/stacks/motd"
awk -v at="$TMP/stacks/motd/" '/^\.Bd/ { inside = at (n++ ? "greet.sh" : "stack.yaml"); next } /^\.Ed/ { inside = "" } inside { gsub(/\\e/, "\\"); print >inside }' $page
if [ -x "$NANOPOD" ]; then
	is "$(NANOPOD_STACKS=$TMP/stacks "$NANOPOD" provision stacks -q 2>&1)" motd "its example is a stack"
	ok "whose script is one" sh -n "$TMP/stacks/motd/greet.sh"
fi

done_testing
