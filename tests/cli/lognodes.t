#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nanopod logs of nodes that were bought: consoles from a real market, files over SSH from real nodes of the process driver;
# followed while a node starts again and while the market is away.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"

[ -x "$BUILD/nanopod-node" ] || skip_all "nanopod-node is not built"
need perl
cd "$TMP" || exit 99
agentd_market
agentd_join m1 2
# Another program has the first port.
perl -MIO::Socket::INET -e '$| = 1; my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1", LocalPort => $ARGV[0]) or die "$!\n"; print "up\n"; sleep 600' "$PORTS" >taken &
taken=$!
at_exit "kill $taken 2>/dev/null"
ok "(a port is taken)" wait_for 10 grep -q up taken
agentd_start m1 --driver process --listen 127.0.0.1 --first-port $PORTS || done_testing
agentd_buy train 2 7200
NANOPOD_TOKEN=$ACME
export NANOPOD_TOKEN
# Nobody's config, keys or known hosts: what the market says must do.
FROM="--ssh-config none --known-hosts none --identity $TMP/buyer --host-key strict --agent none"
logs() { timeout -k 5 90 "$NANOPOD" logs $FROM "$@"; }
on() { timeout -k 5 60 "$NANOPOD" ssh $FROM "$@"; }
ok "two nodes run" wait_for 60 node_is train-1 running
ok "and the other one" wait_for 60 node_is train-2 running
is "$(for i in 1 2; do node train-$i .ssh.port; done | sort | tr '\n' ' ')" "$((PORTS + 1)) $((PORTS + 2)) " "not at the port that another program has"
said() { grep -cF -- "$1" follow.out >/dev/null; }

# ---- Consoles ----
run_is 0 "the console of a node" logs train-1
console_says() { logs "$1" | grep -q "^$1: node $1: is up"; }
ok "which says how it started" wait_for 30 console_says train-1
ok "(so does the other one's)" wait_for 30 console_says train-2
run_is 0 "those of a reservation, by its name alone" logs train
is "$(cut -d: -f1 "$TMP/.out" | sort -u | tr '\n' ' ')" "train-1 train-2 " "are those of its nodes"
run_is 0 "by -r, for programs" logs -r train -o jsonl -n 1
is "$(jq -r '[.node, .log] | join(" ")' "$TMP/.out" | sort | tr '\n' ' ')" "train-1 console train-2 console " "say whose each is"
run_is 3 "a node that is none" logs -r nothing
run_is 10 "a file that one of them lacks" logs -r train /etc/nothing /etc/hostname
like "$err" "train-1! '/etc/nothing' is not there" "is said"

# ---- Following ----
on train-1 -- "printf 'one\ntwo\n' >~/work.log"
"$NANOPOD" logs $FROM -f train-1 console '~/work.log' >follow.out 2>follow.err </dev/null &
follower=$!
at_exit "kill $follower 2>/dev/null"
ok "what is there comes" wait_for 30 said two
on train-1 -- "echo three >>~/work.log"
ok "and what is written" wait_for 30 said three
on train-1 -- "(sleep 1; kill -TERM 1; kill -KILL -1) >/dev/null 2>&1 &" >/dev/null 2>&1
ok "the node ends, and the reader says so" wait_for 60 grep -q 'trying again' follow.err
on_again() { on train-1 -- "echo four >>~/work.log"; }
ok "it starts again by itself" wait_for 90 on_again
ok "the file goes on where it was" wait_for 60 said four
is "$(grep -c 'work.log: *one$' follow.out)$(grep -c 'work.log: *two$' follow.out)$(grep -c 'work.log: *three$' follow.out)$(grep -c 'work.log: *four$' follow.out)" \
	1111 "each line is there once"
twice() { [ "$(grep -c 'console: .*node train-1: is up' follow.out)" = 2 ]; }
ok "and its console tells of both starts, each once" wait_for 60 twice

# ---- Without the market ----
marketd_stop
marketd_start --test-clock=$NOW --rate 0 --listen "${NANOPOD_URL#http://}" || done_testing
on train-1 -- "echo five >>~/work.log"
ok "a market that was away changes nothing for the file" wait_for 60 said five
kill -TERM $follower
wait $follower
is $? 143 "SIGTERM ends it"
is "$(grep -c 'work.log: *five$' follow.out)" 1 "and nothing was there twice"

done_testing
