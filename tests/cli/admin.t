#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Running a market from the command line: by the operator's socket, and by a seller's token.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
marketd_start || exit 99
NANOPOD_URL=unix:$MARKETD_SOCKET
admin() { "$NANOPOD" admin "$@"; }

run_is 0 "account add" admin account add alice --floor 50
like "$out" '^alice +acct_[a-z0-9]+ +open +\$0\.00 +-\$50\.00' "shows it"
run_is 5 "a name is taken once" admin account add alice
run_is 0 "credit" admin credit alice 100
is "$out" "\$100.00 to alice; \$100.00 is available" "says what is there then"
run_is 0 "taken back" admin credit alice 25.50 --take-back
is "$out" "\$25.50 taken from alice; \$74.50 is available" "the same way"
for bad in 1,000 12abc -- 0 1e3 ''; do
	run_is 2 "'$bad' is no amount" admin credit alice "$bad"
done
run_is 3 "credit to nobody" admin credit nobody 5
run_is 7 "more than there is" admin credit alice 1000 --take-back
run admin account list -o json
is "$(printf '%s' "$out" | jq -c '[.[] | [.account, .available, .available_micros]]')" '[["alice","74.500000",74500000]]' "account list"
is "$("$NANOPOD" complete -- report usage --account '' | cut -f1) $("$NANOPOD" complete -- alerts --account=al | cut -f1)" "alice --account=alice" \
	"whose names completion offers from then on"
offers() { "$NANOPOD" complete -- admin "$@" | cut -f1 | tr '\n' ' '; }
is "$(offers token list --account '')$(offers announce --account '')$(offers credit '')$(offers grant add x y 5 --sponsor '')" "alice alice alice alice " \
	"to the operator, too"
is "$(offers account '')|$(offers account set '')|$(offers token '')|$(offers credit alice '')" "list add show suspend open set |alice |list revoke alice |" \
	"after each action what it takes"
run admin account list --watch
like "$status $err" "^2 .*only 'admin overview' and 'admin meter' have --watch" "--watch where nothing is watched"
run_is 0 "account suspend" admin account suspend alice
like "$out" suspended "is suspended"
run_is 0 "account open" admin account open alice
run_is 0 "account set" admin account set alice --floor 10
like "$out" '-\$10\.00' "another floor"

run_is 0 "sku add" admin sku add h100 --gpus 8 --property accelerator=h100 --property memory=2TiB --property supports_public_ipv4=yes
run admin sku set h100 --property region=eu-north1 -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.type, .gpus, .gpu, .region]')" '["h100",8,"h100","eu-north1"]' "sku set keeps the others"
run_is 0 "sku add of what is promised" admin sku add cpu --gpus 0 --property num_vcpus=2 --property memory=4GiB --property overcommit=4 \
	--property features=kvm --property inodes=1000000 --property features=rdma -o json
is "$(printf '%s' "$out" | jq -c '.[0] | [.vcpus, .memory, .overcommit]')" '[2,"4294967296",4]' "is what it promises"
is "$(operator GET /v2/instance_skus | jq -c '.data[] | select(.alias == "cpu") | .np_requires')" \
	'{"features":["kvm","rdma"],"inodes":1000000,"overcommit":4}' "and the rest"
run_is 0 "sku set takes one away" admin sku set cpu --property inodes= --property overcommit=2
is "$(operator GET /v2/instance_skus | jq -c '.data[] | select(.alias == "cpu") | .np_requires')" \
	'{"features":["kvm","rdma"],"overcommit":2}' "and keeps the others"
run_is 2 "an overcommit that is none" admin sku set cpu --property overcommit=99
like "$err" "overcommit" "is named"
run_is 2 "sku add without GPUs" admin sku add x
run_is 2 "a property that is none" admin sku set h100 --property colour
run_is 2 "a size that is none" admin sku set h100 --property memory=much

run_is 0 "host add" admin host add rack1 -t h100 --account alice
run_is 2 "host add without a type" admin host add rack2
run_is 0 "offer" admin offer rack1 2.10 --until +3d --account alice -o json
is "$(printf '%s' "$out" | jq -r '.[0].price + " " + .[0].status')" "2.10 standing" "the price is told in the unit it was typed in"
offered=$(printf '%s' "$out" | jq -r '.[0].order')
is "$(operator GET "/v2/orders/$offered?account=alice" | json .limit_price_dollars_per_node_hour)" 16.800000 "dollars per GPU-hour become those of a node"
run_is 5 "what is on sale is not offered twice" admin offer rack1 9 --per node --until +3d --account alice
for bad in 12abc -1 '$' 1.2.3; do
	run_is 2 "'$bad' is no price" admin offer rack1 "$bad" --account alice
done
run_is 2 "a time that is none" admin offer rack1 2 --until '3 hours from now' --account alice
run_is 2 "host down asks" admin host down rack1 --account alice
like "$err" "-y" "or wants to be told"
run_is 0 "host down" admin host down rack1 --account alice --reason 'a fan' -y
like "$err" "sold +nothing" "after a plan"
like "$out" 'down' "is down"
run_is 0 "host up" admin host up rack1 --account alice
run_is 5 "a host on sale is not retired" admin host retire rack1 --account alice
run_is 0 "host add, to be retired" admin host add rack9 -t h100 --account alice
run_is 0 "host retire" admin host retire rack9 --account alice
run admin host list --account alice -q
is "$out" rack1 "host list"

run_is 0 "policy set" admin policy set fee_bps=250 notice_minutes=5
run admin policy --fields setting,value -o csv
is "$(printf '%s\n' "$out" | grep fee)" "fee_bps,250" "policy"
for bad in fee_bps fee_bps=-1 fee_bps=10001 nothing=1 fee_bps=1.5; do
	run_is 2 "policy set $bad" admin policy set $bad
done

# A seller, by token.
seller=$(admin token alice seller --scope read,trade,host -q)
url=$(cat "$TMP/.url")
NANOPOD_TOKEN=$seller NANOPOD_URL=$url run_is 0 "a seller sees the hosts" "$NANOPOD" admin host list -q
is "$out" rack1 "his own"
NANOPOD_TOKEN=$seller NANOPOD_URL=$url run_is 0 "and adds one" "$NANOPOD" admin host add rack3 -t h100
NANOPOD_TOKEN=$seller NANOPOD_URL=$url run_is 4 "but gives no money" "$NANOPOD" admin credit alice 5

run_is 2 "an action that is none" admin frobnicate
like "$err" 'available: overview, account list' "says which there are"
run_is 2 "a near miss" admin account lst
like "$err" "did you mean 'admin account list'" "is told"
run_is 2 "a missing argument" admin credit alice
like "$err" "usage: nanopod admin credit ACCOUNT AMOUNT" "shows the form"

# Money whose answer is lost is given once.
admin account add bob >/dev/null 2>&1
NANOPOD_TOKEN=$(admin token bob root --scope admin -q)
export NANOPOD_TOKEN
NANOPOD_URL=$url
export NANOPOD_URL
trade_between
rule 'cut-after POST /np/v1/accounts'
run_is 8 "defect 5, a credit whose answer is lost: not in the dark here" admin credit bob 100
like "$err" 'may have been done; run the same command again' "defect 5: says so"
rules_off
run_is 0 "defect 5: the same again" admin credit bob 100
like "$err" replayed "defect 5: goes on with the same request"
is "$out" "\$100.00 to bob; \$100.00 is available" "defect 5: one hundred, not two"
run_is 0 "another hundred" admin credit bob 100
is "$out" "\$100.00 to bob; \$200.00 is available" "is another one"
rule 'cut-before POST /np/v1/accounts'
run_is 8 "a credit that never arrived" admin credit bob 7
rules_off
run admin credit bob 7
is "$out" "\$7.00 to bob; \$207.00 is available" "arrives with the next try, once"
run_is 2 "admin alone" "$NANOPOD" admin
like "$err" "^  account add NAME" "lists its actions, one a line"
done_testing
