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

# A backtrace is read by the names of static functions: each carries its noun, and no other file has one of that name.
statics() {
	xargs awk '
	/^(_Noreturn )?static / {
		line = $0
		sub(/__attribute__\(\([^)]*(\([^)]*\))?[^)]*\)\)/, "", line)
		if (line !~ /^[^=;(]*[A-Za-z0-9_]\(/)
			next
		sub(/\(.*/, "", line)
		sub(/.*[ *]/, "", line)
		print line, FILENAME
	}' | sort -u
}
grep -E '^(lib|cli|daemon)/' "$TMP/c" | statics >"$TMP/statics"
ok "there are static functions to look at" test -s "$TMP/statics"
is "$(awk '$1 !~ /_/' "$TMP/statics")" "" "no static function's name is a single word"
is "$(awk '{ print $1 }' "$TMP/statics" | uniq -d)" "" "no two files have a static function of the same name"
printf '%s\n' 'static int begin(void)' '_Noreturn static void x_end(int a)' 'static struct a *x_new(int (*f)(int));' >"$TMP/one.c"
printf '%s\n' 'static int x_table[] = { f(1) };' 'static __attribute__((format(printf, 1, 2))) int x_end(char *a, ...)' >"$TMP/two.c"
printf '%s\n' "$TMP/one.c" "$TMP/two.c" | statics >"$TMP/probe"
is "$(awk '$1 !~ /_/ { print $1 }' "$TMP/probe")" "begin" "(a single word is seen)"
is "$(awk '{ print $1 }' "$TMP/probe" | uniq -d)" "x_end" "(and so is a name in two files)"
is "$(awk '{ print $1 }' "$TMP/probe" | sort -u | tr '\n' ' ')" "begin x_end x_new " "(pointers and attributes are, variables are not)"

# What the last commit and the working tree change is broken into lines as .clang-format says. Lines that nobody touches stay
# as they are, so that history stays readable.
clang_format=$(command -v clang-format-14 || command -v clang-format)
# broken FILE RANGE…: what clang-format would change in those lines, as a diff.
broken() {
	broken_file=$1
	shift
	"$clang_format" --style="file:$SRC/.clang-format" $(printf -- '--lines=%s ' "$@") "$broken_file" | diff -u "$broken_file" -
}
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" != "$(pwd -P)" ] || ! git rev-parse -q --verify 'HEAD^' >/dev/null 2>&1; then
	skip "no git history of this folder: changed lines are not known"
elif ! "${clang_format:-false}" --version 2>/dev/null | grep -q 'version 14\.'; then
	skip "clang-format 14 is not installed (Debian 12: clang-format)"
else
	git diff -U0 -M -l0 --no-color --no-ext-diff --diff-filter=d 'HEAD^' -- '*.c' '*.h' | awk '
		/^\+\+\+ b\// { file = substr($0, 7) }
		/^@@ / {
			sub(/^@@ [^+]*\+/, "")
			sub(/ .*/, "")
			n = split($0, at, ",")
			if (n < 2 || at[2] > 0)
				print file, at[1] ":" at[1] + (n < 2 ? 1 : at[2]) - 1
		}' >"$TMP/changed"
	for file in $(cut -d ' ' -f 1 "$TMP/changed" | sort -u); do
		broken "$file" $(awk -v f="$file" '$1 == f { print $2 }' "$TMP/changed")
	done >"$TMP/bad"
	is "$(head -n 60 "$TMP/bad")" "" "changed lines are broken as .clang-format says ('git clang-format-14 HEAD^' mends them)"
	printf 'int f(int a)\n{\n\tif(a)   return\n\t  a+1;\n\treturn 0;\n}\nint   g;\n' >"$TMP/badly.c"
	is "$(broken "$TMP/badly.c" 3:4 | sed -n 's/^+\([^+]\)/\1/p')" "$(printf '\tif (a)\n\t\treturn a + 1;')" \
		"(a badly broken statement is seen, and no other line)"
fi

# Text.
grep -nE '[[:blank:]]$' $(cat "$TMP/all") >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "no blanks at the end of a line"
grep -nE '^    ' $(cat "$TMP/c") >"$TMP/bad"
is "$(head -n 20 "$TMP/bad")" "" "C is indented by tabs"
# wide FILE…: lines of more than 120 columns. A tab goes to the next multiple of 8, a character of UTF-8 has one column.
wide() {
	awk '{
		gsub(/[\200-\277]/, "")
		parts = split($0, part, "\t")
		columns = 0
		for (i = 1; i <= parts; i++) {
			columns += length(part[i])
			if (i < parts)
				columns += 8 - columns % 8
		}
		if (columns > 120)
			print FILENAME ":" FNR ": " columns
	}' "$@"
}
find . \( -name .git -o -name 'build*' -o -name '_build' -o -name '_inst' \) -prune -o -name '*.mk' -print | sed 's,^\./,,' >"$TMP/mk"
wide $(cat "$TMP/c" "$TMP/mk") Makefile.am configure.ac m4/nanopod.m4 bootstrap .ci/run \
	daemon/marketd/web/embed daemon/marketd/web/files/*.css daemon/marketd/web/files/*.js daemon/marketd/web/files/*.html >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "no line of C, of the page, of the build or of CI has more than 120 columns"
{ printf '\t%0112d\n' 0; printf '%0119d…\n' 0; } >"$TMP/narrow.c"
is "$(wide "$TMP/narrow.c")" "" "(120 columns are not too many, however they are written)"
{ printf '1234567\t%0113d\n' 0; printf '%0120d…\n' 0; } >"$TMP/wide.c"
is "$(wide "$TMP/wide.c" | sed 's/.*: //' | tr '\n' ' ')" "121 121 " "(121 are)"
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

ok "HACKING.md has fewer than 200 lines" test "$(wc -l <HACKING.md)" -lt 200
ok "README leads to README.md" cmp -s README README.md

awk '/^[^#]/ && NF < 3' $exceptions >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every exception has a reason"
is "$(cat "$TMP/unused")" "" "no exception is there that nothing needs"
done_testing
