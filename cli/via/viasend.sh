# SPDX-License-Identifier: Apache-2.0
# Runs on a gateway: VERSION SUM SIZE-OF-PROGRAM SIZE-OF-LIBRARY. Starts the helper that is installed here if it fits,
# else the one that is sent on standard input. That lives in a folder with its checksum as name, as long as anybody uses
# it: each use has links of its own, so nobody takes away what another one starts.
version=$1 sum=$2 program=$3 library=$4
say() { printf '\nnanopod-via %s\n' "$*"; }
cannot() { say cannot "$*"; exit 1; }
if nanopod gateway --fits "$version" </dev/null >/dev/null 2>&1; then
	exec nanopod gateway
fi
for tool in head sha256sum ln mkdir mv rm uname; do
	command -v $tool >/dev/null 2>&1 || cannot "'$tool' is missing there"
done
umask 077
base=${XDG_CACHE_HOME:-$HOME/.cache}
mkdir -p "$base" 2>/dev/null
[ -d "$base" ] && [ -w "$base" ] || base=${TMPDIR:-/tmp}
d=$base/nanopod-via-$sum
here=$(uname -n)
use=$d/use.$here.$$
clean() {
	rm -rf "$use"
	for other in "$d/use.$here."*; do
		kill -0 "${other##*.}" 2>/dev/null || rm -rf "$other"
	done
	used=
	for other in "$d"/use.*; do
		[ ! -e "$other" ] || used=yes
	done
	[ "$used" ] || rm -f "$d/nanopod" "$d/libpssh.so.0"
	rmdir "$d" 2>/dev/null
}
# What another user made there would run as us.
ours() {
	[ -O "$d" ] && [ ! -L "$d" ] || { why="'$d' is not ours"; return 1; }
	case $(ls -ld "$d" 2>/dev/null) in drwx------*) ;; *) why="'$d' is open to others"; return 1 ;; esac
}
enter() {
	mkdir "$d" 2>/dev/null
	ours || return 1
	rm -rf "$use"
	mkdir "$use" 2>/dev/null || { why="cannot write to '$base'"; return 1; }
	# Once more: from here on nobody can put another folder in its place.
	ours || return 1
	trap clean EXIT
	trap 'exit 1' HUP INT TERM PIPE
}
# Who ends takes the folder away where nobody uses it, maybe between two of these lines.
enter || enter || enter || enter || cannot "$why"
whole() { [ "$(cat "$use"/nanopod "$use"/libpssh.so.0 2>/dev/null | sha256sum | cut -d' ' -f1)" = "$sum" ]; }
if ! { ln "$d/nanopod" "$d/libpssh.so.0" "$use/" 2>/dev/null && whole; }; then
	rm -f "$use/nanopod" "$use/libpssh.so.0"
	say need
	head -c "$program" >"$use/nanopod" && head -c "$library" >"$use/libpssh.so.0" || cannot "cannot write to '$base'"
	whole || cannot "the program did not arrive whole"
	chmod 700 "$use/nanopod"
	for file in nanopod libpssh.so.0; do
		ln "$use/$file" "$d/new.$here.$$" 2>/dev/null && mv -f "$d/new.$here.$$" "$d/$file"
	done
fi
LD_LIBRARY_PATH=$use${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
why=$("$use/nanopod" gateway --fits "$version" </dev/null 2>&1) ||
	cannot "our program does not start there: $(printf '%s' "$why" | tail -n 1)"
"$use/nanopod" gateway
