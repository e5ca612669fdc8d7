# SPDX-License-Identifier: Apache-2.0
# A market to buy in, for tests of the command line, after tap.sh and marketd.sh:
#     trade_start [HOSTS]     a market on a test clock at $NOW with so many hosts (3) at $1.80 per GPU-hour, one at $3.00
#     trade_between [plain]   puts tests/lib/between in front of it; `rule LINE…` and `rules_off` change what it does
# nanopod is signed in as acme, who has $100,000 and a public key in ~/.ssh; the hosts are foundry's. $ACME and $FOUNDRY are their tokens, $SKU is the
# type's id (richmond: 8 h100). $NOW is Fri 15 Jan 2027 08:00:00 UTC.

need jq
NOW=1800000000 HOUR=3600

# clock SECONDS: sets the clock of the market.
clock() { operator POST /np/v1/admin/clock "{\"at\":$1}" >"$TMP/.clock"; }

# sku ALIAS GPUS PROPERTIES; host NAME SKU (for thirty days); offer HOST PRICE (for ten): each prints its id.
sku() { operator POST /np/v1/skus "{\"alias\":\"$1\",\"gpus\":$2,\"properties\":$3}" | json .id; }
host() {
	NANOPOD_URL=${MARKET_URL:-$NANOPOD_URL} as "$FOUNDRY" POST /np/v1/hosts \
		"{\"name\":\"$1\",\"instance_sku\":\"$2\",\"start_at\":$NOW,\"end_at\":$((NOW + 2592000))}" | json .id
}
offer() {
	NANOPOD_URL=${MARKET_URL:-$NANOPOD_URL} as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" \
		"{\"price_dollars_per_node_hour\":\"$2\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 864000))}" | json .id
}

trade_start() {
	marketd_start --test-clock=$NOW || exit 1
	SKU=$(sku richmond 8 '{"accelerator":"h100","form_factor":"sxm","region":"europe-north1"}')
	marketd_account acme 100000.00
	marketd_account foundry
	ACME=$(marketd_token acme)
	FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
	trade_i=0
	while [ $trade_i -lt "${1-3}" ]; do
		trade_i=$((trade_i + 1))
		offer "$(host "cheap-$trade_i" "$SKU")" 14.400000 >/dev/null
	done
	offer "$(host dear "$SKU")" 24.000000 >/dev/null
	NANOPOD_TOKEN=$ACME
	export NANOPOD_TOKEN
	mkdir -p "$HOME/.ssh"
	echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ me "and\ you"' >"$HOME/.ssh/id_ed25519.pub"
}

BETWEEN=${TEST_BETWEEN:-$BUILD/tests/lib/between}
RULES=$TMP/rules BETWEEN_LOG=$TMP/between.log

trade_between() {
	[ -x "$BETWEEN" ] || skip_all "tests/lib/between is not built"
	: >"$RULES"; : >"$BETWEEN_LOG"; : >"$TMP/port"
	if [ "${1-}" = plain ]; then
		BETWEEN_PLAIN=1 "$BETWEEN" "$TMP/port" "${NANOPOD_URL##*:}" "$RULES" "$BETWEEN_LOG" &
	else
		"$BETWEEN" "$TMP/port" "${NANOPOD_URL##*:}" "$RULES" "$BETWEEN_LOG" &
	fi
	BETWEEN_PID=$!
	at_exit "kill $BETWEEN_PID 2>/dev/null"
	wait_for 10 test -s "$TMP/port"
	MARKET_URL=$NANOPOD_URL
	NANOPOD_URL=http://127.0.0.1:$(cat "$TMP/port")
}

# rule LINE…: replaces the rules.
rule() { printf '%s\n' "$@" >"$RULES.new" && mv "$RULES.new" "$RULES"; }
rules_off() { : >"$RULES.new" && mv "$RULES.new" "$RULES"; }
asked() { grep -c "^$1 $2" "$BETWEEN_LOG"; }

# What the market itself says, past whatever is in front of it.
market() { NANOPOD_URL=${MARKET_URL:-$NANOPOD_URL} as "$ACME" "$@"; }
orders_count() { market GET '/v2/orders?limit=200' | jq '.data | length'; }
filled_count() { market GET '/v2/orders?limit=200&status=filled' | jq '.data | length'; }
pools_count() { market GET '/v2/pools?limit=200' | jq '.data | length'; }
instances_of() { market GET '/v2/instances?limit=200' | jq -r --arg p "$1" '[.data[] | select(.pool.name == $p)] | length'; }
balance_now() { market GET /np/v1/balance | jq -r .available_micros; }

intents() { ls "$HOME/.local/state/nanopod/intents" 2>/dev/null | grep -c .; }
