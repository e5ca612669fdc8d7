#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each thing that may be wrong is made wrong, found, and mended.
. "$(dirname "$0")/../lib/tap.sh"
mkdir "$TMP/work" && cd "$TMP/work" || exit 99
umask 022

# doctor [OPTION…]: sets $out to "state check why" lines, parted by '|'
doctor() { run "$NANOPOD" doctor -o csv --fields state,check,why,mend "$@"; }
# finds STATE CHECK WHY TEXT
finds() { like "$out" "^$1,$2,\"?.*$3" "$4"; }

doctor
is "$status" 0 "an empty home: nothing that hinders"
finds warn ssh-folder "No such file" "~/.ssh is not there"
finds ok ssh-config "no file to follow" "no ssh_config is fine"
finds warn agent "SSH_AUTH_SOCK is not set" "no agent"
finds warn keys "none under their usual names" "no keys"
finds ok known-hosts "does not exist yet" "no known hosts is fine"
finds ok descriptors "files may be open" "descriptors"
finds ok settings "no file of your own" "settings"
finds warn market "none is set.*nanopod local start" "no market"

doctor --fix
is "$status" 0 "--fix"
like "$err" "^nanopod: done: mkdir -m 700 .*/\.ssh$" "says what it did"
is "$(stat -c %a "$HOME/.ssh")" 700 "the folder is made"
finds ok ssh-folder "is yours" "and found in order"

echo key >"$HOME/.ssh/id_ed25519"; chmod 644 "$HOME/.ssh/id_ed25519"
chmod 777 "$HOME/.ssh"
echo "h ssh-ed25519 AAAA" >"$HOME/.ssh/known_hosts"; chmod 666 "$HOME/.ssh/known_hosts"
printf 'Host a\n\tUser b\n' >"$HOME/.ssh/config"; chmod 664 "$HOME/.ssh/config"
doctor
is "$status" 11 "modes that are too open fail the check"
finds fail ssh-folder "mode 777: others may write it\"?,\"?chmod 700" "~/.ssh"
finds fail keys "mode 644: others may read it\"?,\"?chmod 600" "a key"
finds fail known-hosts "mode 666: others may write it\"?,\"?chmod 600" "known hosts"
finds fail ssh-config "mode 664: others may write it\"?,\"?chmod 600" "ssh_config"
before=$(stat -c %a "$HOME/.ssh/id_ed25519")
is "$before" 644 "without --fix nothing is touched"
doctor --fix
is "$status" 0 "--fix mends them"
is "$(stat -c %a "$HOME/.ssh" "$HOME/.ssh/id_ed25519" "$HOME/.ssh/known_hosts" "$HOME/.ssh/config" | tr '\n' ' ')" "700 600 600 600 " "all of them"

finds ok ssh-config "is valid" "an ssh_config"
printf 'Hostt a\n' >"$HOME/.ssh/config"
doctor
is "$status" 11 "an ssh_config that is not understood fails"
finds fail ssh-config "[Hh]ostt" "and says what is not"
rm "$HOME/.ssh/config"

export SSH_AUTH_SOCK="$TMP/agent"
doctor; finds fail agent "no agent answers at" "an agent that is not there"
if have ssh-agent && have ssh-add && have ssh-keygen; then
	eval "$(ssh-agent -a "$TMP/agent" 2>/dev/null)" >/dev/null
	at_exit "kill $SSH_AGENT_PID"
	doctor; finds warn agent "has no keys" "an agent without keys"
	like "$out" 'ssh-add$' "and what to type"
	ssh-keygen -q -t ed25519 -N '' -f "$TMP/key" && ssh-add -q "$TMP/key" 2>/dev/null
	rm -f "$HOME/.ssh/id_ed25519"
	doctor; finds ok agent "has 1 key" "an agent with a key"
	finds ok keys "the agent's" "whose key will do"
else
	skip "ssh-agent is not installed"
fi
NANOPOD_AGENT=none; export NANOPOD_AGENT
doctor; finds ok agent "switched off" "agent: none"
unset NANOPOD_AGENT SSH_AUTH_SOCK

NANOPOD_IDENTITY=$TMP/nokey doctor
is "$status" 11 "a key that is not there fails"
finds fail keys "does not exist; NANOPOD_IDENTITY names it" "and who named it"
NANOPOD_TOKEN=npk_x NANOPOD_SUDO_PASSWORD=x doctor
finds ok settings "no file of your own" "variables that are no settings but are read"
NANOPOD_FANOT=1 doctor
finds warn settings "'NANOPOD_FANOT' is not a setting" "a variable that nobody reads"
mkdir -p "$HOME/.config/nanopod"; echo 'fanot: 1' >"$HOME/.config/nanopod/config.yaml"
doctor
is "$status" 11 "broken settings fail, and all else is still looked at"
finds fail settings "unknown setting 'fanot'" "what is broken"
finds ok ssh-folder "is yours" "all else"
echo 'fanout: 1' >"$HOME/.config/nanopod/config.yaml"
chmod 666 "$HOME/.config/nanopod/config.yaml"
doctor; finds fail settings "others may write it" "settings that others may write"
chmod 600 "$HOME/.config/nanopod/config.yaml"
printf 'jump: x\n' >.nanopod.yaml
doctor; finds warn settings "'jump' in .nanopod.yaml:1 is ignored" "what a directory's file may not set"
rm .nanopod.yaml

run sh -c 'ulimit -n 64 && exec "$@"' - env NANOPOD_FANOUT=1000 "$NANOPOD" doctor -o csv --fields state,check,why,mend
is "$status" 0 "few descriptors are a warning"
finds warn descriptors "64 files may be open, 1032 would be needed" "with how many"
like "$out" 'ulimit -n 1032' "and what to type"

run "$NANOPOD" doctor -o json
ok "-o json is an array of objects" python3 -c '
import json, sys
rows = json.loads(sys.argv[1])
assert rows and all(sorted(r) == ["check", "mend", "state", "why"] for r in rows)' "$out"
run "$NANOPOD" doctor
unlike "$out" "$(printf '\033')" "the table has no colours in a pipe"

done_testing
