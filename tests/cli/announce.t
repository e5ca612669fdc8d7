#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nanopod admin announce: who reads what the operator says, when, how often; and that no text of it does harm.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/told.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
[ -x "$PTY" ] || skip_all "tests/lib/pty is not built"
NOW=$(($(date +%s) / 3600 * 3600 + 7200)) # the command reads times by its own clock: a test clock in the near future
v2_start
boss() { NANOPOD_URL=unix:$MARKETD_SOCKET "$NANOPOD" admin announce "$@" </dev/null; }
buyer() { NANOPOD_TOKEN=$ACME "$NANOPOD" "$@" </dev/null; }
texts() { as "$1" GET /np/v1/announcements | jq -r '[.data[].text] | join("|")'; }
# What a person reads of a command on a terminal of 80 columns.
screen() { # TOKEN COMMAND...
	local token=$1

	shift
	: >"$TMP/script"
	NANOPOD_TOKEN=$token "$PTY" "$TMP/script" "$NANOPOD" "$@" 2>"$TMP/pty.err" | sed 's/\r//g; s/\x1b\[[0-9;]*m//g'
}

# ---- To all, to one ------------------------------------------------------------------------------------------
run_is 2 "nothing to say" boss
run_is 2 "a word for how grave it is that is none" boss hello --severity bad
run_is 3 "to an account that is none" boss hello --account nobody
run_is 0 "an announcement" boss 'new disks on Sunday' -o json
ID=$(jq -r '.[0].id' <<<"$out")
is "$(jq -c '.[0] | [.severity, .account, .text, .ends]' <<<"$out")" '["info",null,"new disks on Sunday",null]' "is to all"
run_is 0 "one account's" boss 'your card expires' --account acme --severity warning -q
is "$(texts "$ACME")" "new disks on Sunday|your card expires" "the account reads both"
is "$(texts "$STRANGER")" "new disks on Sunday" "others read what is to all"
is "$(texts "$FOUNDRY")" "new disks on Sunday" "sellers too"
is "$(operator GET /np/v1/announcements | jq '.data | length')" 2 "the operator reads all"
is "$(operator GET '/np/v1/announcements?account=stranger' | jq '.data | length')" 1 "or what one account reads"
told np.AnnouncementList "$(as "$ACME" GET /np/v1/announcements)" "the list, as documented"
as "$ACME" POST /np/v1/announcements '{"text":"free money"}' >"$TMP/.said"
is "$(http_status)" 403 "nobody else announces"
as "$ACME" DELETE "/np/v1/announcements/$ID" >"$TMP/.said"
is "$(http_status)" 403 "or ends one"

# ---- Where it is seen ------------------------------------------------------------------------------------------
out=$(screen "$ACME" ls)
like "$out" "the market's operator says: new disks on Sunday" "ls on a terminal says it"
like "$out" "says \(warning\): your card expires" "each of them"
out=$(screen "$ACME" ls)
unlike "$out" "operator says" "once"
out=$(screen "$STRANGER" ls)
unlike "$out" "operator says" "also where the same person has two accounts"
run_is 0 "a script" buyer ls -o json
unlike "$err" "operator" "is told nothing"
run_is 0 "without a terminal" buyer ls
unlike "$err" "operator" "nor is anybody"
run_is 0 "alerts" buyer alerts -o json
is "$(jq -c '.[] | select(.rule == "announcement") | [.severity, .kind, .text]' <<<"$out" | sort | paste -sd' ')" \
	'["info","announcement","new disks on Sunday"] ["warning","announcement","your card expires"]' "tell it as long as it holds"
like "$(NANOPOD_TOKEN=$ACME "$NANOPOD" events)" "the operator says: your card expires" "the event of an account has it"
like "$(cat "$MARKETD_LOG")" "audit: announced to all: new disks on Sunday, by the operator" "the log says who said it"

# ---- Of all accounts, by a token -------------------------------------------------------------------------------
BOSS=$(marketd_token acme read admin)
run_is 0 "an operator's token reads alerts of its own account" env NANOPOD_TOKEN="$BOSS" "$NANOPOD" alerts -o json --all-accounts
is "$(jq -r '[.[] | select(.rule == "announcement") | .text] | sort | join("|")' <<<"$out")" "new disks on Sunday|your card expires" "and of all"
of() { NANOPOD_TOKEN=$1 "$NANOPOD" events -o jsonl "${@:2}" | jq -r 'select(.type == "announcement" or .type == "order.placed") | .announcement // .order' | wc -l; }
v2_offer "$(v2_host rack1 "$SKU")" 12.000000 >"$TMP/.offer"
is "$(of "$BOSS") $(of "$BOSS" --all-accounts)" "1 3" "events of one account; of all, with what was said to all"
run_is 4 "nobody else" env NANOPOD_TOKEN="$ACME" "$NANOPOD" events --all-accounts
run_is 2 "one account or all" env NANOPOD_TOKEN="$BOSS" "$NANOPOD" alerts --all-accounts --account acme
is "$(as "$BOSS" GET '/np/v1/hosts?account=*' | jq '.data | length')" 1 "the API says it with *"
as "$BOSS" POST '/v2/pools?account=*' '{"name":"nobodys","workspace":"default"}' >"$TMP/.pool"
is "$(http_status)" 422 "nothing is made for all of them"

# ---- When ------------------------------------------------------------------------------------------------------
run_is 2 "an end before the start" boss x --from "$(date -u -d "@$((NOW + 7200))" +%Y-%m-%dT%H:%MZ)" --until "$(date -u -d "@$((NOW + 3600))" +%Y-%m-%dT%H:%MZ)"
as_later() { operator POST /np/v1/announcements "{\"text\":\"later\",\"severity\":\"critical\",\"start_at\":$((NOW + 600)),\"end_at\":$((NOW + 1200))}"; }
as_later >"$TMP/.said"
told np.Announcement "$(cat "$TMP/.said")" "one for later, as documented"
unlike "$(texts "$ACME")" later "is not read before"
like "$(operator GET /np/v1/announcements | jq -r '.data[].text' | paste -sd'|')" later "the operator sees it"
v2_clock $((NOW + 600))
like "$(texts "$ACME")" later "it is read from then on"
marketd_kill
marketd_start --test-clock=$((NOW + 600)) || exit 1
like "$(texts "$ACME")" "new disks on Sunday.*later" "also after a crash"
v2_clock $((NOW + 1200))
is "$(texts "$ACME")" "new disks on Sunday|your card expires" "and no longer than it was for"
run_is 0 "end" boss end "$ID"
is "$(texts "$ACME")" "your card expires" "ends it"
run_is 3 "again" boss end "$ID"
run_is 0 "list" boss list -o json
is "$(jq -c '[.[].text]' <<<"$out")" '["your card expires"]' "lists what is not over"

# ---- Texts that would do harm ----------------------------------------------------------------------------------
run_is 2 "4 kB" boss "$(head -c 4096 /dev/zero | tr '\0' x)"
say() { operator POST /np/v1/announcements "$(jq -cn --arg t "$1" '{text: $t}')" >"$TMP/.said"; is "$(http_status)" 201 "$2"; }
say $'\e[2J\e]0;owned\a red \e[31m' "terminal codes"
say '<script>alert(1)</script><img src=x onerror=alert(2)>' "HTML"
say $'\xe2\x80\xaednuf\xe2\x81\xa6 rtl' "text from right to left"
say $'one\nnanopod: you are rich' "two lines"
: >"$TMP/script"
NANOPOD_TOKEN=$ACME "$PTY" "$TMP/script" "$NANOPOD" ls >"$TMP/screen" 2>&1
not_ok "no code of it reaches the terminal" grep -qE $'\e\\[2J|\e\\]0|\a' "$TMP/screen"
not_ok "no letters that turn the line around" grep -qE $'\xe2\x80\xae|\xe2\x81\xa6' "$TMP/screen"
not_ok "and no line of its own" grep -qE '^nanopod: you are rich' "$TMP/screen"
like "$(tr -d '\r' <"$TMP/screen")" "<script>alert" "what is text is shown"
run_is 0 "the operator's list" boss list
unlike "$out" $'\e\\[2J' "is as harmless"
for i in $(seq 1 120); do operator POST /np/v1/announcements '{"text":"again"}' >"$TMP/.said"; [ "$(http_status)" = 201 ] || break; done
is "$(http_status) $(jq -r .error.code <"$TMP/.said")" "422 limit_reached" "there are not more than people can read"
is "$(operator GET /np/v1/announcements | jq '.data | length')" 100 "of them"
marketd_stop
ok "check finds nothing wrong with it" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
