#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ports of a node as ports here: what listens is told, and a lost connection comes back.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/nodes.sh"
nodes_up 2
MARKET=${NANOPOD_URL##*:}

# tunnel ARGUMENT…: in the background; says into $TMP/t.err
tunnel() { : >"$TMP/t.out"; : >"$TMP/t.err"; "$NANOPOD" tunnel $WHERE "$@" >"$TMP/t.out" 2>"$TMP/t.err" & T=$!; at_exit "kill $T 2>/dev/null"; }
listening() { sed -n "s|^nanopod: \(http://\)\{0,1\}localhost:\([0-9]*\) -> train-0:$1 .*|\2|p" "$TMP/t.err" | grep .; }
through() { curl -sS --max-time 20 "http://127.0.0.1:$1/np/v1" 2>/dev/null | jq -r .object 2>/dev/null; }
works() { [ "$(through "$1")" = market ]; }

for bad in x 0 70000 8888: :80 8888:0 a:b:c:d 1:2:3:4:5 8888:host; do
	run "$NANOPOD" tunnel train-0 "$bad"
	is "$status" 2 "'$bad' is refused"
done
like "$err" "write it as 8888" "and says how"

tunnel train-0 "0:$MARKET"
ok "it says what listens" wait_for 20 listening "$MARKET"
PORT=$(listening "$MARKET")
like "$(cat "$TMP/t.err")" "-> train-0:$MARKET .Ctrl-C stops." "and where it leads"
is "$(through "$PORT")" market "and it does"
is "$(through "$PORT")$(through "$PORT")" marketmarket "again and again"

# ---- The host goes away and comes back ----
sshd_down
ok "a connection that is lost" wait_for 60 grep -q " lost .*trying again" "$TMP/t.err"
ok "(it does not end)" kill -0 $T
sshd_listen 2 || fail "(the servers start again)"
ok "is made again" wait_for 60 grep -q "reconnected" "$TMP/t.err"
ok "on the same port" wait_for 20 works "$PORT"
kill -INT $T; wait $T
is $? 130 "Ctrl-C ends it"
not_ok "and nothing listens any more" works "$PORT"

# ---- SOCKS, and from the host back to here ----
socks() { sed -n 's|^nanopod: socks5h://localhost:\([0-9]*\) -> train-0 .*|\1|p' "$TMP/t.err" | grep .; }
there() { sed -n "s|^nanopod: train-0:\([0-9]*\) -> localhost:$MARKET .*|\1|p" "$TMP/t.err" | grep .; }
for bad in "-R 8080" "-R x:80" "-R 1:2:3:4:5" "-R /path:80" "-D x" "-D 1:2:3" "-D 70000"; do
	run "$NANOPOD" tunnel train-0 $bad
	is "$status" 2 "'$bad' is refused"
done
run "$NANOPOD" tunnel train-0
is "$status" 2 "a host alone is refused"
like "$err" "PORT, -R or -D is required" "and says why"
tunnel train-0 -D 0 -R "0:$MARKET"
ok "-D says where it listens" wait_for 20 socks
ok "-R says where the host listens" wait_for 20 there
PORT=$(socks) BACK=$(there)
is "$(curl -sS --max-time 20 --socks5-hostname "127.0.0.1:$PORT" "http://localhost:$MARKET/np/v1" | jq -r .object)" market \
	"through SOCKS 5"
is "$(curl -sS --max-time 20 --socks4a "127.0.0.1:$PORT" "http://localhost:$MARKET/np/v1" | jq -r .object)" market "and 4a"
ok "from the host to a port here" works "$BACK"
sshd_down
ok "a connection that is lost" wait_for 60 grep -q " lost .*trying again" "$TMP/t.err"
sshd_listen 2 || fail "(the servers start again)"
ok "is made again" wait_for 60 grep -q "reconnected" "$TMP/t.err"
ok "and the host listens on the same port" wait_for 20 works "$BACK"
kill -INT $T; wait $T
is $? 130 "Ctrl-C ends it"
not_ok "and the host listens no more" works "$BACK"

# ---- Nobody at the other end ----
dead() { sed -n "s|^nanopod: .*localhost:\([0-9]*\) -> .*nowhere.invalid:80 .*|\1|p" "$TMP/t.err" | grep .; }
back() { sed -n 's|^nanopod: train-0:\([0-9]*\) -> localhost:1 .*|\1|p' "$TMP/t.err" | grep .; }
says() { grep -q "warning: train-0: a connection failed: $1" "$TMP/t.err"; }
tunnel train-0 0:nowhere.invalid:80 -D 0 -R 0:localhost:1
ok "a tunnel to nobody listens" wait_for 20 dead
ok "(and the other two)" wait_for 20 socks
ok "(all three)" wait_for 20 back
not_ok "no client, no word" says .
curl -s --max-time 20 "http://127.0.0.1:$(dead)/" >/dev/null
ok "a client is told of" wait_for 20 says "the host cannot connect to 'nowhere.invalid:80', or does not allow it"
kill -0 $T
is $? 0 "and the tunnel stays"
kill $T; wait $T
tunnel train-0 -D 0 -R 0:localhost:1
ok "(SOCKS)" wait_for 20 socks
ok "(and back)" wait_for 20 back
curl -s --max-time 20 --socks5-hostname "127.0.0.1:$(socks)" http://other.invalid/ >/dev/null
ok "through SOCKS, too" wait_for 20 says "the host cannot connect to 'other.invalid:80'"
from_host() { curl -s --max-time 20 "http://127.0.0.1:$(back)/" >/dev/null; says "cannot connect to 'localhost:1' from here"; }
ok "and from the host back to here" wait_for 20 from_host
kill $T; wait $T

# ---- For programs, and what cannot be ----
tunnel train-1 "0:$MARKET" "$TMP/socket:$MARKET" -o jsonl
two() { [ "$(grep -c listening "$TMP/t.out")" -eq 2 ]; }
ok "-o jsonl" wait_for 20 two
is "$(jq -r '.type + " " + .host + " " + .target' "$TMP/t.out" | sort -u)" "listening train-1 localhost:$MARKET" "one object a line"
is "$(curl -sS --unix-socket "$TMP/socket" http://x/np/v1 | jq -r .object)" market "a unix socket"
PORT=$(jq -r .listen "$TMP/t.out" | sed -n 's/.*:\([0-9][0-9]*\)$/\1/p' | head -n 1)
run_is 1 "a port that is taken" "$NANOPOD" tunnel $WHERE train-0 "$PORT:80"
like "$err" "cannot listen.*another port" "is told"
kill $T; wait $T
is $? 143 "(ended)"
not_ok "the socket is gone" test -e "$TMP/socket"
node_runs train-1 2 "$(cut -d' ' -f2 "$SSHD_KEY.pub")"
run_is 255 "a wrong host key" "$NANOPOD" tunnel $WHERE train-1 0:80
like "$err" "is pinned.*nothing was sent" "is refused"
run_is 255 "a host that is not there" "$NANOPOD" tunnel --ssh-config none --known-hosts none --connect-timeout 2s nohost.invalid 0:80
done_testing
