#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A machine without GPUs whose own files say that it has eight h100: the door believes them, its measurements do not
# lead anywhere. And a machine that is what it says. Real marketd and agentd, on a clock that the test moves.
# The honest one has its disk in memory where there is room: a busy disk is slower than an offer may be.
room=$(df -Pm /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
[ "${room:-0}" -lt 1024 ] || [ ! -w /dev/shm ] || export TMPDIR=/dev/shm
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"

# unpack TREE DIR: the files of a machine below $TMP/DIR, by the format of tests/fixtures/sysfs.
unpack() {
	grep -v '^#' "$SRC/tests/fixtures/sysfs/$1.tree" | while IFS=$'\t' read -r path content; do
		words='@'
		[[ $path =~ \{([^}]*)\} ]] && words=${BASH_REMATCH[1]//,/ }
		for word in $words; do
			file=$TMP/$2/${path/\{*\}/$word}
			text=${content//@/$word}
			if [[ $path == */ ]]; then
				mkdir -p "$file"
			elif [[ $text == '-> '* ]]; then
				mkdir -p "${file%/*}" && ln -sfn "${text#-> }" "$file"
			else
				mkdir -p "${file%/*}" && printf '%b\n' "$text" >"$file"
			fi
		done
	done
}
unpack h100-sxm8 tree

agentd_market
sku() { operator POST /np/v1/skus "{\"alias\":\"$1\",\"gpus\":$2,\"properties\":{$3\"requires\":{\"verified\":true}}}" >"$TMP/.sku"; }
sku h100 8 '"accelerator":"h100",'
sku sure 0 ''
join() { agentd_token | "$AGENTD" --data "$TMP/$1" "${@:3}" join "$NANOPOD_URL" --name "$1" --type "$2" --nodes 1 --json >"$TMP/$1.joined" 2>"$TMP/$1.err"; }
join liar-1 h100 --driver process
like "$(cat "$TMP/liar-1.err")" "GPU" "as it is, the door refuses it"
join liar h100 --driver host --sysfs-root "$TMP/tree" || sed 's/^/# /' "$TMP/liar.err"
L=$(json '.hosts[0].id' <"$TMP/liar.joined")
like "$L" '^host_' "with the files of another machine it comes in"
join honest sure --driver process || sed 's/^/# /' "$TMP/honest.err"
H=$(json '.hosts[0].id' <"$TMP/honest.joined")
offer() { as "$FOUNDRY" POST "/np/v1/hosts/$1/offers" '{"price_dollars_per_node_hour":"0.60"}' | json .status; }
is "$(offer "$L") $(offer "$H")" "standing standing" "both are on sale, and the liar is the cheapest of all"
offers() { curl -sS -H "Authorization: Bearer $ACME" "$NANOPOD_URL/np/v1/offers?instance_sku=$1${2-}" | jq -c '[.data[].verification.state]'; }
is "$(offers h100) $(offers sure)" '[] []' "neither leads the book before it has proven anything"

state() { as "$FOUNDRY" GET "/np/v1/hosts/$1" | json .verification.state; }
proven() { [ "$(state "$1")" = "$2" ]; }
agentd_start honest --driver process
wait_for 120 proven "$H" verified; is "$(state "$H")" verified "the honest one measures itself, signed, for the market's nonce"
is "$(offers sure)" '["verified"]' "and is in the book"
like "$(as "$FOUNDRY" GET "/np/v1/hosts/$H" | jq -r '.verification.measured[] | select(.check == "disk write") | "\(.median) \(.unit)"')" '^[0-9]+ MB/s$' "with what it measured"
agentd_start liar --driver host --sysfs-root "$TMP/tree"
wait_for 120 proven "$L" failed; is "$(state "$L")" failed "the liar measures itself, too"
like "$(as "$FOUNDRY" GET "/np/v1/hosts/$L" | json .verification.reason)" "gpu" "and nothing in it computes"
is "$(offers h100)" '[]' "it never leads the book"
is "$(offers h100 '&unverified=true')" '["failed"]' "but for who asks for such hosts, and they see it"
quote() { as "$ACME" POST /np/v1/quote "{\"side\":\"buy\",\"instance_sku\":\"h100\",\"limit_price_dollars_per_node_hour\":\"99.00\",\"allocation_schedule_delta\":[{\"start_at\":$((NOW + 60)),\"end_at\":$((NOW + 3660)),\"node_count\":1}]${1-}}" | json .fills; }
is "$(quote) $(quote ',"np_unverified":true')" "false true" "nobody buys it unknowing"
ok "its own log says why" wait_for 60 grep -q "host 'liar.*' is not proven: gpu" "$TMP/liar.log"

# A machine with two cards of NVIDIA's that are in no table, with CUDA and no library of OpenCL.
unpack cpu-only cards
for card in 0000:01:00.0 0000:02:00.0; do
	at=$TMP/cards/sys/bus/pci/devices/$card
	mkdir -p "$at/power" && ln -s ../nvidia "$at/driver"
	for file in vendor=0x10de device=0xffff class=0x030200 power_state=D0 power/runtime_status=active; do
		echo "${file#*=}" >"$at/${file%%=*}"
	done
done
mkdir "$TMP/lib"
ln -s "$BUILD/tests/lib/.libs/fakecuda.so" "$TMP/lib/libcuda.so.1"
sku cards 2 '"accelerator":"nvidia-10de:ffff",'
join cuda cards --driver host --sysfs-root "$TMP/cards" || sed 's/^/# /' "$TMP/cuda.err"
C=$(json '.hosts[0].id' <"$TMP/cuda.joined")
offer "$C" >"$TMP/.offered"
LD_LIBRARY_PATH=$TMP/lib FAKE_CUDA=good agentd_start cuda --driver host --sysfs-root "$TMP/cards"
wait_for 120 proven "$C" verified; is "$(state "$C")" verified "a machine without OpenCL proves its GPUs by CUDA"
is "$(as "$FOUNDRY" GET "/np/v1/hosts/$C" | jq -r '[.verification.measured[] | select(.check | endswith(" sums")) | "\(.check) \(.device)"] | join(", ")')" \
	"gpu 0 sums 0000:01:00.0, gpu 1 sums 0000:02:00.0" "each at its place"
is "$(offers cards)" '["verified"]' "and is in the book"
agentd_stop cuda

# What was proven ends, and a machine on which nothing is sold proves it again before.
until=$(as "$FOUNDRY" GET "/np/v1/hosts/$H" | json .verification.until)
later() { [ "$(as "$FOUNDRY" GET "/np/v1/hosts/$H" | json .verification.until)" -gt "$until" ]; }
agentd_clock $((until - 3600))
wait_for 180 later; later && pass "before its proof ends, it measures itself again" || fail "before its proof ends, it measures itself again"
agentd_stop honest
agentd_stop liar
done_testing
