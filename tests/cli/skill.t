#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What SKILL.md tells programs to type works, spends no more than it says, and is safe to repeat.
. "$(dirname "$0")/../lib/tap.sh"
. "$SRC/tests/lib/guide.sh"
need jq ssh-keygen
command -v sshd >/dev/null || skip_all "sshd is not installed (Debian: openssh-server)"
skill=$SRC/SKILL.md

mkdir -m 700 "$HOME/.ssh"
mkdir "$GUIDE/input" && echo content >"$GUIDE/input/file"
at_exit 'nanopod local reset -y >/dev/null 2>&1'
ok "(a local market)" eval "nanopod local start --driver process --nodes 2 >'$TMP/start' 2>&1"

# ---- Each line ---------------------------------------------------------------------------------------------------------
guide_run SKILL.md
is "$(ls "$GUIDE/output" 2>/dev/null)" 'job-0
job-1' "(each node's file arrived)"
is "$(nanopod burn -o json | jq --arg soon "$(date -u -d '+3 minutes' +%FT%TZ)" '[.[] | select(.until > $soon)] | length')" 0 \
	"after the last line nothing costs money for longer than a minute"

# ---- Its rules hold ----------------------------------------------------------------------------------------------------
lines=$(guide_lines "$skill")
is "$(grep -cE '^nanopod (buy|extend) .*-y' <<<"$lines")" 2 "(it has lines that spend)"
is "$(grep -E '^nanopod (buy|extend) .*-y' <<<"$lines" | grep -vE -e '-p .*--max-total ')" '' \
	"each of them has a limit of the price and of the total"
is "$(grep -E -e ' --new| --token|StrictHost|--insecure' <<<"$lines")" '' "and none forgets, tells or switches off what protects"
is "$(awk -F' *[|] *' '/^[|] [0-9]/ { print $2, $3 }' "$skill")" \
	"$(nanopod help exit-codes --json | jq -r '.exit_statuses[] | select(.status >= 2 and .status <= 11) | "\(.status) \(.code)"')" \
	"its table of statuses is the command's"
is "$(grep -oE -e '--[a-z][a-z-]+' "$skill" | sort -u | grep -vxF "$(nanopod help --json |
	jq -r '.options[].name, .commands[].options[].name | "--" + .')")" '' "each option that it names exists"

# ---- Repeated -----------------------------------------------------------------------------------------------------------
buy=$(grep '^nanopod buy .*--ensure' <<<"$lines" | sed 's/job/again/')
spent() { nanopod balance -o json | jq -r '.[0].available'; }
before=$(spent)
eval "$buy" >"$TMP/first" 2>"$TMP/err"
once=$(spent)
eval "$buy" >"$TMP/second" 2>"$TMP/err"
is $? 0 "the line that buys, again: well"
isnt "$once" "$before" "(the first time it bought)"
is "$(spent)" "$once" "the second time it buys nothing"
end=$(jq -r '.[0].end' "$TMP/first" | xargs -I{} date -u -d '{} + 1 hour' +%FT%TZ)
extend="nanopod extend again -e $end -p 1 --max-total 2 -y -o json"
eval "$extend" >"$TMP/longer" 2>"$TMP/err"
is $? 0 "(extended to an end)"
twice=$(spent)
eval "$extend" >"$TMP/longer" 2>"$TMP/err"
is "$(spent)" "$twice" "to the same end again: nothing is paid twice"
nanopod release again -y >"$TMP/gone" 2>&1
done_testing
