#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a machine that joined measures of itself: signed for a nonce, kept, shown later, checked by somebody else.
. "${SRC:-$(dirname "$0")/../..}/tests/lib/tap.sh"
. "$SRC/tests/lib/marketd.sh"
. "$SRC/tests/lib/agentd.sh"

NANOPOD=$BUILD/nanopod
PATH=$BUILD:$PATH
XDG_CONFIG_HOME=$TMP/config
export PATH XDG_CONFIG_HOME
nonce=00112233445566778899aabbccddeeff
host() { "$NANOPOD" host "$@" </dev/null; }

run_is 3 "nothing was measured yet" host verify --last --data "$TMP/rack"
like "$err" "no verification was kept" "says so"
run_is 2 "a nonce that is none" host verify --nonce 12 --data "$TMP/rack"
like "$err" "openssl rand -hex 16" "and what to type"

marketd_start --rate 0 || exit 1
operator POST /np/v1/skus '{"alias":"cpu","gpus":0,"properties":{"accelerator":"none"}}' >"$TMP/sku"
marketd_account foundry
FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
agentd_token | "$AGENTD" --data "$TMP/rack" join "$NANOPOD_URL" --name rack --type cpu --nodes 1 --json \
	>"$TMP/joined" 2>"$TMP/join.err" || { fail "(it joins)"; sed 's/^/# /' "$TMP/join.err"; exit 1; }
key=$(as "$FOUNDRY" GET /np/v1/agents | json '.data[0].public_key')

run host verify --nonce $nonce -o json --data "$TMP/rack"
like "$status" '^(0|11)$' "it is measured"
printf '%s\n' "$out" >"$TMP/rack.json"
is "$(json '[.object, .version, .nonce, .key] | join(" ")' <"$TMP/rack.json")" "verification 1 $nonce $key" \
	"for that nonce, by the key that the market knows"
is "$(json '.checks[] | select(.check == "disk write") | [.median > 0, .least <= .median, .median <= .most, .at > 1700000000, (.method | length) > 0, .unit] | join(" ")' <"$TMP/rack.json")" \
	"true true true true true MB/s" "with median, spread, date, method and unit"
is "$(json '[.checks[] | select(.check | startswith("market ")) | .check] | join(" ")' <"$TMP/rack.json")" \
	"market latency market jitter market loss market down market up" "the way to the market is measured both ways"
is "$(json '[.checks[] | select(.check == "market down" or .check == "market up") | .median > 0 and .unit == "kbit/s"] | all' <"$TMP/rack.json")" \
	true "in kilobits a second"
is "$(json '.checks[] | select(.check == "market loss") | "\(.median) \(.runs > 0)"' <"$TMP/rack.json")" "0 true" "no request was lost"
measured=$(json '.passed' <"$TMP/rack.json")

# Kept.
run host verify --last -o json --data "$TMP/rack"
is "$out" "$(cat "$TMP/rack.json")" "it is kept as it was"
is "$(stat -c %a "$TMP/rack/verify.json")" 600 "for its owner alone"
run host verify --last --data "$TMP/rack"
like "$out" "disk write .* MB/s" "and shown to people"
like "$out" "[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped, 20" "with its date"
"$AGENTD" --data "$TMP/rack" status >"$TMP/status"
like "$(cat "$TMP/status")" "verified: [0-9]+ passed, [0-9]+ failed" "the status has its date"
is "$("$AGENTD" --data "$TMP/rack" status --json | json '.verified | length > 0')" true "in JSON too"

# The session is the running agent's: verify leaves it alone.
date +%s >"$TMP/clock"
agentd_start rack --driver process || exit 1
run host verify --data "$TMP/rack"
like "$out" "skipped +market speed +.*$AGENTD_PID" "while the agent runs, verify opens no session beside its own"
agentd_stop rack
unlike "$(cat "$TMP/rack.log")" "in use elsewhere" "and the agent is not thrown out"

# Checked, where there is no agent.
want=0
[ "$measured" = true ] || want=11
run_is $want "checked with key and nonce" host verify --check "$TMP/rack.json" --key "$key" --nonce $nonce
like "$out" "disk write +(ok|failed) +[0-9]+ MB/s" "its values are shown"
like "$err" "signed this at .* for the nonce $nonce" "and who signed them"
run_is 11 "another nonce" host verify --check "$TMP/rack.json" --nonce 0000000000000000
like "$err" "answers the nonce '$nonce'" "is told"
run_is 11 "another key" host verify --check "$TMP/rack.json" --key AAAA
sed 's/"median":[0-9]*/"median":999999999/; s/"most":[0-9]*/"most":999999999/' "$TMP/rack.json" >"$TMP/lie.json"
run_is 11 "a value that somebody improved" host verify --check "$TMP/lie.json"
like "$err" "do not believe .*somebody changed it" "is told"
run_is 3 "a file that is not there" host verify --check "$TMP/none.json"
done_testing
