#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ClusterShell's groups.conf: sources whose commands print the hosts of a group; the same hosts as its nodeset finds.
. "$(dirname "$0")/../lib/tap.sh"
F=$SRC/tests/fixtures/inventory
umask 022
mkdir -p "$TMP/cs/groups.d" "$TMP/cs/groups.conf.d" && cd "$TMP/cs" || exit 99
cp "$F/local.cfg" groups.d/local.cfg
cat >groups.conf <<'END'
# As ClusterShell installs it.
[Main]
default: local
confdir: /nowhere/groups.conf.d $CFGDIR/groups.conf.d
autodir: $CFGDIR/groups.d

[local]
map: [ -f $CFGDIR/groups ] && f=$CFGDIR/groups || f=$CFGDIR/groups.d/local.cfg; sed -n 's/^$GROUP:\(.*\)/\1/p' $f
all: [ -f $CFGDIR/groups ] && f=$CFGDIR/groups || f=$CFGDIR/groups.d/local.cfg; sed -n 's/^all:\(.*\)/\1/p' $f
list: [ -f $CFGDIR/groups ] && f=$CFGDIR/groups || f=$CFGDIR/groups.d/local.cfg; sed -n 's/^\([0-9A-Za-z_-]*\):.*/\1/p' $f
END
cat >groups.conf.d/part.conf <<'END'
[part,sp]
map = printf 'p${GROUP}%s\n' 1 2;
  echo "$SOURCE-$GROUP"
list: echo a b
cache_time: 60
END
cat >groups.conf.d/lines.conf <<'END'
; all groups by one command
[lines]
mapall: printf 'x: n[1-3]\ny: @x n9\nx: n7,a[01-03]\n'
END
cat >groups.conf.d/asks.conf <<'END'
[asks]
map: echo "$GROUP" >>asked; pwd >where; cat >input; echo n1
[fails]
map: echo n1; exit 3
[half]
map: [ $GROUP != bad ] || exit 3; echo n1
list: echo good bad
[nul]
map: printf 'n1\0 n2\n'
[flood]
map: head -c 17000000 /dev/zero | tr '\0' x; exec sleep 300
[none]
map: true
[money]
map: echo "cost-$$((1+1))"
END
cat >groups.d/roles.yaml <<'END'
racks:
  r1: 'n[1-4]'
  r2: [n5, 'n[6-7]']
  both: '@r1,@racks:r2'
  empty:
roles:
  adm: n0
  all: 'n[0-9]'
END
hosts() { "$NANOPOD" hosts --ssh-config none --inventory "$TMP/cs/groups.conf" "$1" 2>"$TMP/.err" | sort | tr '\n' ' ' | sed 's/ $//'; }
refused() { run_is 2 "$2" "$NANOPOD" hosts --ssh-config none --inventory "$TMP/cs/groups.conf" "$1"; }

is "$(hosts @oss)" "example4 example5" "a group of the default source"
is "$(hosts @gpu)" "example156 example157 example158 example159 example6" "which has another one in it"
is "$(hosts @all | wc -w)" 7 "all, by its command"
is "$(hosts @io,-@mds)" "example4 example5" "left out as ever"
is "$(hosts @part:a) $(hosts @sp:b)" "pa1 pa2 part-a pb1 pb2 sp-b" "other sources by their names, of several lines"
is "$(hosts @part:all)" "pa1 pa2 part-a part-b pb1 pb2" "all of one that has no command for it: each group of its list"
is "$(hosts @lines:x) $(hosts @lines:y)" "a01 a02 a03 n1 n2 n3 n7 a01 a02 a03 n1 n2 n3 n7 n9" "'mapall', with a group of the same source"
is "$(hosts @lines:all)" "a01 a02 a03 n1 n2 n3 n7 n9" "and all of it"
is "$(hosts @racks:both) $(hosts @roles:adm)" "n1 n2 n3 n4 n5 n6 n7 n0" "sources of a YAML file"
is "$(hosts @roles:all | wc -w) $(hosts @racks:all | wc -w) $(hosts @racks:empty | wc -w)" "10 7 0" "and all of them"
is "$(hosts @money:x)" "cost-2" "a dollar that is written twice is the shell's"
is "$(cd / && echo input | hosts @asks:web)" n1 "a source is asked"
is "$(cat groups.conf.d/asked groups.conf.d/where groups.conf.d/input)" "web
$TMP/cs/groups.conf.d" "for the group, in its folder, without standard input"
is "$(hosts @oss && cat groups.conf.d/asked)" "example4 example5web" "and others are not asked"

for group in @none:x @nosuch:x @lines:z; do
	run_is 3 "$group: a source does not have it, or is not there" "$NANOPOD" hosts --ssh-config none --inventory "$TMP/cs/groups.conf" $group
done
refused @fails:x "a command that fails"
like "$err" "cannot use group '@fails:x': 'echo n1; exit 3' failed" "is named"
printf 'hosts @half:all\nhosts @half:all\nhosts n[1-2] -x @half:all\n' >lines
run_stdin lines "$NANOPOD" shell --ssh-config none -w n9 --inventory "$TMP/cs/groups.conf"
is "$out $(printf '%s\n' "$err" | grep -c "cannot use group '@half:all': .* failed")" " 3" "and fails again: no part of its hosts is kept"
refused @nul:x "a command that prints a NUL"
like "$err" "'printf .*' prints a NUL" "is not cut short"
run_is 2 "a command that prints without end" timeout 120 "$NANOPOD" hosts --ssh-config none --inventory groups.conf @flood:x
like "$err" "sleep 300' prints more than 16 MiB" "is ended"
for name in '@asks:a;id' '@asks:$(id)' '@asks:`id`' '@asks:a b' "@asks:a'b"; do
	"$NANOPOD" hosts --ssh-config none --inventory "$TMP/cs/groups.conf" "$name" >/dev/null 2>&1
done
is "$(grep -v -x -e web -e a -e b groups.conf.d/asked)" "" "no name of a group gets a word to the shell"

# ---- Whose file it is ----
rm -f groups.conf.d/asked
for who in o g; do
	chmod $who+w groups.conf.d/asks.conf
	refused @oss "a file that others may write ($who)"
	like "$err" "groups.conf.d/asks.conf': others may write it, and it names commands to run" "is not used"
	chmod $who-w groups.conf.d/asks.conf
	chmod $who+w groups.conf
	refused @asks:x "nor where it was named"
	like "$err" "groups.conf': others may write it, and it names commands to run" "which is told"
	chmod $who-w groups.conf
done
mkfifo groups.conf.d/pipe.conf
refused @oss "a pipe"
like "$err" "groups.conf.d/pipe.conf': it is no regular file" "is not waited for"
rm groups.conf.d/pipe.conf
if [ "$(id -u)" -eq 0 ]; then
	for file in groups.conf.d/asks.conf groups.conf; do
		chown 12345 $file
		refused @oss "$file of another user"
		like "$err" "$file': it names commands to run, and is neither yours nor root's" "is not used"
		chown 0 $file
	done
else
	skip "only root can give files away"
fi
not_ok "none of them was run" test -e groups.conf.d/asked

# Ansible's INI is Ansible's, whatever it says: only *.conf has commands.
printf '[web]\na\n[web:vars]\nmap=3\n' >"$TMP/ini"
is "$("$NANOPOD" hosts --ssh-config none --inventory "$TMP/ini" @web)" a "Ansible's INI is Ansible's"
printf '[web]\nmap=touch ran; echo n1\n' >"$TMP/ini"
"$NANOPOD" hosts --ssh-config none --inventory "$TMP/ini" @web:x >"$TMP/.out" 2>"$TMP/.err"
not_ok "and no line of it is run" test -e "$TMP/ran"

# ---- What is wrong in it ----
wrong() {
	printf '%s\n' "$1" >"$TMP/wrong.conf"
	run_is 2 "$3" "$NANOPOD" hosts --ssh-config none --inventory "$TMP/wrong.conf" @x
	like "$err" "$2" "is told"
}
wrong "[Main]
default: x" "its default source 'x' is nowhere" "a default source that is not there"
wrong "[Main]
default: a
[a]
map: true
[b]
list: true" "section 'b' has neither 'map' nor 'mapall'" "a source without commands"
wrong "[a,b]
map: true
[b]
map: true" "source 'b' is there twice" "two sources of one name"

# ---- ClusterShell itself ----
if nodeset --groupsconf="$TMP/cs/groups.conf" -e @lines:x >/dev/null 2>&1; then
	for group in oss mds io gpu adm part:a sp:b lines:x lines:y racks:r1 racks:r2 racks:both roles:adm money:x; do
		is "$(hosts @$group)" "$(nodeset --groupsconf="$TMP/cs/groups.conf" -e -S '\n' @$group | sort | tr '\n' ' ' | sed 's/ $//')" \
			"nodeset finds the same in @$group"
	done
	for source in '' part: lines: racks: roles:; do
		is "$(hosts "@${source}all")" "$(nodeset --groupsconf="$TMP/cs/groups.conf" -e -S '\n' "@$source*" | sort | tr '\n' ' ' | sed 's/ $//')" \
			"and in @$source*"
	done
else
	skip "no nodeset of ClusterShell here that knows 'mapall'"
fi
done_testing
