#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What people hate about other tools, one by one, and that nanopod does better. The numbers are those of the list of complaints.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
trade_start 3
trade_between
cd "$TMP" || exit 99
FIRST=$((NOW + 60))
np() { timeout -k 5 60 "$NANOPOD" "$@"; }
window_of() { market GET '/v2/pools' | jq -c --arg n "$1" '.data[] | select(.name == $n) | .allocation_schedule.total[0] | [.start_at, .end_at]'; }
money=$(balance_now)

# 1: "a failed extend exits 0 and prints []"
np buy -t richmond -d 4h -p 2.10 -y --name one >/dev/null 2>&1
np buy -t richmond -n 3 -d 4h -s +6h -p 2.10 -y --no-instances >/dev/null 2>&1
run_is 6 "1: a failed extend exits with 6" np extend one -d 4h -y
like "$err" "cannot extend 'one': its hosts are sold from .*; 'nanopod extend one .*would fill" "1: with the reason and what would fit"
isnt "$out" "[]" "1: and prints no empty list"
run_is 6 "1: nor in JSON" np extend one -d 4h -y -o json
isnt "$out" "[]" "1: where the failure has its row"

# 2: "-d 1.5h -y silently buys with no end"
run_is 0 "2: -d 1.5h -y buys" np buy -t richmond -d 1.5h -s +24h -p 2.10 -y --name half
is "$(window_of half)" "[$((FIRST + 24 * HOUR)),$((FIRST + 24 * HOUR + 5400))]" "2: exactly ninety minutes"
for d in 0 0h 1.5 90 -1h 1h30 '' 1e3h; do
	run_is 2 "2: -d '$d' is refused" np buy -t richmond -d "$d" -p 2.10 -y
done

# 3: "'3 hours from now' starts now, because it contains 'now'"
before=$(orders_count)
for s in '3 hours from now' 'now+3h' 'not now' yesterday now: 4pm; do
	run_is 2 "3: -s '$s' is refused, and not now" np buy -t richmond -d 1h -s "$s" -p 2.10 -y
done
is "$(orders_count)" "$before" "3: and nothing was bought"
run_is 0 "3: 'in 3 hours' is" np buy -t richmond -d 1h -s 'in 3 hours' -p 3.10 -y --name three
is "$(window_of three)" "[$((FIRST + 3 * HOUR)),$((FIRST + 4 * HOUR))]" "3: in three hours"

# 4: "-y skips the quote, so a script never sees the price"
run_is 0 "4: with -y" np buy -t richmond -d 1h -s +30h -p 2.10 -y
like "$err" 'price +\$1\.80 per GPU-hour now, limit \$2\.10' "4: the price is shown"
like "$err" 'total +\$14\.40 now, up to \$16\.80 at your limit' "4: and the total"
run_is 0 "4: in JSON" np buy -t richmond -d 1h -s +30h -p 2.10 -y -o json
is "$(printf '%s' "$err" | jq -r 'select(.plan) | .plan.total')" "\$14.40 now, up to \$16.80 at your limit" "4: too, and what was paid is in the answer:"
is "$(printf '%s' "$out" | jq -c '.[0] | [.price, .total_micros]')" '["1.80",14400000]' "4: price and total"

# 5: "a dropped connection after the POST leaves the user not knowing whether money was spent"
before=$(orders_count)
rule 'cut-after POST /v2/orders'
run_is 8 "5: the connection drops after the POST" np buy -t richmond -d 1h -s +40h -p 2.10 -y
like "$err" "cannot tell whether .*; run the same command again" "5: which is said, with what to type"
rules_off
run_is 0 "5: the same command" np buy -t richmond -d 1h -s +40h -p 2.10 -y
like "$err" 'replayed' "5: says replayed"
is $(($(orders_count) - before)) 1 "5: and there is one order"

# 6: "12abc is a price"
for p in 12abc abc 1,000 -1 '$' 1e3 0x10 '' 1.2345678 '2 USD'; do
	run_is 2 "6: -p '$p' is refused" np buy -t richmond -d 1h -s +50h -p "$p" -y
done
like "$err" 'dollars per GPU-hour, such as' "6: with what a price is"
is $(($(orders_count) - before)) 1 "6: and nothing was bought"
run_is 0 "6: \$2.10 is one" np buy -t richmond -d 1h -s +50h -p '$2.10' -y --name dollar

# 7: "a 401 deletes the saved token"
token=$NANOPOD_TOKEN
unset NANOPOD_TOKEN
mkdir -p "$HOME/.config/nanopod"
printf 'npk_%043d\n' 7 >"$HOME/.config/nanopod/token"
chmod 600 "$HOME/.config/nanopod/token"
sum=$(cksum <"$HOME/.config/nanopod/token")
"$NANOPOD" config set token-file "$HOME/.config/nanopod/token" >/dev/null 2>&1
config=$(cksum "$HOME/.config/nanopod/config.yaml" 2>&1)
for c in "buy -t richmond -d 1h -p 2.10 -y" "extend one -d 1h -y" "orders" "ls"; do
	# shellcheck disable=SC2086
	run_is 4 "7: a 401 on 'nanopod ${c%% *}'" np $c
done
is "$(cksum <"$HOME/.config/nanopod/token") $(cksum "$HOME/.config/nanopod/config.yaml" 2>&1)" "$sum $config" "7: deletes nothing"
like "$err" 'rejected the token from .*stored token is unchanged' "7: and says whose token it was"
"$NANOPOD" config unset token-file >/dev/null 2>&1
rm -f "$HOME/.config/nanopod/token"
NANOPOD_TOKEN=$token
export NANOPOD_TOKEN

# 8: "--json prompts on stdout"
run_is 2 "8: -o json without -y and without a terminal" np buy -t richmond -d 1h -s +60h -p 2.10 -o json
is "$out" "" "8: prints nothing on standard output"
is "$(printf '%s' "$err" | jq -r .error.field)" "--yes" "8: and names the flag, in JSON"
if [ -x "$PTY" ]; then
	printf 'expect Buy it?\nsend yes\\n\n' >yes
	"$PTY" yes sh -c "'$NANOPOD' buy -t richmond -d 1h -s +60h -p 2.10 -o json >asked.json" >/dev/null 2>&1
	is "$(jq -r '.[0].status' asked.json)" filled "8: on a terminal the question is there, and standard output is clean JSON"
else
	skip "tests/lib/pty is not built"
fi

# 9: "teardown only by events strands machines and bills them for weeks"
is "$(instances_of three)" 1 "9: a node runs"
clock $((NOW + 5 * HOUR))
wait_for 10 sh -c "[ \"\$(curl -s -H 'Authorization: Bearer $ACME' '$MARKET_URL/v2/instances?limit=200' | jq '[.data[] | select(.pool.name == \"three\" and (.status == \"terminated\" or .status == \"failed\"))] | length')\" = 1 ]"
is "$(market GET '/v2/instances?limit=200' | jq -r '.data[] | select(.pool.name == "three") | .status')" terminated "9: when its time is over it is ended, by the clock"
run_is 0 "9: and its reservation" np ls -o json
unlike "$(printf '%s' "$out" | jq -r '.[].reservation')" '^three$' "9: is over, and costs nothing"

# 10: "Something went wrong"
rule 'status=500 POST /np/v1/quote'
run_is 1 "10: a mistake of the market" np buy -t richmond -d 1h -s +80h -p 2.10 -y
like "$err" "cannot buy 1 node of 'richmond': " "10: is told with what was tried"
unlike "$err" '[Ss]omething went wrong' "10: in other words than those"
rule 'status=503 POST /v2/orders'
run_is 8 "10: a market that cannot write" np buy -t richmond -d 1h -s +80h -p 2.10 -y
rules_off
run_is 3 "10: a type with a slip" np buy -t richmnd -d 1h -p 2.10 -y
like "$err" "no type '.*'; did you mean 'richmond'[?]" "10: names the nearest"
run_is 2 "10: an option with a slip" np buy -t richmond -d 1h --prise 2 -y
like "$err" "price" "10: too"

# 11: "orders that do not fill never say why"
run_is 6 "11: an order that does not fill" np buy -t richmond -n 2 -d 1h -s +90h -p 1.00 -y
like "$err" 'what is on sale costs more than the limit' "11: says why"
hint=$(printf '%s\n' "$err" | tr "'" '\n' | grep '^nanopod buy ' | head -n 1)
run_is 0 "11: and what would, which is true" sh -c "$(printf '%s' "$hint" | sed "s|^nanopod|$NANOPOD|")"
run_is 6 "11: in JSON" np buy -t richmond -n 9 -d 1h -s +90h -p 9 -y -o json
is "$(printf '%s' "$err" | jq -r 'select(.error) | [.error.code, .error.retryable] | join(" ")')" "no_capacity true" "11: with a code from a closed list"
isnt "$money" "$(balance_now)" "(money was spent by this test)"
done_testing
