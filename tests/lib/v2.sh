# SPDX-License-Identifier: Apache-2.0
# A market with hosts on sale, for tests of /v2, after tap.sh and marketd.sh:
#     v2_start            on a test clock at $NOW; accounts acme (money, a pool 'train'), foundry (hosts), stranger (money)
# $ACME, $FOUNDRY, $STRANGER are their tokens; $SKU is h100 in 'richmond'; foundry's pool of hosts is 'hosts-richmond'.

need jq
[ -x "$BUILD/tests/daemon/fits" ] || skip_all "tests/daemon/fits is not built"
NOW=1800000000 HOUR=3600

# v2_clock SECONDS: what time it is for the market.
v2_clock() { operator POST /np/v1/admin/clock "{\"at\":$1}" >"$TMP/.clock"; }

# v2_sku ALIAS GPUS PROPERTIES: makes one, prints its id.
v2_sku() { operator POST /np/v1/skus "{\"alias\":\"$1\",\"gpus\":$2,\"properties\":$3}" | json .id; }

# v2_host NAME SKU [SECONDS]: foundry registers one for thirty days (or so long); prints its id.
v2_host() {
	as "$FOUNDRY" POST /np/v1/hosts \
		"{\"name\":\"$1\",\"instance_sku\":\"$2\",\"start_at\":$NOW,\"end_at\":$((NOW + ${3:-2592000}))}" | json .id
}

# v2_offer HOST PRICE [SECONDS]: puts it on sale for ten days (or so long); prints the order's id.
v2_offer() {
	as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" \
		"{\"price_dollars_per_node_hour\":\"$2\",\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + ${3:-864000}))}" | json .id
}

v2_start() {
	marketd_start --test-clock=$NOW "$@" || exit 1
	SKU=$(v2_sku richmond 8 '{"accelerator":"h100","form_factor":"sxm","region":"europe-north1","availability_zone":"a",
		"rdma_type":"infiniband","num_vcpus":208,"memory":2199023255552,"local_storage":30786325577728,"supports_public_ipv4":true}')
	marketd_account acme 100000.00
	marketd_account foundry
	marketd_account stranger 100000.00
	ACME=$(marketd_token acme)
	FOUNDRY=$(marketd_token foundry read trade nodes tokens host)
	STRANGER=$(marketd_token stranger)
	as "$ACME" POST /v2/pools '{"name":"train","workspace":"default"}' >"$TMP/.pool"
	POOL=$(json .id <"$TMP/.pool")
}

# order SIDE POOL NODES START END PRICE [MORE]: the body of an order.
order() {
	printf '{"pool":"%s","side":"%s","instance_sku":"%s","allocation_schedule_delta":[{"start_at":%s,"end_at":%s,"node_count":%s}],' \
		"$2" "$1" "$SKU" "$4" "$5" "$3"
	printf '"limit_price_dollars_per_node_hour":"%s"%s}' "$6" "${7-}"
}

# shape NAME JSON TEXT: every field that SF Compute's document promises and no other but np_…; and whole as our own document says.
shape() {
	shape_want=$(sed -n "s/^$1 //p" "$SRC/tests/daemon/v2.shapes")
	[ -n "$shape_want" ] || { fail "$3: no shape '$1'"; return; }
	[ -s "$TMP/openapi.json" ] || curl -sS --max-time 60 "$NANOPOD_URL/openapi.json" >"$TMP/openapi.json"
	shape_why=$(printf '%s' "$2" | "$BUILD/tests/daemon/fits" "$TMP/openapi.json" "$1" 2>&1)
	is "$shape_why$(printf '%s' "$2" | jq -r --arg want "$shape_want" '($want | split(" ")) as $w | ($w | map(rtrimstr("!"))) as $all |
		if type != "object" then "not an object: \(tojson)" else keys_unsorted as $has |
		([$w[] | select(endswith("!")) | rtrimstr("!")] - $has | map("missing " + .)) +
		(($has | map(select(startswith("np_") | not))) - $all | map("unknown " + .)) | join(", ") end' 2>&1)" "" "$3"
}

# refused STATUS CODE [FIELD] TEXT JSON: the last answer said no in that way.
refused() {
	refused_status=$1 refused_code=$2 refused_field=$3
	is "$(http_status) $(printf '%s' "$5" | jq -r '.error.code') $(printf '%s' "$5" | jq -r '[.error.details[].field] | join(",")')" \
		"$refused_status $refused_code $refused_field" "$4"
}

# pages TOKEN PATH LIMIT: the names (ids of what has none) of a whole list, page by page forwards, one a line, in $out.
# The cursor of the last page is in $pages_last, how many there were in $pages_count.
pages() {
	pages_cursor='' pages_count=0 pages_sep='?'
	case $2 in *\?*) pages_sep='&' ;; esac
	: >"$TMP/.pages"
	while :; do
		as "$1" GET "$2${pages_sep}limit=$3${pages_cursor:+&starting_after=$pages_cursor}" >"$TMP/.page"
		jq -r '.data[] | .name // .key.name // .id // .instance_sku.alias' "$TMP/.page" >>"$TMP/.pages"
		pages_count=$((pages_count + 1))
		pages_cursor=$(json .cursor <"$TMP/.page")
		[ "$(json .has_more <"$TMP/.page")" = true ] && [ $pages_count -lt 200 ] || break
	done
	pages_last=$pages_cursor
	out=$(cat "$TMP/.pages")
}

# pages_back TOKEN PATH LIMIT CURSOR: the same the other way, what is before the cursor; $out in the list's order.
pages_back() {
	pages_cursor=$4 pages_count=0 pages_sep='?' out=''
	case $2 in *\?*) pages_sep='&' ;; esac
	while :; do
		as "$1" GET "$2${pages_sep}limit=$3&ending_before=$pages_cursor" >"$TMP/.page"
		out="$(jq -r '.data[] | .name // .key.name // .id // .instance_sku.alias' "$TMP/.page")${out:+
$out}"
		pages_count=$((pages_count + 1))
		pages_cursor=$(json .cursor <"$TMP/.page")
		[ "$(json .has_more <"$TMP/.page")" = true ] && [ $pages_count -lt 200 ] || break
	done
}
