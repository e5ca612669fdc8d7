# SPDX-License-Identifier: Apache-2.0
# Agents of a market, after tap.sh and marketd.sh:
#     agentd_market [OPTION…]      starts a market on a test clock at $NOW: acme buys ($ACME), foundry has hosts
#                                  ($FOUNDRY), SKU 'cpu' ($SKU)
#     agentd_join NAME N [OPTION…]   joins the machine $TMP/NAME with N hosts, offered for ten days from the next minute
#     agentd_start NAME [OPTION…]  starts its agent ($AGENTD_PID, $TMP/NAME.log); agentd_stop, agentd_kill NAME
#     agentd_buy POOL N SECONDS    buys N nodes for acme from the next minute on, moves the clock there, and makes the
#                                  instances POOL-1…
# $AGENTD is the program: nanopod-agentd, or tests/lib/agentfake, whose driver 'fake' makes nodes of nothing.

AGENTD=${TEST_AGENTD:-$BUILD/nanopod-agentd}
need jq ssh-keygen
[ -x "$AGENTD" ] || skip_all "nanopod-agentd is not built"
NOW=1800000000
. "$SRC/tests/lib/ports.sh"
NANOPOD_LIBEXEC=$BUILD
export NANOPOD_LIBEXEC

# agentd_time SECONDS: sets the time for agents.
agentd_time() { printf '%s\n' "$1" >"$TMP/clock.new" && mv "$TMP/clock.new" "$TMP/clock"; }

# agentd_clock SECONDS: sets the time for the market and for agents.
agentd_clock() {
	agentd_time "$1"
	operator POST /np/v1/admin/clock "{\"at\":$1}" >"$TMP/.clock"
}

agentd_market() {
	printf '%s\n' $NOW >"$TMP/clock"
	marketd_start --test-clock=$NOW --rate 0 "$@" || exit 1
	SKU=$(operator POST /np/v1/skus '{"alias":"cpu","gpus":0,"properties":{"accelerator":"none"}}' | json .id)
	marketd_account acme 100000.00
	marketd_account foundry
	ACME=$(marketd_token acme)
	FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
	ssh-keygen -q -t ed25519 -N '' -C buyer -f "$TMP/buyer"
}

agentd_token() { as "$FOUNDRY" POST /np/v1/tokens '{"scopes":["join"]}' | json .token; }

agentd_join() {
	agentd_name=$1 agentd_nodes=$2
	shift 2
	agentd_token | "$AGENTD" --data "$TMP/$agentd_name" join "${AGENTD_URL:-$NANOPOD_URL}" --name "$agentd_name" \
		--type cpu --nodes "$agentd_nodes" --json "$@" >"$TMP/$agentd_name.joined" 2>"$TMP/$agentd_name.err" ||
		{ fail "($agentd_name joins)"; sed 's/^/# /' "$TMP/$agentd_name.err"; return 1; }
	for agentd_host in $(json '.hosts[].id' <"$TMP/$agentd_name.joined"); do
		as "$FOUNDRY" POST "/np/v1/hosts/$agentd_host/offers" \
			"{\"price_dollars_per_node_hour\":\"1.500000\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 864000))}" >"$TMP/.offer"
	done
}

agentd_ready() { grep -q 'nanopod-agentd: ready' "$TMP/$1.log"; }

agentd_start() {
	agentd_name=$1
	shift
	[ ! -e "$TMP/$agentd_name.log" ] || cat "$TMP/$agentd_name.log" >>"$TMP/$agentd_name.before"
	: >"$TMP/$agentd_name.log"
	"$AGENTD" --data "$TMP/$agentd_name" --test-clock "$TMP/clock" --look 1 "$@" 2>>"$TMP/$agentd_name.log" \
		</dev/null &
	AGENTD_PID=$!
	echo $AGENTD_PID >"$TMP/$agentd_name.pid"
	wait_for 20 agentd_ready "$agentd_name" && return
	fail "($agentd_name starts)"
	sed 's/^/# /' "$TMP/$agentd_name.log"
	return 1
}

# agentd_end NAME SIGNAL: $agentd_status is its exit status.
agentd_end() {
	agentd_status=0
	agentd_pid=$(cat "$TMP/$1.pid" 2>/dev/null) || return 0
	kill "-$2" "$agentd_pid" 2>/dev/null
	wait "$agentd_pid" 2>/dev/null || agentd_status=$?
	rm -f "$TMP/$1.pid"
}
agentd_stop() { agentd_end "$1" TERM; }
agentd_kill() { agentd_end "$1" KILL; }

# Ends everything that runs, nodes included.
agentd_end_all() {
	for agentd_file in "$TMP"/*.pid; do
		[ -e "$agentd_file" ] || continue
		agentd_file=${agentd_file##*/}
		agentd_stop "${agentd_file%.pid}"
	done
	for agentd_file in "$TMP"/*/agent.json; do
		[ ! -e "$agentd_file" ] || "$AGENTD" --data "${agentd_file%/agent.json}" halt --destroy >/dev/null 2>&1
	done
}
at_exit agentd_end_all

# agentd_status NAME FILTER: jq on the JSON of 'status'.
agentd_status() { "$AGENTD" --data "$TMP/$1" status --json 2>/dev/null | jq -r "$2"; }

# user_data KEYFILE…: cloud-config with those public keys, in base64.
user_data() {
	{ printf '#cloud-config\nssh_authorized_keys:\n'; for user_data_key; do sed 's/^/  - /' "$user_data_key"; done; } | base64 -w0
}

agentd_buy() {
	agentd_now=$(cat "$TMP/clock")
	agentd_start_at=$((agentd_now / 60 * 60 + 60))
	as "$ACME" POST /v2/pools "{\"name\":\"$1\",\"workspace\":\"default\"}" >"$TMP/.pool"
	as "$ACME" POST /v2/orders "{\"pool\":\"$1\",\"side\":\"buy\",\"instance_sku\":\"$SKU\",\"allocation_schedule_delta\":[{\"start_at\":$agentd_start_at,\"end_at\":$((agentd_start_at + $3)),\"node_count\":$2}],\"limit_price_dollars_per_node_hour\":\"2.000000\"}" >"$TMP/.order"
	[ "$(http_status)" = 201 ] || [ "$(http_status)" = 200 ] || diag "$(cat "$TMP/.order")"
	agentd_i=1
	while [ $agentd_i -le "$2" ]; do
		as "$ACME" POST /v2/instances "{\"name\":\"$1-$agentd_i\",\"pool\":\"$1\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"${USER_DATA-$(user_data "$TMP/buyer.pub")}\"}" >"$TMP/.instance"
		case $(http_status) in 2*) ;; *) diag "$(cat "$TMP/.instance")" ;; esac
		agentd_i=$((agentd_i + 1))
	done
	agentd_clock $agentd_start_at
}

# node NAME FILTER: jq on GET /np/v1/nodes/NAME.
node() { as "$ACME" GET "/np/v1/nodes/$1" | jq -r "$2"; }
node_is() { [ "$(node "$1" .status)" = "$2" ]; }
