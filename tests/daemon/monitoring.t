#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The alerts for Prometheus and the boards for Grafana: installed, well formed, each alert fires when it should and not else,
# and every metric and label in them is one of a real market.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/trade.sh"
need jq make
data=$TMP/share
ok "they are installed" make -s -C "$BUILD" monitoringdir="$data" install-dist_monitoringDATA
is "$(ls "$data" | tr '\n' ' ')" "machines.json market.json rules.yaml " "rules and two boards"
rules=$data/rules.yaml

# ---- Boards -----------------------------------------------------------------------------------------
for board in machines market; do
	is "$(jq -r '[.uid, (.schemaVersion | type), (.title | type)] | join(" ")' "$data/$board.json")" "nanopod-$board number string" "$board: a board"
	is "$(jq -c '[.templating.list[] | select(.type == "datasource") | [.name, .query]]' "$data/$board.json")" '[["source","prometheus"]]' \
		"$board: whoever imports it picks the data source"
	ok "$board: has panels" jq -e '.panels | length > 5' "$data/$board.json"
	is "$(jq -c '[.panels[] | select((.targets | length) == 0 or (.title // "") == "" or .gridPos.w == null or
		(.type | IN("stat", "timeseries", "table") | not) or
		([.datasource.uid, .targets[].datasource.uid] | unique) != ["${source}"] or
		([.targets[] | .expr, .refId] | any(. == null or . == "")))  | .title]' "$data/$board.json")" "[]" "$board: each with queries of that source"
	is "$(jq '(.panels | length) - ([.panels[].id] | unique | length)' "$data/$board.json")" 0 "$board: no two have one id"
	is "$(jq -c '[.panels[].gridPos | select(.x + .w > 24)]' "$data/$board.json")" "[]" "$board: none is wider than the page"
	is "$(jq -c '[.panels as $p | range(0; $p | length) as $i | range(0; $i) as $j | $p[$i].gridPos as $a | $p[$j].gridPos as $b |
		select($a.x < $b.x + $b.w and $b.x < $a.x + $a.w and $a.y < $b.y + $b.h and $b.y < $a.y + $a.h) | $p[$i].title]' "$data/$board.json")" \
		"[]" "$board: none lies on another"
done
is "$(jq -r .uid "$data"/*.json | sort | uniq -d)" "" "no two boards have one uid"

# ---- What they ask for, and what a market has ------------------------------------------------------------
trade_start 1
"$NANOPOD" ls >/dev/null 2>&1
operator GET /metrics >"$TMP/metrics"
grep -v '^#' "$TMP/metrics" | sed 's/[{ ].*//' | sort -u >"$TMP/has"
# asked FILE: the names of metrics in it. Boards and rules name alerts in capitals, jobs with a '-', this file's in lower case.
# What agents measure is not the market's: exported.t has its names.
asked() { grep -o 'nanopod_[a-z_]*' "$1" | grep -Ev '^nanopod_(agent_sample|gpu|machine)_' | sort -u; }
for file in rules.yaml machines.json market.json; do
	ok "$file: asks for something" test "$(asked "$data/$file" | wc -l)" -gt 5
	is "$(asked "$data/$file" | comm -23 - "$TMP/has")" "" "$file: every metric is one that a market has"
done
echo 'sum(nanopod_hots) + nanopod_hosts' >"$TMP/wrong"
is "$(asked "$TMP/wrong" | comm -23 - "$TMP/has")" nanopod_hots "(another one is found)"
grep -o '[a-z_]*="[^"]*"' "$TMP/metrics" | sed 's/=.*//' | sort -u >"$TMP/labels"
printf '%s\n' instance job alertname alertstate gpu >>"$TMP/labels"
sort -u -o "$TMP/labels" "$TMP/labels"
labels() { sed 's/\\"/"/g' "$1" | grep -o '[a-z_]*[!=]\{1,2\}~\{0,1\}"' | sed 's/[!=~"]*$//' | grep . | sort -u; }
is "$(echo 'a{state="x",b=~"y",c!="z"}' >"$TMP/wrong"; labels "$TMP/wrong" | comm -23 - "$TMP/labels" | tr '\n' ' ')" "b c " "(labels that it has not are found)"
for file in rules.yaml machines.json market.json; do
	is "$(labels "$data/$file" | comm -23 - "$TMP/labels")" "" "$file: so is every label"
done
for state in up silent; do like "$(cat "$TMP/metrics")" "^nanopod_agents\\{state=\"$state\"\\} " "agents have the state $state"; done
for route in /np/v1/agent/work /np/v1/events /np/v1/speed; do
	is "$(operator GET /openapi.json | jq --arg r $route '.paths | has($r)')" true "$route is a route"
done

# ---- Alerts --------------------------------------------------------------------------------------
sed -n 's/^  - alert: //p' "$rules" >"$TMP/alerts"
ok "there are alerts" test "$(wc -l <"$TMP/alerts")" -gt 10
is "$(sort "$TMP/alerts" | uniq -d)" "" "each has its own name"
is "$(grep -c 'annotations: {summary: ".*", next: ".*"}$' "$rules")" "$(wc -l <"$TMP/alerts")" "each says what is wrong and what to type next"
is "$(grep -c 'labels: {severity: \(critical\|warning\|info\)}$' "$rules")" "$(wc -l <"$TMP/alerts")" "and how bad it is"
cat "$SRC/tests/daemon/monitoring.yml" "$SRC/tests/daemon/monitoring-slow.yml" >"$TMP/tests"
is "$(sed -n 's/.*alertname: \([A-Za-z]*\), exp_alerts: \[\].*/\1/p' "$TMP/tests" | sort)" "$(sort "$TMP/alerts")" "each has a test in which it does not fire"
is "$(sed -n 's/^    alertname: //p' "$TMP/tests" | sort)" "$(sort "$TMP/alerts")" "and one in which it does"
if have promtool; then
	cp "$SRC/tests/daemon/monitoring.yml" "$SRC/tests/daemon/monitoring-slow.yml" "$data"
	ok "promtool: the rules are well formed" promtool check rules "$rules"
	ok "promtool: they do what they say" promtool test rules "$data/monitoring.yml" "$data/monitoring-slow.yml"
	# The tests find a rule that is not what it was. ALERT CHANGE.
	while read -r alert change; do
		sed "$change" "$rules" >"$TMP/rules.yaml"
		not_ok "$alert: $change is a change" cmp -s "$rules" "$TMP/rules.yaml"
		ok "which promtool can read" promtool check rules --lint=none "$TMP/rules.yaml"
		awk -v name="- name: $alert" '/^- name:/ { in_it = $0 == name } !/^- name:/ && !begun || in_it; /^tests:/ { begun = 1 }' \
			"$SRC/tests/daemon/monitoring.yml" >"$TMP/one.yml"
		is "$(grep -c '^- name' "$TMP/one.yml")" 1 "(its test alone)"
		not_ok "and does not pass its test" promtool test rules "$TMP/one.yml"
		cp "$rules" "$TMP/rules.yaml"
		ok "(the rule as it is does)" promtool test rules "$TMP/one.yml"
	done <<-END
		NanopodErrors s/> 0.02$/> 0.2/
		NanopodDiskFull s/< 1e9$/< 1e8/
		NanopodNodeLate s/> 600$/> 500/
		NanopodManyMachinesSilent s/and ignoring (state) delta.*//
		NanopodSoldOut s/ and nanopod_hosts_sold > 0//
		NanopodHostsDown s/for: 15m/for: 10m/
	END
	# The boards' questions as rules: Prometheus reads them.
	for board in machines market; do
		jq '{groups: [{name: "board", rules: [.panels[].targets[].expr | gsub("\\$__rate_interval"; "5m") | {record: "x:y", expr: .}]}]}' \
			"$data/$board.json" >"$TMP/board.yaml"
		run_is 0 "promtool: the questions of $board are well formed" promtool check rules --lint=none "$TMP/board.yaml"
		like "$out" '[0-9][0-9] rules found' "all of them"
	done
	jq '.groups[0].rules[0].expr = "sum(nanopod_ready"' "$TMP/board.yaml" >"$TMP/bad.yaml"
	not_ok "(promtool finds one that is not)" promtool check rules --lint=none "$TMP/bad.yaml"
else
	skip "'promtool' is not installed"
fi
done_testing
