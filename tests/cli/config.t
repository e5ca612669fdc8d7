#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Showing and changing settings, as a person does it.
. "$(dirname "$0")/../lib/tap.sh"
mkdir "$TMP/work" && cd "$TMP/work" || exit 99
own=$HOME/.config/nanopod/config.yaml
config() { run "$NANOPOD" config "$@"; }

run_is 0 "config without any file" "$NANOPOD" config
like "$out" '^fanout +128$' "shows defaults"
like "$out" '^user +-$' "and what is not set"
config path
is "$out" "$own" "path of your own file"
XDG_CONFIG_HOME=$TMP/xdg config path
is "$out" "$TMP/xdg/nanopod/config.yaml" "below XDG_CONFIG_HOME"
XDG_CONFIG_HOME=relative config path
is "$out" "$own" "unless that is no absolute path"

umask 000
run_is 0 "set makes the file" "$NANOPOD" config set fanout 256
umask 022
is "$(cat "$own")" "fanout: 256" "with the value"
is "$(stat -c %a "$own")" 600 "for you alone"
is "$(stat -c %a "$HOME/.config/nanopod")" 700 "in a folder for you alone"
is "$err$out" "" "without a word"
config get fanout; is "$out" 256 "get shows it"
config get fanout --origin; is "$out" "256	$own:1" "and where it comes from"
config get fanout -o json; is "$out" "{\"key\":\"fanout\",\"value\":\"256\",\"where\":\"$own:1\"}" "as an object too"

printf '# about fan-out\nfanout: 256 # many\n\ngroups:\n  web: w1\n' >"$own"
run_is 0 "set in a file with comments" "$NANOPOD" config set groups.db 'd[1-4]'
run_is 0 "and again" "$NANOPOD" config set profiles.prod.user ops
is "$(cat "$own")" "# about fan-out
fanout: 256 # many

groups:
  web: w1
  db: 'd[1-4]'
profiles:
  prod:
    user: ops" "leaves all else as it was"
config get groups.db; is "$out" 'd[1-4]' "a group"
run_is 3 "get of what is not set" "$NANOPOD" config get user
is "$err" "nanopod: cannot show 'user': it is not set" "says so"
config get user --profile prod; is "$out" ops "a profile's value"
NANOPOD_PROFILE=prod config get user; is "$out" ops "by the environment"
run_is 0 "set of a list" "$NANOPOD" config set identity '~/.ssh/a b' /k2
config get identity; is "$out" "$HOME/.ssh/a b
/k2" "one a line"
config get identity -o json; like "$out" '"value":\["/.*","/k2"\]' "an array in JSON"
run_is 0 "unset" "$NANOPOD" config unset identity
run_is 3 "unset again" "$NANOPOD" config unset identity
like "$err" "cannot remove 'identity': '$own' does not set it" "says so"

# What is refused changes nothing.
before=$(cat "$own")
for words in "set fanout many" "set fanout 0" "set timeout 90" "set fanot 1" "set fanout 1 2" "set host-key never" "set" \
	"set fanout" "get" "get a b" "frobnicate" "set groups.a/b x" "set profiles.p x" "set profile a b" "get a.b.c.d.e.f" \
	"set user -oProxyCommand=x" "set groups. x" "set groups.web n[1-" "set groups.web @web" "set .fanout 1" "path x"; do
	run_is 2 "'$words' is refused" "$NANOPOD" config $words
	like "$err" "^nanopod: cannot " "with a sentence"
done
is "$(cat "$own")" "$before" "and nothing is changed"
config set fanot 1
is "$err" "nanopod: cannot use 'fanot': no such setting; did you mean 'fanout'?" "the nearest is named"

# A link to the file stays a link; the file is replaced as a whole.
mkdir "$TMP/dotfiles" && mv "$own" "$TMP/dotfiles/n.yaml" && ln -s "$TMP/dotfiles/n.yaml" "$own"
run_is 0 "set through a link" "$NANOPOD" config set fanout 7
ok "the link stays" [ -L "$own" ]
like "$(cat "$TMP/dotfiles/n.yaml")" '^fanout: 7$' "what it leads to is changed"
is "$(ls "$TMP/dotfiles" "$HOME/.config/nanopod" | grep -c '\.yaml\.')" 0 "no temporary file is left"
if [ "$(id -u)" -ne 0 ]; then
	chmod 500 "$TMP/dotfiles"
	run_is 1 "a folder that may not be written" "$NANOPOD" config set fanout 8
	like "$err" "cannot write '$own': Permission denied" "is told"
	chmod 700 "$TMP/dotfiles"
else
	skip "root may write everywhere"
fi
rm "$own" && mv "$TMP/dotfiles/n.yaml" "$own"
config set profile prod && config get user
is "$out" ops "a profile chosen by a setting"
config unset profile

# A profile's URL is another market: the key of the one above does not count for it.
cp "$own" "$TMP/kept"
key=sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= other=sha256//BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
cat >"$own" <<END
url: https://a.example#$key
profiles:
  b: {url: https://b.example}
  c: {url: 'https://c.example#$other'}
  d: {market-key: '$other', url: https://d.example}
  e: {url: , user: ops}
END
config get market-key; is "$out" "$key" "a market's key"
config get market-key --profile b; is "$status$out" 3 "is not that of a profile's market"
config get market-key --profile c; is "$out" "$other" "which may have its own"
config get market-key --profile d; is "$out" "$other" "before the URL too"
config get market-key --profile e; is "$out" "$key" "a profile without a market keeps it"
mv "$TMP/kept" "$own"

# Layers
config -o csv --fields key,value,origin,where
like "$out" "^fanout,7,person,$own:2$" "where values come from: your file"
printf 'fanout: 9\ngroups: {web: here}\nhost-key: accept-new\nssh-config: evil\n' >.nanopod.yaml
run_is 0 "a directory's file" "$NANOPOD" config -o csv --fields key,value,origin,where
like "$out" '^fanout,9,directory,\.nanopod\.yaml:1$' "is over your own"
like "$out" '^groups\.web,here,file,\.nanopod\.yaml:2$' "groups too"
like "$out" '^host-key,ask,default,default$' "but may not weaken the check of host keys"
like "$err" "warning: 'host-key' in \.nanopod\.yaml:3 is ignored: a directory's file may not set it" "which is said"
like "$err" "'ssh-config' in \.nanopod\.yaml:4 is ignored" "of each"
NANOPOD_FANOUT=11 config -o csv --fields key,value,origin,where
like "$out" '^fanout,11,environment,NANOPOD_FANOUT$' "the environment is over that"
config --color=never --no-color --origin
like "$out" '^color +never +flag +--no-color$' "and flags over all, the last one"
run_is 2 "a mistake in the environment" env NANOPOD_FANOUT=x "$NANOPOD" config
is "$err" "$(printf '%s' "nanopod: cannot set 'fanout' by NANOPOD_FANOUT: 'x' is not a whole number")" "is told by its name"
run "$NANOPOD" config set fanout 8
like "$err" "warning: \.nanopod\.yaml:1 sets another value, which wins" "set says where something nearer hides it"
run_is 0 "set --directory" "$NANOPOD" config set --directory user me
like "$(cat .nanopod.yaml)" '^user: me$' "writes the directory's file"
run_is 2 "but not what it may not set" "$NANOPOD" config set --directory jump bastion
rm .nanopod.yaml

printf 'fanout: 3\n' >"$TMP/other.yaml"
config get fanout --config "$TMP/other.yaml"; is "$out" 3 "--config is read instead"
NANOPOD_CONFIG=$TMP/other.yaml config get fanout; is "$out" 3 "NANOPOD_CONFIG too"
run_is 2 "a --config that is not there" "$NANOPOD" config --config "$TMP/nothing.yaml"
run_is 2 "an unknown profile" "$NANOPOD" --profile prdo config
like "$err" "cannot use profile 'prdo': no settings file has it .did you mean 'prod'.." "names the nearest"

# Whom is believed
chmod 666 "$own"
run_is 2 "a file that others may write is refused" "$NANOPOD" config
is "$err" "nanopod: cannot trust '$own': others may write it; 'chmod 600 $own' fixes that" "with what fixes that"
chmod 600 "$own"
mkfifo .nanopod.yaml
run_is 2 "a pipe for a file does not hang" "$NANOPOD" config
rm .nanopod.yaml

# Formats
config -o name; like "$out" '^groups\.db$' "-o name"
quiet=$out; config -q; is "$out" "$quiet" "-q is the same"
if have python3; then
	config -o json
	ok "-o json is an array of objects" python3 -c '
import json, sys
rows = json.loads(sys.argv[1])
assert isinstance(rows, list) and {"key", "value", "origin", "default", "environment", "help"} <= set(rows[0])
assert [r["value"] for r in rows if r["key"] == "user"] == [None]' "$out"
	config -o jsonl
	ok "-o jsonl is an object a line" python3 -c '
import json, sys
for line in sys.argv[1].splitlines(): json.loads(line)' "$out"
else
	skip "python3 is not installed"
fi
config --fields; like "$out" '^environment +environment variable$' "--fields alone lists them"
config --fields key,vlaue; is "$status $err" "2 nanopod: cannot show 'vlaue': no such field (did you mean 'value'?); '--fields=' lists the fields" "an unknown field"

# The manual page has every setting, with its default, and no other.
sed -n 's/^\.It Li \([a-z-]*\) : Ar .*/\1/p' "$SRC/man/nanopod.yaml.5" | grep -v '^groups$\|^profiles$' | sort >"$TMP/told"
rm -f "$own"
config -q; printf '%s\n' "$out" | sort >"$TMP/known"
is "$(cat "$TMP/told")" "$(cat "$TMP/known")" "nanopod.yaml(5) has all settings"
config -o csv --fields key,default
printf '%s\n' "$out" | sed -n '2,$s/,/ /p' | grep -v ' $' | sort >"$TMP/known"
awk '/^\.It Li/ { key = $3 } /^The default is/ { getline; print key, $2 }' "$SRC/man/nanopod.yaml.5" | sort >"$TMP/told"
is "$(cat "$TMP/told")" "$(cat "$TMP/known")" "and their defaults"

run_is 2 "set without a value" "$NANOPOD" config set url
like "$err" "an argument is missing: VALUE; usage: nanopod config set KEY VALUE" "says which argument is missing"
done_testing
