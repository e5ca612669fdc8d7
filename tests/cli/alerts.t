#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod alerts: the list in each format and at two widths, what it says where nothing is wrong or nothing is known, the
# status for cron, whose things it is about. tests/daemon/alerts.t has the rules. The agent is curl and openssl.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
. "$(dirname "$0")/../lib/npagent.sh"
. "$(dirname "$0")/../lib/trade.sh"
PTY=${TEST_PTY:-$BUILD/tests/lib/pty}
[ -x "$PTY" ] || skip_all "tests/lib/pty is not built"
cd "$TMP" || exit 99
alerts() { "$NANOPOD" alerts "$@"; }

v2_start --rate 0 --agent-silent 86400
NANOPOD_TOKEN=$STRANGER
export NANOPOD_TOKEN
run_is 0 "nothing there" alerts
is "$out|$err" "|nanopod: nothing is wrong with the balance" "who has nothing has a balance"
run_is 0 "in JSON" alerts -o json --fail
is "$out|$err" "[]|" "an empty list is a list, and no failure"

key one
AGT=$(join "$(join_token)" rack1 one m1 | json .id)
AGENT=$(session "$AGT" one 1 m1 | json .token)
as "$AGENT" PUT /np/v1/agent/inventory "$(capacity 416 4398046511104 61572651155456 '16 h100')" >/dev/null
for h in h1 h2; do
	v2_offer "$(as "$AGENT" POST /np/v1/agent/hosts "{\"name\":\"$h\",\"instance_sku\":\"richmond\"}" | tee "$h" | json .id)" 16.80 >/dev/null
done
as "$ACME" POST /v2/orders "$(order buy train 2 $((NOW + 60)) $((NOW + 60 + 2 * HOUR)) 20.0)" >/dev/null
for i in 0 1; do
	as "$ACME" POST /v2/instances "{\"name\":\"train-$i\",\"pool\":\"train\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\"}" | json .id
done >ids
v2_clock $((NOW + 60))
NANOPOD_TOKEN=$ACME
run_is 0 "two nodes, of which nothing is known" alerts
is "$out|$err" "|nanopod: nothing is wrong with the balance
nanopod: 2 nodes send no samples: their GPUs and use are not judged" "are not among what is well"
run alerts -o json
is "$(printf '%s' "$err" | jq -r .warning.message)" "2 nodes send no samples: their GPUs and use are not judged" "programs hear that, too"
run alerts -q
is "$out|$err" "|" "but with -q"

# hot FROM TO TEMPERATURE: of the first node's GPUs and the machine's.
hot() {
	clock $((NOW + $2))
	jq -nc --argjson a $((NOW + $1)) --argjson z $((NOW + $2)) --argjson t "$3" --arg i "$(sed -n 1p ids)" \
		'{samples: [range($a; $z; 60) | {at: ., machine: {cpu: 0.5}, gpus: [{temperature: 50}],
		nodes: [{id: $i, measures: {cpu: 1}, gpus: [range(8) | {use: 0.5, temperature: (if . == 3 then $t else 50 end)}]}]}]}' >samples
	as "$AGENT" POST /np/v1/agent/samples "$(cat samples)" >/dev/null
	is "$(http_status)" 204 "(samples)"
}
hot 60 3000 50
run alerts
is "$err" "nanopod: nothing is wrong with 1 node and the balance
nanopod: 1 node sends no samples: its GPUs and use are not judged" "one node is well, the other one unknown"
hot 3000 3720 90
run_is 0 "a hot GPU, and a reservation that ends soon" alerts -o json
is "$(printf '%s' "$out" | jq -c '[.[] | [.severity, .rule, .kind, .name, .account, .since, .value, .threshold, .unit, .for_seconds]]')" \
	'[["warning","node_gpu_hot","node","train-0","acme","2027-01-15T08:50:00Z",90,87,"celsius",300],["warning","lease_ends","reservation","train","acme","2027-01-15T09:01:00Z",3540,3600,"seconds",0]]' \
	"in JSON, the oldest first"
as "$FOUNDRY" PATCH "/np/v1/hosts/$(json .id <h2)" '{"down":true,"reason":"\u001b[31mred\u202e"}' >/dev/null
clock $((NOW + 3720 + 300))
hot 3720 4020 90
run alerts -q
is "$out" "train-1
train-0
train" "the most severe first; -q is the names"
is "$(alerts -o json 2>/dev/null | jq -r '.[] | select(.rule == "node_gpu_hot") | .since')" 2027-01-15T08:50:00Z "since when, more than a quarter of an hour later"
run alerts -o csv --fields severity,rule
is "$out" "severity,rule
critical,node_away
warning,node_gpu_hot
warning,lease_ends" "csv"
run alerts -o yaml
like "$out" "name: train-1" "yaml"
run alerts --template '{rule}: {text}' --severity critical
like "$status $out" "^0 node_away: its host is down .*refunded$" "a template"
run alerts -o jsonl
is "$(printf '%s\n' "$out" | jq -rs '[.[].next] | join("; ")')" "nanopod replace train-1; nanopod top train-0 -g; nanopod extend train -d 1h" "what to type next"
run alerts --severity critical -q
is "$status $out" "0 train-1" "the critical ones"
run alerts --severity critical --fail -q
is "$status $out" "11 train-1" "11 for cron"

# Thresholds and durations of one's own.
run alerts --threshold node_gpu_hot=91 --threshold lease_ends=2m -q
is "$status $out" "0 train-1" "thresholds: a number, a time"
run alerts --threshold node_idle=60% --for node_idle=20m --for node_away=1h -o json
is "$(printf '%s' "$out" | jq -c '[.[] | select(.rule | IN("node_idle", "node_away")) | [.rule, .threshold, .for_seconds]]')" '[["node_idle",0.6,1200]]' \
	"a percentage; durations"
run alerts --rules --threshold '*_gpu_hot=80' --for node_gpu_hot=10m --for host_down=none -o csv --fields rule,who,threshold,for,value,unit,for_seconds
for row in "node_gpu_hot,customer,80,10m,80,celsius,600" "machine_gpu_hot,provider,80,5m,80,celsius,300" "host_down,provider,,none,,none,0" \
	"node_disk,customer,90%,10m,0.9,ratio,600" "lease_ends,customer,1h,none,3600,seconds," "balance_low,customer,1d,none,86400,seconds,"; do
	like "$out" "^$row$" "--rules has $row"
done
printf 'alert-threshold: [node_gpu_hot=91, lease_ends=1m]\nalert-for: [node_away=1h]\n' >own.yaml
run alerts --config own.yaml -q
is "$status $out" "0 " "kept in the settings"
run alerts --config own.yaml --threshold node_gpu_hot=90 -q
is "$status $out" "0 train-0
train" "which an option replaces"
NANOPOD_ALERT_FOR=node_away=1h run alerts -q
is "$status $out" "0 train-0
train" "or the environment"
mkdir theirs
printf 'alert-threshold: [node_gpu_hot=91]\n' >theirs/.nanopod.yaml
run sh -c 'cd theirs && "$1" alerts' sh "$NANOPOD"
like "$err" "'alert-threshold' in .* is ignored" "no folder's file silences"
like "$out" "node_gpu_hot" "any alert"
for bad in "--threshold node_gpu_hot|RULE=VALUE is required, e.g. node_gpu_hot=80" "--threshold node_gpu_hot=warm|cannot use" "--for node_gpu_hot=80|cannot use" \
	"--for node_gpu_hot|RULE=DURATION is required" "--for a&b=1h|no rule 'a&b'; 'nanopod alerts --rules'" "--threshold node_gpu_hot=80%x|cannot use" "--rules --to mail:a@b|exclude each other" \
	"--rules --severity critical|--rules and --severity exclude each other" "--rules --silence x|exclude each other" \
	"--rules --fail|exclude each other"; do
	run alerts ${bad%%|*}
	like "$status $err" "^2 .*${bad#*|}" "${bad%%|*}"
done
run alerts --threshold no_rule=1
like "$status $err" "^2 .*no rule 'no_rule'; 'nanopod alerts --rules' lists them" "a rule that is none"
run alerts --threshold node_gpu_hott=80
like "$status $err" "^2 .*no rule 'node_gpu_hott'; did you mean 'node_gpu_hot'[?] 'nanopod alerts --rules' lists them" "a typing slip"
run alerts --threshold machine_disk=95
like "$status $err" "^2 .*a percentage or ratio, such as 95% or 0.95" "95 is no part of a disk"
for bad in node_gpu_hot=1m node_gpu_hot=8000% '*_gpu_hot=90s'; do
	run alerts --threshold "$bad"
	like "$status $err" "^2 .*_gpu_hot' is degrees Celsius, from 1 to 200" "$bad is no temperature"
done
run alerts --threshold lease_ends=95%
like "$status $err" "^2 .*'lease_ends' is a time, from 60s" "nor 95% a time"
run_is 2 "a severity that is none" alerts --severity bad

# What people see.
seen() {
	printf 'size %s 40\nsend go\\n\n' "$1" >script
	"$PTY" script sh -c 'stty -echo; read go; exec "$@"' sh "$NANOPOD" alerts 2>pty.err | erased | sed '1{/^go$/d;}' >screen
}
for columns in 40 80; do
	seen $columns
	ok "no line is wider than $columns columns" [ "$(LC_ALL=C.UTF-8 wc -L <screen)" -le $columns ]
	for text in critical train-1 'GPU 3: 90 degrees' 'nanopod replace train-1' 'is not judged\|are not judged'; do
		ok "it shows '$text' at $columns columns" sh -c 'tr "\n" " " <screen | tr -s " " | grep -q "$0"' "$text"
	done
	ok "and no word of an owner controls the terminal" sh -c '! grep -q "31mred" screen || ! grep -q "$(printf "\\033")\[31mred" screen'
done
alerts >piped 2>/dev/null
ok "nor wider than 80 in a file or a mail" [ "$(LC_ALL=C.UTF-8 wc -L <piped)" -le 80 ]
ok "which has what to type next" grep -q '^  next: nanopod replace train-1' piped
ok "-o wide has a line an alert" [ "$(alerts -o wide 2>/dev/null | wc -l)" -eq $(($(alerts -q 2>/dev/null | wc -l) + 1)) ]
[ -z "${SHOW-}" ] || for columns in 40 80 120; do seen $columns; sed 's/^/# /' screen; done

# Whose.
NANOPOD_TOKEN=$STRANGER
run alerts
is "$out|$err" "|nanopod: nothing is wrong with the balance" "a stranger sees none of it"
NANOPOD_TOKEN=$FOUNDRY
run alerts
is "$out|$err" "|nanopod: nothing is wrong with 1 machine, 2 hosts and the balance" "an owner's own; a host is down for less than a quarter of an hour"
run_is 4 "of another account" alerts --account acme
run env -u NANOPOD_TOKEN NANOPOD_URL="unix:$MARKETD_SOCKET" "$NANOPOD" alerts --account acme -q
is "$status $out" "0 train-1
train-0
train" "the operator sees an account's"
run env -u NANOPOD_TOKEN NANOPOD_URL="unix:$MARKETD_SOCKET" "$NANOPOD" alerts --severity critical
like "$out" "acme" "and of all accounts, whose"

# A market that is none of ours, and one of an earlier version.
NANOPOD_TOKEN=$ACME
trade_between plain
rule 'status=404 GET /np/v1/alerts'
run alerts
is "$status" 3 "a market without alerts"
rules_off
rule 'status=404 GET /np/v1'
run_is 1 "a market that is none of ours" alerts
like "$err" "is not a nanopod market" "is told so"
done_testing
