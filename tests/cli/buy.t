#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# nanopod buy and price against a market: they buy what they showed, and reasons against it are true.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
trade_start
cd "$TMP" || exit 99
buy() { timeout -k 5 60 "$NANOPOD" buy "$@"; }
DAY=$((24 * HOUR)) FIRST=$((NOW + 60))

# ---- Price ----
run_is 0 "a price" "$NANOPOD" price -t h100 -n 2 -d 24h
like "$out" '2 nodes of richmond, 8 GPUs each' "says of what"
like "$out" 'window +Fri 15 Jan 08:01 to Sat 16 Jan 08:01 UTC, 24h' "says when: from the next minute on"
like "$out" 'total +\$691\.20' "says the total"
like "$out" 'price +\$1\.80 per GPU-hour, \$14\.40 per node-hour' "in both units"
like "$out" 'offers +3 nodes at \$1\.80 per GPU-hour, you get 2' "says where they come from"
like "$out" ' 1 node +at \$3\.00 per GPU-hour$' "and what else there is"
run_is 0 "in JSON" "$NANOPOD" price -t h100 -n 4 -d 1h -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.nodes, .total, .total_micros, .limit, .fills, (.offers | length)]')" \
	'[4,"67.200000",67200000,"3.00",true,2]' "exact, and always a list"
run_is 0 "per node" "$NANOPOD" price -t richmond -d 1h --per node
like "$out" 'price +\$14\.40 per node-hour$' "then all prices are"
run_is 6 "more than there is" "$NANOPOD" price -t h100 -n 9 -d 1h
like "$out" 'not available now' "is said"
like "$err" "nanopod price .*-n 4" "with what could be had"
run_is 3 "no such type" "$NANOPOD" price -t z9 -d 1h
like "$err" 'richmond' "names those that there are"
run_is 0 "no time" "$NANOPOD" price
like "$out" '^TYPE +NODES +GPUS +PRICE +TOTAL 1H +TOTAL 1D +TOTAL 1W$' "shows types side by side"
like "$out" '^richmond +1 +8 +1\.80 +\$14\.40 +\$345\.60 +\$2,419\.20$' "for an hour, a day and a week"
run_is 0 "later, in JSON" "$NANOPOD" price -n 4 -s +1h -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.type, .nodes, .price, .total_1h_micros, .total_1d, .total_1w_micros]')" \
	'["richmond",4,"2.10",67200000,"1612.800000",11289600000]' "is exact"
run_is 6 "more than there is" "$NANOPOD" price -n 9
like "$out" '^richmond +9 +8 +- +- +- +-$' "has no price"
run_is 0 "all types" "$NANOPOD" price -d 1h -q
is "$out" richmond "by name"
orders_before=$(orders_count)

# ---- A plan is not a purchase ----
run_is 0 "dry run" buy -t h100 -n 2 -d 24h -p 2.10 --dry-run -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.status, .nodes, .total_micros]')" '["would fill",2,691200000]' "tells the price"
like "$err" '"plan":' "the plan is JSON too then"
run_is 0 "with a name" buy -t h100 -d 1h -p 2.10 --dry-run --name ghost -o json
is "$(printf '%s' "$out" | jq -r '.[0].reservation')" ghost "which it would have"
is "$("$NANOPOD" reservations -a -q)$("$NANOPOD" nodes -a -q)$("$NANOPOD" complete -- extend gho)" "" "leaves no ghost of it: not in lists, nor in completion"
run_is 3 "nor to show" "$NANOPOD" show ghost
run_is 0 "of offers at two prices" buy -t h100 -n 4 -d 1h -p 3 --dry-run -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.price, .total]')" '["2.10","67.200000"]' "one price, which fits the total"
run_is 0 "explain" buy -t h100 -n 2 -d 24h -p 2.10 --explain
like "$out" 'POST .*/v2/pools' "prints the requests: the pool"
like "$out" 'POST .*/v2/orders' "the order"
like "$out" 'POST .*/v2/instances' "the nodes"
unlike "$out" "$ACME" "and keeps the token"
run_is 2 "no terminal and no -y" buy -t h100 -d 1h -p 2.10
like "$err" "'-y'" "names the flag"
run_is 0 "--fields= lists them" buy -t h100 -d 1h -p 2.10 -y --fields=
like "$out" '^reservation ' "and buys nothing"
run_is 2 "no options and no terminal" buy
like "$err" '--(price|duration|type) is required' "is the usual error"
run_is 2 "a field that is not there" buy -t h100 -d 1h -p 2.10 -y --fields nosuch
is "$(orders_count) $(pools_count) $(intents)" "$orders_before 0 0" "nothing was asked for by any of these"

# A refusal speaks in the unit that was asked in.
run_is 6 "a limit for a node that is too low" buy -t h100 -d 1h -p 8 --per node -y
like "$err" "at .8\.00 per node-hour: .*'nanopod buy -t h100 -d 1h --per node -y -p 14\.40' would fill" "is refused per node-hour, with what would fill"
run_is 6 "one for a GPU" buy -t h100 -d 1h -p 1 -y
like "$err" "at .1\.00 per GPU-hour: .*'nanopod buy -t h100 -d 1h -y -p 1\.80' would fill" "per GPU-hour"
CPU=$(sku cpu 0 '{"region":"europe-north1"}')
offer "$(host cpu-1 "$CPU")" 0.600000 >/dev/null
run_is 6 "one for a node without GPUs" buy -t cpu -d 1h -p 0.2 -y
like "$err" "at .0\.20 per node-hour: .*'nanopod buy -t cpu -d 1h -y -p 0\.60' would fill" "per node-hour"
is "$(orders_count) $(pools_count) $(intents)" "$orders_before 0 0" "and nothing is left of them"

# What would fail only after payment fails before.
mv "$HOME/.ssh/id_ed25519.pub" "$TMP/me.pub"
run_is 2 "no key that could log in" buy -t h100 -d 1h -p 2.10 -y
like "$err" 'there is no SSH key in ~/.ssh' "is said"
like "$err" "'ssh-keygen -t ed25519' makes one; '--ssh-key FILE' .*; '--no-ssh-key' " "with what to do"
echo >"$TMP/none.pub"
run_is 2 "nor is there one in the named file" buy -t h100 -d 1h -p 2.10 -y --ssh-key "$TMP/none.pub"
run_is 2 "both ways" buy -t h100 -d 1h -p 2.10 -y --ssh-key "$TMP/me.pub" --no-ssh-key
run_is 0 "a named one will do" buy -t h100 -d 1h -p 2.10 --dry-run --ssh-key "$TMP/me.pub"
run_is 0 "none is wanted" buy -t h100 -d 1h -p 2.10 --dry-run --no-ssh-key
like "$err" "SSH keys +none, by '--no-ssh-key'" "which the plan says"
is "$out" "" "a dry run names no reservation"
run_is 0 "nor does it need a key where no nodes start" buy -t h100 -d 1h -p 2.10 --dry-run --no-instances
mv "$TMP/me.pub" "$HOME/.ssh/id_ed25519.pub"
is "$(orders_count)" "$orders_before" "nothing is bought by any of these"
run_is 3 "an image that is not there" buy -t h100 -d 1h -p 2.10 -y --image nosuch
like "$err" "nothing was bought: this market has no image 'nosuch'" "is said"
is "$(orders_count)" 0 "before anything is bought"

# ---- Bought ----
before=$(balance_now)
run_is 0 "bought" buy -t h100 -n 2 -d 24h -p 2.10 -y
like "$out" '^r-[0-9a-f]{6}$' "the reservation's name, and nothing else, on standard output"
R=$out
like "$err" '^Buy 2 nodes of richmond$' "-y prints the plan all the same"
like "$err" 'window +Fri 15 Jan 08:01 to Sat 16 Jan 08:01 UTC, 24h' "the window"
like "$err" 'size +2 x 8 GPUs' "the size"
like "$err" 'price +\$1\.80 per GPU-hour now, limit \$2\.10 per GPU-hour' "the price and its limit"
like "$err" 'total +\$691\.20 now, up to \$806\.40 at your limit' "the total, now and at the limit"
like "$err" 'burn +\$28\.80 an hour' "the burn"
like "$err" 'refund +' "what comes back"
like "$err" 'balance +\$100,000\.00 now, \$99,308\.80 afterwards, at least \$99,193\.60 at your limit' "the balance afterwards"
like "$err" "next: 'nanopod ssh $R-0'" "and what to type next"
run_is 5 "a name that is taken" buy -t h100 -d 2h -p 2.10 -y --name "$R"
like "$err" "the reservation '$R' exists already" "is said"
unlike "$err" "^Buy " "and no plan is shown"
is "$(market GET "/v2/orders?status=filled" | jq -c '.data[0] | [.allocation_schedule_delta[0].start_at, .allocation_schedule_delta[0].end_at, .allocation_schedule_delta[0].node_count]')" \
	"[$FIRST,$((FIRST + DAY)),2]" "the window that was shown is the one that was bought"
is $((before - $(balance_now))) 691200000 "for the price that was shown"
is "$(market GET /v2/instances | jq -r --arg p "$R" '[.data[] | select(.pool.name == $p) | .name] | sort | join(" ")')" "$R-0 $R-1" "and nodes are started"
is "$(intents)" 0 "nothing is left unfinished"

run_is 0 "one for the evening" buy -t richmond -d 90m -s +2h -p 2.10 -y --name eve -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.reservation, .status, .nodes, .start, .end, .price, .total, .total_micros, .replayed, (.node_names | length)]')" \
	'["eve","filled",1,"2027-01-15T10:01:00Z","2027-01-15T11:31:00Z","1.80","21.600000",21600000,false,1]' "all about it in JSON, times in UTC"
like "$err" '"SSH keys":"~/.ssh/id_ed25519.pub"' "with the key in ~/.ssh"
is "$(market GET '/v2/instances' | jq -r '.data[] | select(.name == "eve-0") | .cloud_init_user_data_used')" true "which the node gets"
run_is 5 "a name that is taken" buy -t richmond -d 1h -p 2.10 -y --name eve
run_is 5 "the name of a node that lives" buy -t richmond -d 1h -p 2.10 --dry-run --name eve-0
like "$err" "cannot buy as 'eve-0': a node of 'eve' has that name; '--into' " "is taken, too, and a dry run says so"
for name in localhost all 127.0.0.1 10.1 pool_x vm_1; do
	run_is 2 "the name '$name'" buy -t richmond -d 1h -p 2.10 --dry-run --name "$name"
	like "$err" "cannot use '--name': .*'$name'" "means something else"
done
LONG=$(printf '%058d' 0)
run_is 2 "a name that is too long for host names" buy -t richmond -d 1h -p 2.10 --dry-run --name "${LONG}0"
like "$err" "'0{20}\.\.\.' has 59 characters, and a new reservation's name has at most 58" "says how long it may be"
run_is 0 "one that is not" buy -t richmond -d 1h -p 2.10 --dry-run --name "$LONG"
is "$(intents)" 0 "is an answer: nothing is left unfinished"
run_is 0 "into it" buy -t richmond -d 90m -s @$((FIRST + 2 * HOUR)) -p 3 -y --into eve -q
is "$out $(instances_of eve)" "eve 2" "adds a node to it"
run_is 0 "later time" buy -t richmond -d 1h -s @$((FIRST + 10 * HOUR)) -p 2 -y --into eve
is "$(instances_of eve)" 3 "gets a node of its own, as the others end with their hosts"
run_is 0 "nodes with a name of their own" buy -t richmond -d 1h -s @$((FIRST + 30 * HOUR)) -p 2 -y --into eve --node-name extra
is "$(market GET '/v2/instances' | jq -r '.data[] | select(.name == "extra-0") | .name')" extra-0 "have it, with a number"
run_is 2 "one that means something else" buy -t richmond -d 1h -p 2.10 --dry-run --node-name localhost
like "$err" "cannot use '--node-name': .*'localhost'" "is refused"
run_is 0 "no nodes are wanted" buy -t richmond -d 1h -s @$((FIRST + 48 * HOUR)) -p 2 -y --name bare --no-instances
is "$(instances_of bare)" 0 "and none are started"
run_is 2 "a private key is not sent anywhere" sh -c "printf -- '-----BEGIN OPENSSH PRIVATE KEY-----\n' >k; '$NANOPOD' buy -t richmond -d 1h -p 2 -y --ssh-key k"

# ---- Why not, and what would ----
# Runs the first command of the last hint that contains this.
hinted() { printf '%s\n' "$err" | tr "'" '\n' | grep '^nanopod buy ' | grep -e "$1" | head -n 1 | sed "s|^nanopod|$NANOPOD|"; }
FAR=$((FIRST + 100 * HOUR))
before=$(orders_count) pools=$(pools_count)
run_is 6 "a limit that is too low" buy -t h100 -n 2 -d 4h -s @$FAR -p 1.50 -y
like "$err" "cannot buy 2 nodes of 'richmond' at \\\$1\.50 per GPU-hour: " "what"
like "$err" "-p 1\.80.*would fill" "what would"
is "$(orders_count) $(pools_count) $(intents)" "$before $pools 0" "nothing was ordered, nothing is left"
run_is 0 "and that is true: the price" sh -c "$(hinted '-p 1.80')"
run_is 6 "more nodes than are left" buy -t h100 -n 4 -d 4h -s @$FAR -p 2.00 -y
like "$err" "-n 1" "how many would"
run_is 0 "and that is true: the nodes" sh -c "$(hinted '-n 1')"
run_is 6 "now there are none" buy -t h100 -n 1 -d 4h -s @$FAR -p 2.00 -y
like "$err" " -s " "when there would"
run_is 0 "and that is true: the start" sh -c "$(hinted ' -s ')"
run_is 10 "fewer will do" buy -t h100 -n 4 -d 4h -s @$((FIRST + 150 * HOUR)) -p 2.00 -y --partial -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.nodes, (.node_names | length)]')" '[3,3]' "as many as there are"

# ---- Money ----
run_is 7 "--max-total" buy -t h100 -d 10h -s @$((FIRST + 60 * HOUR)) -p 2 --max-total 100 -y
like "$err" "costs \\\$144\.00, and '--max-total' is \\\$100\.00" "is held to"
run_is 6 "--max-total where nothing is on sale" buy -t h100 -n 9 -d 10h -p 2 --max-total 100 -y
like "$err" "not enough is on sale" "is not the reason"
run_is 6 "nor where what is on sale costs more than the limit" buy -t h100 -n 1 -d 10h -s @$((FIRST + 60 * HOUR)) -p 1.70 --max-total 100 -y
like "$err" "costs more than the limit" "the limit is"
"$NANOPOD" config set spend-max 50
run_is 7 "spend-max" buy -t h100 -d 10h -s @$((FIRST + 60 * HOUR)) -p 2 --max-total 1000 -y
like "$err" "spend-max" "counts where it is smaller"
"$NANOPOD" config unset spend-max
marketd_account poor 10.00
run_is 7 "not enough money" env NANOPOD_TOKEN="$(marketd_token poor)" "$NANOPOD" buy -t h100 -d 10h -s @$((FIRST + 60 * HOUR)) -p 2 -y
is "$(intents)" 0 "nothing is left unfinished"
run_is 0 "a limit beyond the balance" env NANOPOD_TOKEN="$(marketd_token poor)" "$NANOPOD" buy -t cpu -d 1h -p 20 --dry-run
like "$err" 'balance +\$10\.00 now, \$9\.40 afterwards; your limit may take all of it' "takes no more than there is: no balance below zero is shown"

# ---- Standing ----
S=$((FIRST + 200 * HOUR))
run_is 0 "left in the book" buy -t h100 -n 2 -d 2h -s @$S -p 1.50 --standing --no-wait -y -o json
O=$(printf '%s' "$out" | jq -r '.[0].order') R=$(printf '%s' "$out" | jq -r '.[0].reservation')
is "$(printf '%s' "$out" | jq -r '.[0].status') $(market GET "/v2/orders/$O" | jq -r .status)" "standing standing" "it stands there"
like "$err" "nothing fills now" "the plan says so"
run_is 9 "the same command waits on" buy -t h100 -n 2 -d 2h -s @$S -p 1.50 --standing --wait=1s -y
is "$out" "$R" "with the same reservation"
like "$err" "replayed: order '$O'" "and the same order"
like "$err" "the same command again" "and says how to go on"
offer "$(host late-1 "$SKU")" 11.400000 >/dev/null
offer "$(host late-2 "$SKU")" 11.400000 >/dev/null
run_is 0 "once it filled" buy -t h100 -n 2 -d 2h -s @$S -p 1.50 --standing --wait=20s -y
is "$out $(instances_of "$R") $(intents)" "$R 2 0" "its nodes are started, and it is finished"
standing() { market GET '/v2/orders?status=standing' | jq -r '.data[0].id'; }
run_is 0 "another one" buy -t h100 -n 1 -d 2h -s @$S -p 0.10 --standing --no-wait -y -o json
O=$(printf '%s' "$out" | jq -r '.[0].order')
run_is 0 "cancelled" "$NANOPOD" cancel "$O"
is "$(intents)" 0 "and the purchase is over"
unlike "$("$NANOPOD" orders 2>&1)" 'not finished' "which 'orders' knows"
run_is 0 "the same command begins anew" buy -t h100 -n 1 -d 2h -s @$S -p 0.10 --standing -y
like "$err" "order 'ordr_[^']*' is placed and not filled yet; run the same command again to continue" \
	"waits for nothing and says how to go on"
unlike "$err" "$O" "with an order of its own"
unlike "$("$NANOPOD" orders 2>&1)" 'not finished' "and 'orders' does not call it an unfinished purchase"
unlike "$("$NANOPOD" orders --side sell 2>&1)" 'not finished' "nor where it is not listed"
O=$(standing) P=$(pools_count)
as "$ACME" DELETE "/v2/orders/$O" >/dev/null
run_is 0 "cancelled from elsewhere" buy -t h100 -n 1 -d 2h -s @$S -p 0.10 --standing -y
like "$err" "starts over: the order of the unfinished purchase" "it begins anew, too"
is "$(pools_count) $(intents)" "$P 1" "and the empty reservation of the first is gone"
as "$ACME" DELETE "/v2/orders/$(standing)" >/dev/null
unlike "$("$NANOPOD" orders 2>&1)" 'not finished' "'orders' forgets one that was cancelled elsewhere"
is "$(intents)" 0 "for good"

# ---- Once ----
E=$((FIRST + 210 * HOUR))
run_is 2 "--ensure without a name" buy -t h100 -d 1h -p 2.10 -y --ensure
run_is 0 "ensured" buy -t h100 -n 2 -d 1h -s @$E -p 2.10 -y --ensure --name once
like "$err" "next: 'nanopod wait once', 'nanopod show once', 'nanopod extend once -d 12h'" "what to type next is to wait"
before=$(orders_count)
run_is 0 "again" buy -t h100 -n 2 -d 1h -s @$E -p 2.10 -y --ensure --name once -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.reservation, .order, .status, .nodes, .type]')" '["once",null,"pending",2,"richmond"]' "is there already"
run_is 0 "again for people" buy -t h100 -n 2 -d 1h -s @$E -p 2.10 -y --ensure --name once
like "$err" "you have 'once' already: 2 nodes of richmond, pending from .* \(in .*\) until .*; nothing was bought; 'nanopod wait once' waits for it" "is said, with when"
is "$out" once "with the name for scripts"
run_is 0 "with --wait, too short for its start" buy -t h100 -n 2 -d 1h -s @$E -p 2.10 -y --ensure --name once --wait=1s
like "$err" "the nodes of 'once' start in .*h" "it says so and does not wait"
run_is 5 "other nodes" buy -t h100 -n 3 -d 1h -s @$E -p 2.10 -y --ensure --name once
like "$err" "cannot ensure 'once': it has 2 nodes of richmond, not 3 nodes of richmond" "is what differs"
is "$(orders_count)" "$before" "nothing was bought by these"
for i in 1 2 3; do
	buy -t h100 -n 1 -d 1h -s @$((E + 10 * HOUR)) -p 2.10 -y --ensure --name atonce >"$TMP/once$i" 2>&1 &
	eval "once$i=\$!"
done
wait $once1; s1=$?; wait $once2; s2=$?; wait $once3; s3=$?
is "$s1 $s2 $s3" "0 0 0" "three at once succeed" || cat "$TMP"/once[123]
is "$(($(orders_count) - before)) $(instances_of atonce) $(intents)" "1 1 0" "and one of them bought"

# ---- Units and names ----
run_is 0 "per node" buy -t richmond -d 1h -s @$((FIRST + 60 * HOUR)) -p 16.80 --per node -y
like "$err" 'limit \$16\.80 per node-hour' "all prices are"
run_is 0 "interruptible" buy -t richmond -d 1h -s @$((FIRST + 62 * HOUR)) -p 2.10 --interruptible -y
like "$err" "refund +'nanopod release' and an interruption refund all time that is not used" "is said, with its refund"
sku richland 8 '{"accelerator":"h200"}' >/dev/null
run_is 2 "the beginning of two types" buy -t rich -d 1h -p 2 -y
like "$err" 'richmond, richland|richland, richmond' "names both"
run_is 3 "a type with a slip in it" buy -t richmont -d 1h -p 2 -y
like "$err" "no type '.*'; did you mean 'richmond'[?]" "names the nearest"

# ---- On a terminal ----
entered() { run "$PTY" entered "$@"; out=$(erased <"$TMP/.out"); }
if [ -x "$PTY" ]; then
	before=$(orders_count)
	printf 'expect Buy it?\nsend no\\n\n' >no
	run "$PTY" no "$NANOPOD" buy -t richmond -d 1h -s @$((FIRST + 70 * HOUR)) -p 2.10
	is "$status $(orders_count)" "1 $before" "no: nothing is bought"
	like "$out" 'total +\$11\.40 now' "after the plan was shown"
	printf 'expect Buy it?\nsend \\x03\n' >int
	run "$PTY" int "$NANOPOD" buy -t richmond -d 1h -s @$((FIRST + 70 * HOUR)) -p 2.10
	is "$status $(orders_count)" "130 $before" "Ctrl-C at the question: nothing is bought"
	printf 'expect Buy it?\nsend yes\\n\n' >yes
	run "$PTY" yes "$NANOPOD" buy -t richmond -d 1h -s @$((FIRST + 70 * HOUR)) -p 2.10
	is "$status $(orders_count)" "0 $((before + 1))" "yes: it is"
	printf 'expect waits in the book\nsend \\x03\n' >stop
	run "$PTY" stop "$NANOPOD" buy -t richmond -d 1h -s @$((FIRST + 70 * HOUR)) -p 0.20 --standing --wait -y
	is "$status $(market GET '/v2/orders?status=standing' | jq '.data | length')" "130 1" "Ctrl-C while waiting: the order stays"
	before=$(orders_count)
	printf 'expect Type\nsend richmond\\n\nexpect Nodes\nsend 4\\n\nexpect Hours\nsend 4\\n\nexpect Start \nsend no\\n\nexpect Ctrl-C ends\nexpect Nodes\nsend 4\\n\nexpect Hours\nsend 4\\n\nexpect Start \nsend \\n\nexpect fills now\nexpect Limit\nsend 3.5\\n\nexpect Buy it?\nsend no\\n\n' >guided
	run "$PTY" guided "$NANOPOD" buy --no-wait
	is "$status" 1 "what is sold out now is offered for later, until it is taken"
	like "$out" "Start [A-Z].* instead [(]in .*[)]" "with the time"
	like "$(printf '%s' "$out" | tr -d '\r\n')" "buy -t richmond -n 4 -d 4h -s +2027-01-1[0-9T:]*00Z -p 3.5" "and in the words of the command line"
	printf 'expect 1  richmond\nexpect Type\nsend richmond\\n\nexpect Nodes\nsend 99\\n\nexpect Hours\nsend 2\\n\nexpect Not available now\nexpect Nodes\nsend 1\\n\nexpect Hours\nsend 90m\\n\nexpect for 90m: \nexpect Limit\nsend 3.5\\n\nexpect Buy it?\nsend yes\\n\n' >guided
	run "$PTY" guided "$NANOPOD" buy --name led --no-wait
	is "$status $(($(orders_count) - before)) $(instances_of led)" "0 1 1" "without options it asks, and buys what was answered"
	like "$out" "nanopod buy -t richmond -n 1 -d 90m -p 3.5 --name=led --no-wait" "and prints the command line"
	printf 'expect Type\nsend \\n\nexpect Nodes\nsend 3\\n\nexpect Hours, or\nsend \\n\nexpect Limit, in\nsend \\n\nexpect Buy it?\nsend no\\n\n' >entered
	entered "$NANOPOD" buy --name enter
	like "$out" '^    1 +\$49\.80' "times to choose from have their price now"
	like "$out" '^  168 +not on sale' "or are not to be bought"
	like "$out" '^ +3\.00  fills now: \$49\.80' "limits what they buy"
	like "$out" '^ +3\.30  fills, too, if offers become 10 % dearer: up to \$79\.20' "and what they cost at most"
	like "$out" '^ +3\.75  .*25 % dearer: up to \$90\.00' "both that are higher"
	like "$(printf %s "$out" | tr -d '\r\n')" "nanopod buy -t richmond -n 3 -d 1h -p 3.00 --name=enter" "Enter takes the first of each"
	printf 'expect Type\nsend cpu\\n\nexpect Nodes\nsend 1\\n\nexpect Hours, or\nsend 4\\n\nexpect Limit, in\nsend 0.66\\n\nexpect Buy it?\nsend no\\n\n' >entered
	entered "$NANOPOD" buy
	like "$out" '^Limits per node-hour' "nodes without GPUs have limits per node"
	like "$out" '^ +0\.66  fills, too, if offers become 10 % dearer: up to \$2\.64' "of the time that was chosen"
	like "$(printf %s "$out" | tr -d '\r\n')" "nanopod buy -t cpu -n 1 -d 4h -p 0.66" "and they go into the command line"
	printf 'expect Type\nsend \\x03\n' >leave
	run "$PTY" leave "$NANOPOD" buy
	is "$status $(($(orders_count) - before))" "130 1" "Ctrl-C leaves the menu"
	printf 'expect Type\nsend richmond\\n\nexpect Nodes\nsend 1\\n\nexpect Hours\nsend 1\\n\nexpect Limit\nsend 3.5\\n\nexpect Buy it?\nsend yes\\n\n' >guided
	run "$PTY" guided "$NANOPOD" buy --name ledger --no-wait -o yaml
	like "$out" "reservation: ledger" "its result as YAML"
	like "$out" "node_names:" "is all there"
else
	skip "tests/lib/pty is not built"
fi

# A result that could not be printed is printed by the next run, which buys nothing again.
if [ -w /dev/full ]; then
	before=$(orders_count)
	run_is 1 "standard output cannot be written" sh -c '"$NANOPOD" buy -t richmond -d 1h -s +80h -p 2.10 -y >/dev/full'
	is "$(printf '%s\n' "$err" | grep -c 'cannot write to standard output: No space')" 1 "which is said, once"
	run_is 0 "the same command" buy -t richmond -d 1h -s +80h -p 2.10 -y
	like "$err" 'replayed' "tells it"
	is "$(($(orders_count) - before))" 1 "and buys nothing twice"
	before=$(orders_count)
	for form in "-o yaml" "--template={reservation}"; do
		run_is 1 "$form: nor then" sh -c '"$NANOPOD" buy -t richmond -d 1h -s +90h -p 2.10 -y "$@" >/dev/full' sh $form
		is "$(printf '%s\n' "$err" | grep -c 'cannot write to standard output: No space')" 1 "which is said, once"
		run_is 0 "the same command" buy -t richmond -d 1h -s +90h -p 2.10 -y $form
		like "$err" 'replayed' "tells it"
		like "$out" 'r-[a-z0-9]*' "(in that form)"
	done
	is "$(($(orders_count) - before))" 2 "and buys nothing twice"
else
	skip "there is no /dev/full"
fi

# ---- An order whose time passes ----
left=$(intents)
run_is 0 "an order that stands" buy -t h100 -n 1 -d 1h -p 0.10 --standing -y --name past
is "$(intents)" $((left + 1)) "is an unfinished purchase"
clock $((NOW + 7200))
unlike "$("$NANOPOD" orders 2>&1)" "not finished.*--name past" "until its time has passed"
is "$(intents) $(market GET /v2/pools | jq '[.data[] | select(.name == "past")] | length')" "$left 0" "nothing of it is left"

# ---- --ensure waits as a purchase does ----
run_is 0 "a node that nobody starts" buy -t h100 -d 1h -s @$((NOW + 20 * HOUR)) -p 3 -y --name asleep
clock $((NOW + 20 * HOUR + 60))
run_is 9 "its --ensure with --wait" buy -t h100 -d 1h -p 3 -y --name asleep --ensure --wait=1s
like "$err" "you have 'asleep' already: 1 node of richmond, running until .*" "has it"
like "$err" "timed out while waiting: .*'nanopod nodes -r asleep' shows its state" "and tells that it does not run"
is "$out" asleep "with the name for scripts"
run_is 0 "without --wait" buy -t h100 -d 1h -p 3 -y --name asleep --ensure
done_testing
