#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A lease from its first minute to its last, with real nodes and the money that they cost: extended in the last minute,
# given back, replaced, down for a while, ended. Uses the driver process; lease-ns.t runs it with ns.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
life_begin --agent-silent 45 # it calls each 25 s
agentd_join m1 4
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1

# buy POOL SECONDS: LEASE[POOL] is the number of its lease in the ledger.
declare -A LEASE PID
buy() {
	agentd_buy "$1" 1 "$2"
	LEASE[$1]=$(ledger "$ACME" | jq -r 'select(.book == "capacity" and .amount > 0) | .subject' | tail -n 1)
}
# moved TOKEN POOL BOOK: the amount that the lease of a pool moved in a book.
moved() { ledger "$1" | jq -s --arg s "${LEASE[$2]}" --arg b "$3" \
	'[.[] | select(.subject == $s and .book == $b) | .amount] | add // 0'; }
used() { operator GET '/np/v1/ledger?limit=1000' | jq --arg s "${LEASE[$1]}" \
	'[.data[] | select(.subject == $s and .book == "used") | .amount] | add // 0'; }
last_at() { ledger "$ACME" | jq -s --arg s "${LEASE[$1]}" '[.[] | select(.subject == $s) | .at] | max'; }
MINUTE=25000   # what one costs, in millionths of a dollar

buy ends 900
buy longer 780
buy given 3600
buy swapped 3600
for pool in ends longer given swapped; do
	wait_for 120 node_is $pool-1 running
	ok "$pool: its node runs" node_is $pool-1 running || life_say m1
	life_in $pool-1 "echo mark-$pool-$$ >kept; sync kept; $(life_sleep $pool)"
	PID[$pool]=$(life_pid $pool)
	isnt "${PID[$pool]}" "" "$pool: and a process in it"
done
life_prefix ends

# ---- Down for five minutes ------------------------------------------------------------------------------------
at() { agentd_clock $((NOW + $1)); }
host_states() { as "$FOUNDRY" GET /np/v1/hosts | jq -r '[.data[].state] | unique | join(" ")'; }
hosts_are() { [ "$(host_states)" = "$1" ]; }
at 300
heard() { [ "$(as "$FOUNDRY" GET /np/v1/agents/m1 | jq .last_seen_at)" -ge $((NOW + 300)) ]; }
ok "(the agent is heard in the minute)" wait_for 40 heard
agentd_kill m1
ok "an agent that is killed takes its hosts down" wait_for 40 hosts_are down || diag "$(host_states)"
at 600
for pool in ends longer given swapped; do is "$(life_pid $pool)" "${PID[$pool]}" \
	"$pool: its process goes on without it"; done
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
ok "the next one brings them up" wait_for 20 hosts_are up || diag "$(host_states)"
for pool in ends longer given swapped; do
	is "$(ledger "$ACME" | jq -s --arg s "${LEASE[$pool]}" '[.[] | select(.subject == $s and .book == "available" and .amount > 0) | .amount] | add')" \
		$((5 * MINUTE)) "$pool: five minutes are given back, and not one more"
	is "$(life_pid $pool)" "${PID[$pool]}" "$pool: (it is the same process)"
done

# ---- Extended in the last minute ------------------------------------------------------------------------------
longer_end() { node longer-1 .end_at; }
is "$(longer_end)" $((NOW + 900)) "longer: it would end"
at 870
as "$ACME" POST /np/v1/pools/longer/extend '{"duration_seconds":600,"limit_price_dollars_per_node_hour":"2.000000"}' \
	>"$TMP/.extend"
is "$(http_status | cut -c1)" 2 "longer: extended thirty seconds before" || diag "$(cat "$TMP/.extend")"
is "$(longer_end)" $((NOW + 1500)) "longer: it ends later"
BOTH=$(ledger "$ACME" | jq -r 'select(.book == "capacity" and .amount == 10) | .subject' | tail -n 1)
at 899
at 900
at 935
over() { life_in longer-1 'cat kept'; }
is "$(over)" "mark-longer-$$" "longer: over the old end its files are there"
is "$(life_pid longer)" "${PID[longer]}" "longer: and the process that ran"
is "$(node longer-1 .status)" running "longer: it runs for the market"

# ---- The end ----------------------------------------------------------------------------------------------------
I=$(node ends-1 .id)
PORT=$(node ends-1 .ssh.port)
at 959
is "$(life_pid ends)" "${PID[ends]}" "ends: it is there in its last second"
at 960
gone() { life_gone m1 "$I" && [ -z "$(life_pid ends)" ]; }
ok "ends: in the minute of its end it is taken away" wait_for 40 gone || life_say m1 "$I"
not_ok "ends: its files are wiped" life_holds m1 "mark-ends-$$"
ok "ends: (others' are not)" life_holds m1 "mark-given-$$"
not_ok "ends: its port is closed" life_open "$PORT"
is "$(node ends-1 .status)" terminated "ends: the market says so"
is "$(life_pid longer)" "${PID[longer]}" "longer: its process goes on"
at 961
at 1000
ended() {
	is "$(last_at "$1")" "$2" "$1: the ledger's last entry is of the minute of its end"
	is "$(used "$1")" "$3" "$1: so many minutes were used, as many as there were"
	is "$(moved "$ACME" "$1" capacity)" 0 "$1: none is left"
	is "$(moved "$ACME" "$1" escrow)" 0 "$1: nothing is kept back for it"
}
ended ends $((NOW + 960)) 15
is "$(moved "$ACME" ends available)" $((-10 * MINUTE)) "ends: paid are the ten minutes that were not down"
at 1010
is "$(last_at ends)" $((NOW + 960)) "ends: nothing comes after"

# ---- Given back ---------------------------------------------------------------------------------------------------
I=$(node given-1 .id)
as "$ACME" POST /np/v1/pools/given/release '{}' >"$TMP/.release"
is "$(http_status | cut -c1)" 2 "given: released" || diag "$(cat "$TMP/.release")"
is "$(life_pid given)" "${PID[given]}" "given: the minute under way is its own"
at 1020
gone() { life_gone m1 "$I" && [ -z "$(life_pid given)" ]; }
ok "given: then it is taken away" wait_for 40 gone || life_say m1 "$I"
not_ok "given: and wiped" life_holds m1 "mark-given-$$"
is "$(used given)" 14 "given: fourteen minutes were used"
is "$(moved "$ACME" given escrow)" $((MINUTE * 46)) "given: (the rest was paid into a lease of its own)"
POOL=$(ledger "$ACME" | jq -r --arg s "${LEASE[given]}" 'select(.subject == $s and .book == "capacity") | .owner' | head -n 1)
is "$(ledger "$ACME" | jq -s --arg p "$POOL" '[.[] | select(.book == "capacity" and .owner == $p) | .amount] | add')" \
	0 \
	"given: its reservation holds no minute any more"

# ---- Replaced -----------------------------------------------------------------------------------------------------
OLD=$(node swapped-1 .id)
OLD_KEY=$(node swapped-1 '.ssh.host_keys[0].key')
ssh_known swapped-1 >"$TMP/old.known"
HAD=$(as "$ACME" GET /np/v1/balance | json .available_micros)
as "$ACME" POST "/v2/instances/$OLD/replace" \
	"{\"name\":\"swapped-1\",\"image\":\"debian-12\",\"cloud_init_user_data\":\"$(user_data "$TMP/buyer.pub")\"}" \
	>"$TMP/.replace"
is "$(http_status | cut -c1)" 2 "swapped: replaced" || diag "$(cat "$TMP/.replace")"
is "$(as "$ACME" GET /np/v1/balance | json .available_micros)" "$HAD" "swapped: for nothing"
ok "swapped: the new one runs" wait_for 120 node_is swapped-1 running || life_say m1
isnt "$(node swapped-1 .id)" "$OLD" "swapped: it is another"
isnt "$(node swapped-1 '.ssh.host_keys[0].key')" "$OLD_KEY" "swapped: with a key of its own"
gone() { life_gone m1 "$OLD" && [ -z "$(life_pid swapped)" ]; }
ok "swapped: the old one is gone" wait_for 40 gone || life_say m1 "$OLD"
is "$(life_in swapped-1 'ls kept 2>&1 | grep -c "No such"')" 1 "swapped: nothing of it is in the new one"
not_ok "swapped: nor on disk" life_holds m1 "mark-swapped-$$"
not_ok "swapped: who expects the old key does not get in" life_in_known "$TMP/old.known" swapped-1 true

# ---- All is over ----------------------------------------------------------------------------------------------------
at 1500
I=$(node longer-1 .id)
gone() { life_gone m1 "$I" && [ -z "$(life_pid longer)" ]; }
ok "longer: it ends in the end" wait_for 40 gone || life_say m1 "$I"
at 1501
ended longer $((NOW + 900)) 13
is "$(ledger "$ACME" | jq -s --arg s "$BOTH" '[.[] | select(.subject == $s) | .at] | max')" $((NOW + 1500)) \
	"longer: what it was extended by ended when it did"
at 4000
ok "nothing is left of any" wait_for 40 life_nothing m1 || life_say m1
is "$(ledger "$ACME" | jq -s '[.[] | select(.book == "escrow") | .amount] | add')" 0 "and no money is kept back"
agentd_stop m1
marketd_stop
ok "all is well with the market's files" "$MARKETD" check --data "$MARKETD_DATA"
done_testing
