#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod alerts --to: each alert that begins and ends is told in order, with an id that stays, until it is accepted, by a
# receiver that fails in every way, and whenever nanopod is killed; mail, Alertmanager, silences. Hosts that drain are the alerts.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/v2.sh"
need python3 jq
cd "$TMP" || exit 99
v2_start --rate 0 --agent-silent 86400
NANOPOD_TOKEN=$FOUNDRY NANOPOD_ALERT_SECRET=s3cret
export NANOPOD_TOKEN NANOPOD_ALERT_SECRET
for h in h1 h2 h3; do v2_host $h richmond >$h; done
drains() { for h; do as "$FOUNDRY" POST "/np/v1/hosts/$(cat "$h")/drain" "{\"reason\":\"fans\"}" >/dev/null; done; }
undrains() { for h; do as "$FOUNDRY" POST "/np/v1/hosts/$(cat "$h")/undrain" >/dev/null; done; }
mode() { echo "$1" >mode.new && mv mode.new mode; }
mode ok
python3 "$SRC/tests/cli/alertsink.py" . "$NANOPOD_ALERT_SECRET" 2>sink.err & sink=$!
at_exit "kill $sink"
wait_for 60 test -s port || { diag "$(cat sink.err)"; fail "(a receiver)"; done_testing; exit; }
HOOK=http://127.0.0.1:$(cat port)/hooks/T0K3N?a=b
send() { timeout -k 5 60 "$NANOPOD" alerts --to "$HOOK" "$@"; }
# What was told since the last call, without ids.
told() { cut -d' ' -f1,3- log 2>/dev/null | sed 's/host_draining //; s/ signed//'; cat log >>all 2>/dev/null; : >log; }

run_is 0 "nothing is wrong" send
is "$out|$err|$(told)" "||" "and nothing is told"
drains h1 h2
run_is 0 "two hosts go out of service" send
like "$err" "nanopod: info host_draining h1: it is going|out of service .fans." "it says what it tells"
is "$(told)" "ok 1 firing h1
ok 1 firing h2" "each is an event, signed"
is "$(jq -c '[.object, .event, .alert.severity, .alert.subject.kind, .alert.subject.id, .alert.subject.account, .alert.ended_at, .market]' last)" \
	"[\"alert_event\",\"firing\",\"info\",\"host\",\"$(cat h2)\",\"foundry\",null,\"$NANOPOD_URL\"]" "in JSON"
like "$(jq -r .text last)" "^info host_draining h2: it is .*fans" "with a sentence that chats show"
run_is 0 "again" send
is "$(told)" "" "tells nothing twice"
is "$(stat -c %a "$HOME"/.local/state/nanopod/alerts/* | sort -u)" 600 "nobody else may read what it keeps"
unlike "$(cat "$HOME"/.local/state/nanopod/alerts/*)" "T0K3N|s3cret" "which has neither secret"
drains h3; undrains h1
run_is 0 "one more, and one that ends" send
is "$(told)" "ok 1 firing h3
ok 1 resolved h1" "both are told"
is "$(jq -r '.alert.id' last)" "$(sed -n 1p all | cut -d' ' -f2)" "the end names the alert that ended"

# ---- Receivers that fail ----------------------------------------------------------------------------------------
undrains h2 h3; drains h1
attempt=0
for how in 500 close half redirect 404; do
	mode $how
	run_is 8 "a receiver that does this: $how" send
	attempt=$((attempt + 1))
	is "$(told)" "$how $attempt firing h1" "gets the first event alone"
done
like "$err" "127.0.0.1:[0-9]*/[.]{3}: it answered 404; trying again" "the cause is told, without the secret of the address"
like "$err" "3 events are not accepted yet" "and how many wait"
undrains h1
mode ok
run_is 0 "one that works again" send
is "$(told)" "ok 6 firing h1
ok 1 resolved h2
ok 1 resolved h3
ok 1 resolved h1" "gets all of them in order, the first one for the sixth time"
is "$(grep -c ' 6 firing' all) $(grep ' firing .* h1 ' all | cut -d' ' -f2 | sort -u | grep -c .)" "1 2" "under one id"

# ---- Killed -------------------------------------------------------------------------------------------------------
: >all
turn=0
for how in kill kill-after kill kill-after; do
	turn=$((turn + 1))
	[ $((turn % 2)) = 0 ] && undrains h1 h2 || drains h1 h2
	mode $how
	# The receiver kills it by this file, so it is there first.
	sh -c 'echo $$ >pid && exec "$0" alerts --to "$1"' "$NANOPOD" "$HOOK" 2>/dev/null &
	wait $! 2>/dev/null; is $? 137 "it dies: $how"
	mode ok
	run_is 0 "and the next one continues" send
done
# Killed while it watches, wherever it is.
for turn in 1 2 3 4 5 6 7 8; do
	[ $((turn % 2)) = 0 ] && undrains h1 h2 h3 || drains h1 h2 h3
	"$NANOPOD" alerts --watch --every 200ms --to "$HOOK" 2>/dev/null & pid=$!
	sleep 0.0$turn
	kill -9 $pid; wait $pid 2>/dev/null
done
run_is 0 "after eight more of these" send
told >/dev/null
undrains h1 h2 h3
run_is 0 "and all end" send
told >/dev/null
cut -d' ' -f2 all | awk '!seen[$0]++' >ids
is "$(cat ids)" "$(sort ids)" "the events came in the order of their ids"
n=$(sed 's/.*-0*//' ids | awk 'NR > 1 && $1 != last + 1 { bad = 1 } { last = $1 } END { print bad ? "gap" : NR }')
ok "without a gap: $n" [ "$n" -ge 8 ]
is "$(awk '!seen[$2]++ { print $4, $6 }' all | sort | uniq -c | awk '{ n[$3] += $2 == "firing" ? $1 : -$1 } END { for (h in n) if (n[h]) print h }')" "" \
	"each alert that began ended"
is "$(awk '{ print $2, $4, $5, $6 }' all | sort -u | grep -c .)" "$(grep -c . ids)" "and no id said two things"

# ---- Watching --------------------------------------------------------------------------------------------------------
mode hang
"$NANOPOD" alerts --watch --every 200ms --to "$HOOK" --to mail:ops@example.org 2>watch.err & watch=$!
at_exit "kill $watch 2>/dev/null"
# Whether somebody holds them: to try would keep it from who starts just then.
locked() { for lock in "$HOME"/.local/state/nanopod/alerts/*.lock; do grep -q ":$(stat -c %i "$lock") " /proc/locks || return; done; }
ok "(it watches)" wait_for 60 locked
run_is 5 "another one" send
like "$err" "another command delivers" "keeps away"
mkdir bin
cat >bin/sendmail <<'S'
#!/bin/sh
[ ! -e fail ] || exit 75
printf '%s|' "$@" >>mails; cat >>mails
S
chmod +x bin/sendmail
drains h1
said() { grep -q "$1" watch.err; }
ok "(it has seen an alert)" wait_for 60 said 'host_draining h1'
ok "no sendmail is told" wait_for 60 said 'ops@example.org: this machine has no sendmail\|sendmail'
kill $watch; wait $watch; is $? 143 "it ends when asked, though a receiver hangs"
mode ok
touch fail
PATH=$TMP/bin:$PATH "$NANOPOD" alerts --watch --every 200ms --to "$HOOK" --to mail:ops@example.org 2>watch.err & watch=$!
ok "a sendmail that fails" wait_for 60 said 'ops@example.org: sendmail exited with 75; trying again'
ok "keeps no other receiver from it" wait_for 60 grep -q 'ok .* firing host_draining h1 signed' log
rm fail
ok "it is tried again" wait_for 60 said 'ops@example.org: accepts alerts again'
mailed() { grep -q "$1" mails; }
undrains h1
ok "and the end follows" wait_for 60 mailed '^resolved: info host_draining h1$'
is "$(sed -n 1p mails)" "-i|--|ops@example.org|To: ops@example.org" "the address is an argument, behind --"
like "$(cat mails)" '^Subject: \[nanopod\] info host_draining h1$' "a letter with a subject"
like "$(cat mails)" '^Message-ID: <[0-9a-f]{16}-[0-9]{12}@nanopod.invalid>$' "and an id"
marketd_stop
ok "a market that is away is told here" wait_for 60 said 'cannot ask for alerts: cannot reach'
ok "and, after ten looks, there" wait_for 90 grep -q 'firing market_away http' log
ok "by mail, too" wait_for 60 mailed 'critical market_away http'
is "$(grep -c resolved log | head -n 1)" 1 "no alert ended by that"
kill $watch; wait $watch
told >/dev/null
url=$NANOPOD_URL
marketd_start --listen "${NANOPOD_URL#http://}" --test-clock=$NOW --rate 0 --agent-silent 86400 || exit 1
NANOPOD_URL=$url
run_is 0 "once it answers" send
is "$(told)" "ok 1 resolved market_away $url" "that ends"

# ---- Samples that are missing ------------------------------------------------------------------------------------------
. "$SRC/tests/lib/npagent.sh"
key one
AGT=$(join "$(join_token)" rack1 one m1 | json .id)
AGENT=$(session "$AGT" one 1 m1 | json .token)
hot() {
	v2_clock $((NOW + $2))
	jq -nc --argjson a $((NOW + $1)) --argjson z $((NOW + $2)) "{samples: [range(\$a; \$z; 60) | {at: ., machine: {cpu: 0.5}, gpus: [{use: 0.5, temperature: $3}]}]}" >samples
	as "$AGENT" POST /np/v1/agent/samples "$(cat samples)" >/dev/null
}
hot 0 600 90
run_is 0 "a hot GPU" send
is "$(told)" "ok 1 firing machine_gpu_hot rack1" "is told"
v2_clock $((NOW + 800))
is "$("$NANOPOD" alerts -q 2>/dev/null)" "" "(of which nothing is known later)"
run_is 0 "without samples" send
is "$(told)" "" "nobody says that it is cool"
hot 800 1000 50
run_is 0 "with samples" send
is "$(told)" "ok 1 resolved machine_gpu_hot rack1" "it is"

# ---- Silences, severity, files, mistakes ---------------------------------------------------------------------------------
drains h1 h2
run_is 0 "silenced" send --silence host_drain*:h1 --silence 'node_*'
is "$(told)" "ok 1 firing h2" "are not told"
run "$NANOPOD" alerts --silence host_draining:h2 -q
is "$out" h1 "nor listed"
run "$NANOPOD" alerts --silence host_draining
like "$err" "2 silenced" "but counted"
run_is 0 "less severe than asked for" send --severity warning
is "$(told)" "" "are not told either, nor that they ended"
run_is 0 "and when nobody silences them" send
is "$(told)" "ok 1 firing h1" "the others are"
undrains h1 h2
run_is 0 "an end is told whatever is silenced now" send --silence '*' --severity critical
is "$(told | sort)" "ok 1 resolved h1
ok 1 resolved h2" "as the beginning was"
drains h1
echo "$HOOK" >hook; chmod 644 hook
run_is 2 "a file that others may read" "$NANOPOD" alerts --to @hook
chmod 600 hook
run_is 0 "an address from a file" "$NANOPOD" alerts --to @hook
is "$(told)" "ok 1 firing h1" "is the same receiver"
for bad in ftp://x mail:-oQ/tmp 'mail:a b' 'mail:a@b,c@d' https://u:p@x/ 'https://x/#a' alertmanager:x '' @nowhere; do
	run_is 2 "refused: $bad" "$NANOPOD" alerts --to "$bad"
done
unlike "$err" 'token' "(no word of a market's)"
run_is 2 "--watch without a receiver" "$NANOPOD" alerts --watch
run_is 2 "one twice" send --to "$HOOK"
run_is 2 "a silence without a rule" send --silence :h1
run_is 0 "--explain" send --explain
like "$out" "^GET .*/np/v1/alerts" "shows what it asks"
is "$(told)" "" "and tells nobody"
printf 'nanopod-alerts 1\nabcdef0123456789\t7\n' >half
run_is 1 "a file that was cut off" send --state half
like "$err" "is damaged" "is not taken for an empty one"

# ---- Alertmanager -----------------------------------------------------------------------------------------------------------
if command -v prometheus-alertmanager >/dev/null; then
	printf 'route: {receiver: none}\nreceivers: [{name: none}]\n' >am.yml
	. "$SRC/tests/lib/ports.sh"
	am_port=$PORTS
	prometheus-alertmanager --config.file=am.yml --storage.path=am --cluster.listen-address= --web.listen-address=127.0.0.1:$am_port 2>am.err & am=$!
	at_exit "kill $am"
	AM=http://127.0.0.1:$am_port
	ok "(an Alertmanager)" wait_for 60 curl -sf $AM/-/ready
	am() { curl -s "$AM/api/v2/alerts" | jq -c 'map([.labels.alertname, .labels.severity, .labels.name, .labels.account, .annotations.summary])'; }
	manage() { "$NANOPOD" alerts --state am.state --to alertmanager:$AM/; }
	run_is 0 "a real Alertmanager" manage
	is "$(am)" '[["host_draining","info","h1","foundry","it is going out of service (fans)"]]' "has the alert"
	run_is 0 "and hears of it again" manage
	is "$(curl -s "$AM/api/v2/alerts" | jq '.[0] | (.endsAt | sub("[.].*"; "Z") | fromdateiso8601) - now > 200')" true "so that it does not forget it"
	undrains h1
	run_is 0 "when it ends" manage
	is "$(am)" '[]' "it is resolved there"
else
	pass "no prometheus-alertmanager # SKIP"
fi
done_testing
