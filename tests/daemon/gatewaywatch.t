#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real nginx whose backends are the nodes of a reservation: nanopod-marketd gateway --watch writes its file and has it read
# again as nodes come and go, and the reload itself loses no request. Two machines, each with an address of its own, have
# nodes of the driver 'process'; another nginx answers at both addresses.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/nginx.sh"
PATH=$PATH:/usr/sbin
need nginx jq
front=$((PORTS + 31)) port=$((PORTS + 30))

agentd_market
for n in 2 3; do
	agentd_join m$n 1 || done_testing
	agentd_start m$n --driver process --address 127.0.0.$n --first-port $((PORTS + 10 * (n - 2))) || done_testing
done
agentd_buy serve 1 86400
ok "a node runs" wait_for 60 node_is serve-1 running || { diag "$(cat "$TMP"/m[23].log)"; done_testing; }
first=$(node serve-1 .ssh.hostname)
other=127.0.0.$((5 - ${first##*.}))

as "$ACME" POST /np/v1/tokens '{"scopes":["read"]}' | json .token >"$TMP/token"
cat >"$TMP/gateway.yaml" <<-END
	market: $NANOPOD_URL
	token-file: $TMP/token
	listen: 127.0.0.1:$front
	reload: "nginx -c $TMP/nginx.conf -s reload 2>>$TMP/reload.err && echo reloaded >>$TMP/reloads"
	routes: [{path: /v1/, backends: [{reservation: serve, port: $port, weight: 2}]}]
END
: >"$TMP/reloads"
nginx_conf >"$TMP/nginx.conf" <<<"include $TMP/gateway.conf;"
mkdir "$TMP/back"
(TMP=$TMP/back && nginx_conf) >"$TMP/back.conf" <<-END
	server { listen 127.0.0.2:$port; return 200 127.0.0.2; }
	server { listen 127.0.0.3:$port; return 200 127.0.0.3; }
END
nginx -c "$TMP/back.conf" 2>"$TMP/back.err" &
back_pid=$!
at_exit 'kill $back_pid 2>/dev/null; wait $back_pid 2>/dev/null'
wait_for 30 curl -s -o /dev/null "http://$first:$port/" || diag "$(cat "$TMP/back.err")"

# ---- Once ---------------------------------------------------------------------------------------------------
servers() { sed -n 's/^\tserver \([^ ]*\) weight=2 .*/\1/p' "$1" | tr '\n' ' '; }
run_is 0 "without --watch the file is written once" "$MARKETD" gateway nginx --out "$TMP/once.conf" "$TMP/gateway.yaml"
is "$(servers "$TMP/once.conf")" "$first:$port " "with the nodes that run"
is "$("$MARKETD" gateway apisix "$TMP/gateway.yaml" | sed -n '/nodes:/,$p' | tr -d '\n')" "      nodes:        \"$first:$port\": 2#END" "APISIX's, too"
sed 's/reservation: serve/reservation: none/' "$TMP/gateway.yaml" >"$TMP/none.yaml"
run_is 1 "a reservation that there is not" "$MARKETD" gateway nginx "$TMP/none.yaml"
like "$err" "the account of 'token-file' has no reservation 'none'" "is told"

# ---- As they come and go ---------------------------------------------------------------------------------------
"$MARKETD" gateway nginx --out "$TMP/gateway.conf" --watch "$TMP/gateway.yaml" 2>"$TMP/watch.log" </dev/null &
watch_pid=$!
watch_stop() { [ -z "$watch_pid" ] || { kill "$watch_pid"; watch_status=0; wait "$watch_pid" || watch_status=$?; }; watch_pid=; }
at_exit watch_stop
told() { grep -q "$1" "$TMP/watch.log"; }
ok "where nginx does not run yet, the log says that it reads nothing" wait_for 30 told "failed, and is tried again" || diag "$(cat "$TMP/watch.log")"
nginx -c "$TMP/nginx.conf" 2>"$TMP/nginx.err" &
nginx_pid=$!
at_exit 'kill $nginx_pid 2>/dev/null; wait $nginx_pid 2>/dev/null'
reloads() { [ "$(wc -l <"$TMP/reloads")" = "$1" ]; }
ok "it does once nginx runs" wait_for 30 reloads 1 || diag "$(cat "$TMP/watch.log" "$TMP/nginx.err" "$TMP/reload.err")"

# asks: until $TMP/end is there; each answer's status and body are a line of $TMP/asked.
asks() { while [ ! -e "$TMP/end" ]; do curl -s --max-time 30 -w ' %{http_code}\n' -H "Authorization: Bearer $ACME" "http://127.0.0.1:$front/v1/x"; done; }
asks >"$TMP/asked" &
asks_pid=$!
asks_stop() { : >"$TMP/end"; wait "$asks_pid" 2>/dev/null; }
at_exit asks_stop
from() { tail -n 20 "$TMP/asked" | grep -q "$1"; }
ok "the node serves" wait_for 30 from "$first 200" || diag "$(tail -n 3 "$TMP/asked")"
looks() { operator GET /metrics | sed -n 's/^nanopod_http_requests_total{.*route="\/np\/v1\/nodes",.* //p' | awk '{ n += $1 } END { print n + 0 }'; }
had=$(looks)
looked() { [ "$(looks)" -gt $((had + 1)) ]; }
ok "the market is asked again" wait_for 30 looked || diag "$(operator GET /metrics | grep nodes)"
is "$(wc -l <"$TMP/reloads")" 1 "nothing changed, and nginx reads nothing"

agentd_buy serve 1 86400 # the node that it asks for has its name already
as "$ACME" POST /v2/instances "{\"name\":\"second\",\"pool\":\"serve\",\"image\":\"debian-12\",\"instance_sku\":\"$SKU\",\"cloud_init_user_data\":\"$(user_data "$TMP/buyer.pub")\"}" >"$TMP/.instance"
ok "a node comes, and nginx reads" wait_for 60 reloads 2 || diag "$(cat "$TMP/watch.log")"
is "$(servers "$TMP/gateway.conf")" "127.0.0.2:$port 127.0.0.3:$port " "of both"
ok "both serve" wait_for 30 from "$other 200"
as "$ACME" POST /v2/instances/serve-1/terminate >"$TMP/deleted"
ok "one goes, and nginx reads" wait_for 60 reloads 3 || diag "$(cat "$TMP/watch.log")"
is "$(servers "$TMP/gateway.conf")" "$other:$port " "of the other one"
gone() { ! from "$first"; }
ok "which alone serves" wait_for 30 gone
asks_stop
is "$(grep -vc ' 200$' "$TMP/asked")" 0 "of $(wc -l <"$TMP/asked") requests meanwhile none is lost" || diag "$(grep -v ' 200$' "$TMP/asked" | sort | uniq -c)"

# ---- None, and no market -------------------------------------------------------------------------------------------
as "$ACME" POST /v2/instances/second/terminate >"$TMP/deleted"
ok "the last one goes, and nginx reads" wait_for 60 reloads 4 || diag "$(cat "$TMP/watch.log" "$TMP/reload.err")"
answer() { curl -s --max-time 30 -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $ACME" "http://127.0.0.1:$front/v1/x"; }
none() { [ "$(answer)" = 502 ]; }
ok "without a node the answer is 502" wait_for 30 none
is "$("$MARKETD" gateway apisix "$TMP/gateway.yaml" | grep nodes:)" "      nodes: {}" "APISIX has none, either"
cp "$TMP/gateway.conf" "$TMP/kept.conf"
marketd_kill
ok "a market that does not answer" wait_for 30 told "the backends of 'serve' stay as they are"
ok "changes nothing" cmp "$TMP/kept.conf" "$TMP/gateway.conf"
is "$(wc -l <"$TMP/reloads")" 4 "and nginx reads nothing"
run_is 1 "nor is anything written once" "$MARKETD" gateway nginx --out "$TMP/once.conf" "$TMP/gateway.yaml"
watch_stop
is "$watch_status" 0 "SIGTERM ends it"

# ---- A market that says where nodes are as this test likes ---------------------------------------------------------
mkdir "$TMP/said"
# said HOST...: the nodes of 'serve', or of the reservation $of.
said() { jq -n '{data: [$ARGS.positional[] | {status: "running", ssh: {hostname: .}}]}' --args "$@" >"$TMP/said/new" && mv "$TMP/said/new" "$TMP/said/nodes.${of:-serve}"; }
said 127.0.0.2
(TMP=$TMP/said && nginx_conf) >"$TMP/said.conf" <<-END
	server {
		listen 127.0.0.1:$((PORTS + 32)); access_log $TMP/said/asked; root $TMP/said;
		if (\$http_authorization = "Bearer other") { return 404; }
		location / { try_files /nodes.\$arg_reservation =404; }
	}
END
# Its workers must read what only this user may.
nginx -c "$TMP/said.conf" -g "user $(id -un);" 2>"$TMP/said.err" &
said_pid=$!
at_exit 'kill $said_pid 2>/dev/null; wait $said_pid 2>/dev/null'
sed "s|^market:.*|market: http://127.0.0.1:$((PORTS + 32))|; s|^reload:.*|reload: \"echo >>$TMP/runs; [ ! -e $TMP/hang ] \|\| sh -c 'echo \$\$ >>$TMP/hung; exec sleep 1000'; :\"|" \
	"$TMP/gateway.yaml" >"$TMP/said.yaml"
: >"$TMP/runs"

watch() {
	: >"$TMP/watch.log"
	"$@" "$MARKETD" gateway nginx --out "$TMP/said.to" --watch "$TMP/said.yaml" 2>"$TMP/watch.log" </dev/null &
	watch_pid=$!
}
writes() { [ "$(servers "$TMP/said.to")" = "$*" ]; }
runs() { [ "$(wc -l <"$TMP/runs")" -ge "$1" ]; }
asked() { grep -c 'reservation=serve&' "$TMP/said/asked"; }
asked_more() { [ "$(asked)" -gt "$1" ]; }
# It has looked, and done what follows, when it asks for the second time.
looks_again() { wait_for 60 asked_more $(($(asked) + 1)); }

watch env
ok "the file is written" wait_for 60 writes "127.0.0.2:$port " || diag "$(cat "$TMP/watch.log" "$TMP/said.err")"
ok "and 'reload' runs" wait_for 60 runs 1
said 127.0.0.3 a:b ::0:9 ::9
ok "of hosts with colons those stay that are addresses" wait_for 60 writes "127.0.0.3:$port [::9]:$port " || diag "$(servers "$TMP/said.to")"
looks_again
is "$(sed -n 's/.*[0-9] node/node/p' "$TMP/watch.log")" "node of 'serve' has no address, such as '[a:b]'" "the others are told once" || diag "$(cat "$TMP/watch.log")"
said 127.0.0.3 a:c a:b
ok "and again" wait_for 60 told "2 nodes of 'serve' have no address, such as '\[a:c\]'"
: >"$TMP/hang"
said 127.0.0.2
at_exit '[ ! -s "$TMP/hung" ] || kill $(cat "$TMP/hung") 2>/dev/null'
ok "'reload' hangs" wait_for 60 test -s "$TMP/hung"
kill "$watch_pid"
ended() { ! kill -0 "$watch_pid" 2>/dev/null; }
lives() { grep -q '^State:.[^ZX]' "/proc/$(head -n 1 "$TMP/hung")/status" 2>/dev/null; }
dead() { ! lives; }
ok "SIGTERM ends it in spite of that" wait_for 20 ended || kill -KILL "$watch_pid"
ok "and what hangs" wait_for 20 dead
wait "$watch_pid" && status=0 || status=$?
is "$status" 0 "as ever"
rm "$TMP/hang"
had=$(wc -l <"$TMP/runs")
watch env
ok "started again it runs 'reload', though the file stays" wait_for 60 runs $((had + 1))
looks_again
is "$(wc -l <"$TMP/runs")" $((had + 1)) "once"

# ---- SIGHUP, and the limit of 'reload' -------------------------------------------------------------------------------
again() { kill -HUP "$watch_pid"; wait_for 60 told "$1"; }
: >"$TMP/hang" && rm -f "$TMP/hung"
cp "$TMP/said.yaml" "$TMP/said.good"
sed -i 's/^reload:/reload-timeout: 1\n&/; s/weight: 2/weight: 3/' "$TMP/said.yaml"
ok "SIGHUP reads the file again" again "read '$TMP/said.yaml' again" || { diag "$(cat "$TMP/watch.log")"; done_testing; }
weighs() { grep -q "weight=$1 " "$TMP/said.to"; }
ok "and what is new in it counts" wait_for 60 weighs 3
ok "a 'reload' that hangs longer than it may" wait_for 60 told "failed, and is tried again"
ok "is killed" wait_for 20 dead
twice() { [ "$(wc -l <"$TMP/hung")" -ge 2 ]; }
ok "and tried again" wait_for 60 twice
had=$(wc -l <"$TMP/runs")
rm "$TMP/hang"
ok "until it succeeds" wait_for 60 runs $((had + 1))
sed 's/weight: 2/weight: x/' "$TMP/said.good" >"$TMP/said.yaml"
ok "a file that is wrong is told" again "keeping the old file: .*'weight' must be a whole number from 1 to 100"
said 127.0.0.9
ok "and the old one goes on" wait_for 60 grep -q "server 127.0.0.9:$port weight=3 " "$TMP/said.to"
follows() { wait_for 60 grep -q "server $1:$port weight=$2 " "$TMP/said.to"; }
sed 's/weight: 2}/&, {reservation: typo, port: 8000}/' "$TMP/said.good" >"$TMP/said.yaml"
ok "so is one with a reservation that there is not" again "keeping the old file: the account of 'token-file' has no reservation 'typo'"
said 127.0.0.8
ok "and the old one goes on" follows 127.0.0.8 3 || diag "$(cat "$TMP/watch.log")"
of=typo said
ok "until the reservation is there" follows 127.0.0.8 2 || diag "$(cat "$TMP/watch.log")"
echo other >"$TMP/token.other"
sed "s|^token-file:.*|token-file: $TMP/token.other|; s/weight: 2/weight: 4/" "$TMP/said.good" >"$TMP/said.yaml"
ok "so is one with the token of another account" again "keeping the old file: the account of 'token-file' has no reservation 'serve'"
said 127.0.0.2
ok "and the old one goes on" follows 127.0.0.2 2 || diag "$(cat "$TMP/watch.log")"
sed 's/^reload:/reload-timeout: 0\n&/' "$TMP/said.good" >"$TMP/said.yaml"
run_is 1 "0 seconds are no limit" "$MARKETD" gateway nginx "$TMP/said.yaml"
like "$err" "'reload-timeout' must be whole seconds from 1 to 3600" "which is told"
cp "$TMP/said.good" "$TMP/said.yaml"
watch_stop

sed -e 's/^\( *\)# \(- \|[a-z-]*:\)/\1\2/' -e "s|^market:.*|market: http://127.0.0.1:$((PORTS + 32))|; s|/etc/nanopod/gateway.token|$TMP/token|" \
	"$SRC/examples/gateway.yaml" >"$TMP/example.yaml"
said 127.0.0.2
run_is 0 "examples/gateway.yaml works with all its lines" "$MARKETD" gateway nginx --out "$TMP/example.conf" "$TMP/example.yaml"
is "$(grep -c 'server 127.0.0.2:8000 ' "$TMP/example.conf") $(grep -c '^reload:' "$TMP/example.yaml")" "1 1" "and has the nodes"

# ---- Names ---------------------------------------------------------------------------------------------------------
[ "$(id -u)" -eq 0 ] && have unshare && unshare -m true 2>/dev/null && [ -e /etc/resolv.conf ] ||
	{ skip "only root may have its own names"; done_testing; }
printf '127.0.0.%s.test\n' '9 two' '8 two' '7 one' >"$TMP/hosts"
echo 'nameserver 127.91.53.54' >"$TMP/resolv.conf" # where nothing listens
echo 'hosts: files dns' >"$TMP/nsswitch.conf"
named=(unshare -m sh -c 'for file in hosts resolv.conf nsswitch.conf; do mount --bind "$0/$file" "/etc/$file" || exit; done; exec "$@"' "$TMP")
watch_named() { watch "${named[@]}"; }
patience() { sed "s/^reload:/names-timeout: $1\n&/; s/weight: 2}/&, {reservation: slow, port: 8000}/" "$TMP/said.good" >"$TMP/said.yaml"; }
said two.test 127.0.0.3 late.test
of=slow said 127.0.0.4
patience 3600
watch_named
ok "a name without an answer" wait_for 60 told "no server of names says the address of 'late.test' in 'serve'" || diag "$(cat "$TMP/watch.log")"
looks_again
is "$(servers "$TMP/said.to")" "127.0.0.2:$port " "is waited for: the file of an earlier run stays"
watch_stop
is "$(servers "$TMP/said.to")" "127.0.0.2:$port " "also at SIGTERM"
had=$(asked)
"${named[@]}" "$MARKETD" gateway nginx --out "$TMP/said.to" "$TMP/said.yaml" 2>"$TMP/watch.log" </dev/null &
watch_pid=$!
ok "without --watch, too" wait_for 60 asked_more $((had + 1)) || diag "$(cat "$TMP/watch.log")"
is "$(servers "$TMP/said.to")" "127.0.0.2:$port " "the file stays"
echo 127.0.0.5 late.test >>"$TMP/hosts"
wait "$watch_pid" && status=0 || status=$?
watch_pid=
is "$status $(servers "$TMP/said.to")" "0 127.0.0.3:$port 127.0.0.5:$port 127.0.0.8:$port " "until there is an answer"

said two.test 127.0.0.2 one.test none.test
of=slow said none.test
patience 1
watch_named
ok "after 'names-timeout' those without an answer hold up nobody: names become addresses, of several the lowest" wait_for 60 writes "127.0.0.2:$port 127.0.0.7:$port 127.0.0.8:$port " ||
	diag "$(cat "$TMP/watch.log"; servers "$TMP/said.to")"
looks_again
had=$(wc -l <"$TMP/runs")
: >"$TMP/hosts"
looks_again
is "$(servers "$TMP/said.to")" "127.0.0.2:$port 127.0.0.7:$port 127.0.0.8:$port " "while no server of names answers, they stay"
is "$(wc -l <"$TMP/runs")" "$had" "and nothing runs"
echo 'hosts: files' >"$TMP/nsswitch.conf"
ok "names that are no more go" wait_for 60 writes "127.0.0.2:$port "
# The first and the last time: where one name was asked for just before that, two were told between.
is "$(grep -o "[0-9] nodes\? of 'serve'.*" "$TMP/watch.log" | sed -n '1p; $p' | tr '\n' ';')" \
	"1 node of 'serve' has no address, such as 'none.test';3 nodes of 'serve' have no address, such as 'two.test';" "and are told"

# A server of names of which the C library is patient: it takes what it is asked and says nothing, but late.test's address
# after three seconds.
silent=127.$((PORTS / 256)).$((PORTS % 256)).53
perl -MIO::Socket::INET -e '
	$s = IO::Socket::INET->new(Proto => "udp", LocalAddr => $ARGV[0], LocalPort => 53) or die;
	open F, ">", $ARGV[1]; close F;
	while ($from = $s->recv($q, 512)) {
		next unless $q =~ /\A(..).{10}(\x04late\x04test\0\0(.)\0\x01)/s;
		select(undef, undef, undef, 3) if $3 eq "\x01";
		$a = $3 eq "\x01" ? "\xc0\x0c\0\x01\0\x01\0\0\0\0\0\x04\x7f\0\0\x06" : "";
		$s->send("$1\x81\x80\0\x01\0" . ($a ? "\x01" : "\0") . "\0\0\0\0$2$a", 0, $from);
	}' "$silent" "$TMP/bound" 2>"$TMP/perl" &
silent_pid=$!
at_exit 'kill $silent_pid 2>/dev/null; wait $silent_pid 2>/dev/null'
wait_for 20 test -e "$TMP/bound" || { skip "port 53 cannot be had: $(cat "$TMP/perl")"; done_testing; }
echo '127.0.0.7 one.test' >"$TMP/hosts"
printf 'nameserver %s\noptions timeout:30 attempts:5\n' "$silent" >"$TMP/resolv.conf"
echo 'hosts: files dns' >"$TMP/nsswitch.conf"
said late.test
of=slow said
patience 60
run_is 0 "a late answer counts" "${named[@]}" "$MARKETD" gateway nginx --out "$TMP/late.conf" "$TMP/said.yaml"
is "$(servers "$TMP/late.conf")" "127.0.0.6:$port " "without --watch, too"
patience 1
said 127.0.0.2 one.test
ok "a name comes" wait_for 60 writes "127.0.0.2:$port 127.0.0.7:$port "
: >"$TMP/hosts"
said 127.0.0.3 one.test slow.test
ok "where a server of names hangs, what else changes is written, and known addresses stay" \
	wait_for 60 writes "127.0.0.3:$port 127.0.0.7:$port " || diag "$(cat "$TMP/watch.log")"
said 127.0.0.4 slow.test
ok "and again" wait_for 60 writes "127.0.0.4:$port "
kill "$watch_pid"
ok "SIGTERM ends it meanwhile" wait_for 20 ended || kill -KILL "$watch_pid"
wait "$watch_pid" && status=0 || status=$?
is "$status" 0 "as ever"
watch_pid=
said slow.test
of=slow said
watch_named
ok "before any address is known" wait_for 60 told "no server of names says the address of 'slow.test' in 'serve'" || diag "$(cat "$TMP/watch.log")"
looks_again
is "$(servers "$TMP/said.to")" "127.0.0.4:$port " "the file of an earlier run stays, also after 'names-timeout'"
watch_stop
done_testing
