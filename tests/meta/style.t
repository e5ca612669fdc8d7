#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What HACKING.md asks of every file, as far as a script can see it.
. "$(dirname "$0")/../lib/tap.sh"
cd "$SRC" || exit 99
LC_ALL=C; export LC_ALL

exceptions=tests/meta/exceptions
# excused RULE SUBJECTS-FILE: takes those with a reason away; the excuses that nothing needed go to $TMP/unused.
excused() {
	awk -v r="$1" '$1 == r && NF > 2 { print $2 }' $exceptions | sort >"$TMP/excuses"
	sort -u "$2" >"$TMP/subjects"
	comm -13 "$TMP/subjects" "$TMP/excuses" | sed "s/^/$1 /" >>"$TMP/unused"
	comm -23 "$TMP/subjects" "$TMP/excuses"
}

{
	find lib cli daemon examples tests \( -name '*.[ch]' -o -name '*.t' -o -name '*.sh' \) 2>/dev/null
	find stacks -mindepth 2 -type f
} | sort >"$TMP/all"
grep '\.[ch]$' "$TMP/all" >"$TMP/c"
grep -v '^tests/' "$TMP/c" >"$TMP/ours"
ok "there are sources to look at" test -s "$TMP/ours"

# Licence: the first line, or the second below '#!'.
for file in $(cat "$TMP/all") configure.ac Makefile.am m4/nanopod.m4 bootstrap quickstart .ci/run; do
	head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' || echo "$file"
done >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every file opens with its SPDX line"

xargs awk 'FNR == 1 { first = $0 } FNR == 2 && first ~ /SPDX/ && $0 !~ /^\/\*/ { print FILENAME }' <"$TMP/c" >"$TMP/silent"
while read -r file; do
	[ "${file%.c}" != "$file" ] && [ -e "${file%.c}.h" ] || echo "$file"
done <"$TMP/silent" >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every C file says next why it exists, or its header does"

# Functions that cannot be used well. Comments and strings are looked at too: keep those words out.
banned='strcpy|strcat|sprintf|vsprintf|strncpy|strncat|atoi|atol|atoll|atof|strtok|system|gets|alloca|tmpnam|mktemp|tempnam|rand|srand|asctime|ctime|gmtime|localtime|setjmp|longjmp|usleep'
grep -nE "(^|[^A-Za-z0-9_.>])($banned)[[:space:]]*\(" $(cat "$TMP/c") |
	grep -vE '^[^:]*:[0-9]+:[[:space:]]*(\*|//|/\*)' >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "no banned function"

# Libraries neither print nor end the program.
grep -nE '(^|[^A-Za-z0-9_.>])(printf|puts|putchar|perror|exit|_exit|abort)[[:space:]]*\(|\b(stdout|stderr)\b' \
	$(grep '^lib/' "$TMP/ours") | grep -vE '^[^:]*:[0-9]+:[[:space:]]*(\*|//|/\*)' | sed 's,/\*.*\*/,,' |
	grep -E '(printf|puts|putchar|perror|exit|abort)[[:space:]]*\(|stdout|stderr' >"$TMP/bad"
sed 's/^\([^:]*\):.*/\1/' "$TMP/bad" >"$TMP/files"
is "$(excused prints "$TMP/files")" "" "no file of lib/ prints or exits" || diag "$(cat "$TMP/bad")"

# What runs on nodes is for any POSIX shell.
find stacks -mindepth 2 -type f \( -name '*.sh' -o -name '*.inc' \) | sort >"$TMP/scripts"
ok "there are scripts to look at" test -s "$TMP/scripts"
for file in $(cat "$TMP/scripts"); do
	sh -n "$file" 2>&1
done >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every script of the stacks is read by a shell"
if have shellcheck; then
	# But for what is assigned (NP_ and S_ words), used or called elsewhere: a script is one text with what it includes.
	shellcheck -s sh -S warning -e SC2154,SC2034,SC2120 -f gcc $(cat "$TMP/scripts") >"$TMP/bad" 2>&1
	is "$(cat "$TMP/bad")" "" "and shellcheck finds nothing that only bash knows, nor worse"
else
	skip "shellcheck is not installed"
fi

# Sizes.
for file in $(cat "$TMP/c"); do
	[ "$(wc -l <"$file")" -le 600 ] || echo "$file"
done >"$TMP/bad"
is "$(excused lines "$TMP/bad")" "" "no file has more than 600 lines"

# A function's body is what stands between '{' and '}' in the first column.
long_functions() {
	xargs awk '
	/^[A-Za-z_].*\(/ && !/;[ \t]*$/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
	/^\{/ { start = FNR }
	/^\}/ {
		if (start && FNR - start - 1 > 60)
			print FILENAME ":" name
		start = 0
	}'
}
long_functions <"$TMP/c" >"$TMP/bad"
is "$(excused length "$TMP/bad")" "" "no function has more than 60 lines"
{ echo 'int f(void)'; echo '{'; yes '	;' | head -n 61; echo '}'; } >"$TMP/long.c"
is "$(echo "$TMP/long.c" | long_functions)" "$TMP/long.c:f" "(a function of 61 lines is seen)"
sed 3d "$TMP/long.c" >"$TMP/fits.c"
is "$(echo "$TMP/fits.c" | long_functions)" "" "(a function of 60 lines is not)"

# Text.
grep -nE '[[:blank:]]$' $(cat "$TMP/all") >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "no blanks at the end of a line"
grep -nE '^    ' $(cat "$TMP/c") >"$TMP/bad"
is "$(head -n 20 "$TMP/bad")" "" "C is indented by tabs"
awk 'length($0) > 140 { print FILENAME ":" FNR }' $(cat "$TMP/ours") >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "no line of C is longer than 140"
for file in $(cat "$TMP/all"); do
	[ -z "$(tail -c 1 "$file")" ] || echo "$file"
done >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every file ends with a newline"

# Nothing of the machine that it was written on: homes, work folders.
find . \( -name .git -o -name 'build*' -o -name _build -o -name _inst -o -name autom4te.cache -o -name corpus \) -prune -o -type f -print |
	grep -Ev '\.(o|lo|la|log|trs|so|xz)$|/(configure|aclocal\.m4|libtool|config\.(status|log|guess|sub)|Makefile(\.in)?)$|/m4/l' |
	xargs grep -nIE '(^|[^A-Za-z0-9_./])/(work|home/[a-z]+|root/[a-z]+|Users|tmp/[w]-[a-z]+)/' |
	grep -vE '/(home|Users)/(alice|bob|user|me|you|u|ann|eve)\b' >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "no path of somebody's machine"

ok "HACKING.md has fewer than 150 lines" test "$(wc -l <HACKING.md)" -lt 150
ok "README leads to README.md" cmp -s README README.md

awk '/^[^#]/ && NF < 3' $exceptions >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every exception has a reason"
is "$(cat "$TMP/unused")" "" "no exception is there that nothing needs"
done_testing
