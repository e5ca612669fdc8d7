#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a node of the driver ns reaches: the internet, the resolver and its own reservation's nodes, which are all nodes of
# one request of /v1; not the provider's network, not this machine, not another reservation of the same account, no other
# account. All happens in a network of the test's own, with
# a neighbour that plays the provider's network and the internet. Needs root and an image (driver-ns.t says where from).
if [ "${WALLS_APART-}" != yes ] && unshare --net true 2>/dev/null; then
	TEST_IMAGES=${NANOPOD_TEST_IMAGES-} WALLS_APART=yes exec unshare --net bash "$0"
fi
TEST_DRIVER=ns
. "$(dirname "$0")/../lib/tap.sh"
[ "${WALLS_APART-}" = yes ] || skip_all "no network namespace can be made here"
ip link set lo up
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
need perl ip slirp4netns
[ -w /dev/net/tun ] || skip_all "/dev/net/tun is missing"
life_begin
unset "LIFE_OPTIONS[-1]"   # --no-uplink

# ---- The network of this test --------------------------------------------------------------------------------------
INTERNET=198.51.100.2 PRIVATE=192.168.78.2 OWN=203.0.113.9 OWN_PRIVATE=192.168.77.1 LATER=203.0.113.10
RESOLVER=$(sed -n 's/^nameserver \([0-9.]*\)$/\1/p' /etc/resolv.conf | head -n 1)
ANSWER=$((PORTS + 39))
unshare --net sleep 7200 >/dev/null &
NEIGHBOUR=$!
at_exit "kill $NEIGHBOUR 2>/dev/null"
wait_for 10 sh -c "[ \$(readlink /proc/$NEIGHBOUR/ns/net) != \$(readlink /proc/self/ns/net) ]"
ip link add up0 type veth peer name down0 netns $NEIGHBOUR
ip address add 198.51.100.1/24 dev up0
for a in "$OWN/32" "$OWN_PRIVATE/24"; do ip address add "$a" dev up0; done
ip -6 address add fd00:77::1/64 dev up0 nodad 2>/dev/null
ip link set up0 up
[ -z "$RESOLVER" ] || ip address add "$RESOLVER/32" dev lo 2>/dev/null
ip route add default via "$INTERNET"
n() { nsenter -t "$NEIGHBOUR" -n "$@"; }
n ip link set lo up
BEHIND="$PRIVATE 10.99.0.2 172.16.9.2 100.64.9.9 198.18.0.9"
for a in "$INTERNET/24" $(printf '%s/32 ' $BEHIND 203.0.113.200); do n ip address add "$a" dev down0; done
n ip link set down0 up
# answers FILE ADDRESS…: who connects or sends a datagram there gets "here"; FILE appears when all listen.
cat >"$TMP/answers.pl" <<'END'
use IO::Socket::INET; use IO::Socket::IP; use IO::Select;
my ($file, $port, @at) = @ARGV; my $s = IO::Select->new; my %udp; $SIG{PIPE} = 'IGNORE';
$s->add(IO::Socket::IP->new(LocalHost => '::', LocalPort => $port, Listen => 64, V6Only => 0, GetAddrInfoFlags => 0) or die "$port: $@");
for (@at) {
	my ($a, $p) = split /,/; $p ||= $port;
	my $u = IO::Socket::INET->new(Proto => 'udp', LocalAddr => $a, LocalPort => $p) or die "$a $p: $!"; $udp{$u} = 1; $s->add($u);
	next if $p == $port;
	$s->add(IO::Socket::INET->new(LocalAddr => $a, LocalPort => $p, Listen => 64) or die "$a $p: $!");
}
open my $f, '>', $file; close $f;
for (;;) { for ($s->can_read) {
	if ($udp{$_}) { $_->recv(my $x, 100); $_->send("here\n") } else { my $c = $_->accept or next; print $c "here\n"; close $c }
} }
END
perl "$TMP/answers.pl" "$TMP/here" "$ANSWER" "$OWN" "$OWN_PRIVATE" 198.51.100.1 ${RESOLVER:+"$RESOLVER" "$RESOLVER,53"} >/dev/null 2>"$TMP/here.log" &
at_exit "kill $! 2>/dev/null"
nsenter -t "$NEIGHBOUR" -n perl "$TMP/answers.pl" "$TMP/there" "$ANSWER" "$INTERNET" $BEHIND 203.0.113.200 >/dev/null 2>"$TMP/there.log" &
at_exit "kill $! 2>/dev/null"
wait_for 20 test -e "$TMP/here" -a -e "$TMP/there" || { fail "(servers of the test run)"; cat "$TMP"/*here.log; done_testing; }

# ---- Nodes ----------------------------------------------------------------------------------------------------------
agentd_join m1 6
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
agentd_buy ours 2 3600
agentd_buy other 1 3600
marketd_account stranger 100000.00
# v1_buy TOKEN NAME…: one request of /v1 for nodes of these names, until the next full hour.
v1_buy() {
	v1_token=$1
	shift
	as "$v1_token" POST /v1/nodes "{\"desired_count\":$#,\"names\":$(jq -cn '$ARGS.positional' --args "$@"),\"zone\":\"cpu\",\"max_price_per_node_hour\":200,\"end_at\":$((NOW + 3600)),\"cloud_init_user_data\":\"$(user_data "$TMP/buyer.pub")\"}" >"$TMP/.v1"
	is "$(http_status)" 201 "(one request of /v1 buys $*)" || diag "$(cat "$TMP/.v1")"
}
v1_buy "$ACME" pair-1 pair-2
v1_buy "$(marketd_token stranger)" theirs
agentd_clock $(($(cat "$TMP/clock") + 60))
up() { [ "$(agentd_status m1 '[.nodes[] | select(.state == "running") | .name] | sort | join(" ")')" = "other-1 ours-1 ours-2 pair-1 pair-2 theirs" ] &&
	node_is ours-1 running && node_is ours-2 running && node_is other-1 running && node_is pair-1 running && node_is pair-2 running; }
ok "reservations of an account have nodes" wait_for 240 up || { life_say m1; done_testing; }
in1() { life_in ours-1 "$1"; }
# tcp, udp ADDRESS [PORT]: "here", or nothing, as the node sees it.
TRY='tcp() { timeout 10 bash -c "exec 3<>/dev/tcp/$1/${2-'$ANSWER'} && head -n1 <&3" 2>/dev/null; }
udp() { timeout 10 bash -c "exec 3<>/dev/udp/$1/${2-'$ANSWER'} && echo ask >&3 && head -n1 <&3" 2>/dev/null; }
each() { for a; do for w in tcp udp; do { [ "$($w $a)" != here ] || echo "$w $a"; } & done; done | sort | tr "\n" " "; echo end; }; '
try() { in1 "$TRY$1"; }

is "$(try "each $INTERNET 203.0.113.200")" "tcp $INTERNET tcp 203.0.113.200 udp $INTERNET udp 203.0.113.200 end" \
	"a node reaches the internet"
is "$(try "each $BEHIND")" end "but no private address that the machine reaches: $BEHIND"
is "$(try "each $OWN $OWN_PRIVATE 198.51.100.1 127.0.0.1 10.0.2.2 10.0.2.100 10.88.0.1 255.255.255.255 198.51.100.255")" end \
	"nor this machine at any of its addresses, public ones too"
is "$(try "tcp fd00:77::1; tcp ::ffff:$OWN; echo end")" end "nor by IPv6"
if [ -n "$RESOLVER" ]; then
	is "$(try 'udp 10.0.2.3 53; tcp 10.0.2.3 53; grep ^nameserver /etc/resolv.conf')" "$(printf 'here\nhere\nnameserver 10.0.2.3')" \
		"it reaches this machine's resolver"
	is "$(try "each 10.0.2.3 $RESOLVER")" end "at no other port, and not by its own address"
else
	skip "no resolver with an IPv4 address in /etc/resolv.conf"
fi
cat >"$TMP/ping.pl" <<'END'
use Socket; socket my $s, PF_INET, SOCK_RAW, 1 or die $!;
my $p = pack 'CCnnn', 8, 0, 0xf7f7, 8, 0;   # an echo request and its checksum
send $s, $p, 0, pack_sockaddr_in(0, inet_aton($ARGV[0])); my $r = ''; vec($r, fileno $s, 1) = 1;
if (select $r, undef, undef, 5) { recv $s, my $x, 200, 0; print join ' ', unpack 'x20 C2', $x } else { print 'nothing' }
END
ping_from() { in1 "echo $(base64 -w0 "$TMP/ping.pl") | base64 -d | perl - $1"; }
is "$(ping_from 127.0.0.1)" "8 0" "(this is how a node pings)"
# The kernel answers so many pings a second and no more.
walled() { [ "$(ping_from "$1")" = "3 13" ]; }
ok "a ping is answered by the wall: prohibited" wait_for 60 walled $PRIVATE

in1 "ip address add 10.0.2.50/24 dev host0; ip address add 192.168.78.9/24 dev host0; ip route add 192.168.77.0/24 via 10.88.0.1; ip route add $OWN via 10.88.0.1
	ip neigh replace $PRIVATE lladdr \$(ip neigh show 10.88.0.1 | sed -n 's/.*lladdr \\([0-9a-f:]*\\).*/\\1/p') dev host0" >/dev/null
is "$(try "each $PRIVATE $OWN_PRIVATE $OWN 10.0.2.2")" end "whatever root in the node does to its routes and addresses"
in1 'for a in 10.0.2.50/24 192.168.78.9/24; do ip address del $a dev host0; done; ip route del 192.168.77.0/24; ip neigh flush all' >/dev/null 2>&1
ip address add "$LATER/32" dev up0
closed() { [ "$(try "tcp $LATER; echo end")" = end ]; }
ok "an address that this machine gets later is closed too" wait_for 60 closed

# ---- Reservations -------------------------------------------------------------------------------------------------
address() { life_in "$1" 'hostname -I' | grep -o '10\.88\.[0-9.]*' | head -n 1; }
SECOND=$(address ours-2) OTHER=$(address other-1)
SSH='ssh_at() { timeout 20 bash -c "exec 3<>/dev/tcp/$1/22 && head -c4 <&3" 2>/dev/null; }; '
is "$(in1 "${SSH}ssh_at $SECOND")" "SSH-" "nodes of one reservation reach each other"
is "$(in1 "${SSH}ssh_at $OTHER; ip route add $OTHER dev host0; ssh_at $OTHER; echo end")" end \
	"those of another reservation of the account are not reached"
PAIR=$(address pair-2)
THEIRS=$(agentd_status m1 '.nodes[] | select(.name == "theirs") | "10.88.\(1 + (.slot / 250 | floor)).\(2 + .slot % 250)"')
is "$(life_in pair-1 "${SSH}ssh_at $PAIR")" "SSH-" "nodes of one request of /v1, which are reservations of their own, reach each other"
is "$(life_in pair-1 "${SSH}for a in $SECOND $OTHER $THEIRS; do ip route add \$a dev host0; ssh_at \$a; done; echo end")" end \
	"but neither other reservations nor another account's nodes"
is "$(agentd_status m1 '[.nodes[] | select(.name | startswith("pair")) | .network] | unique | length')" 1 "the journal knows that network"
in1 "ip address add $OTHER/32 dev host0; ip neigh flush all" >/dev/null
is "$(life_in other-1 "hostname")" other-1 "who takes their address gets nothing of theirs"
in1 "ip address del $OTHER/32 dev host0" >/dev/null
is "$(agentd_status m1 '[.nodes[].pool] | unique | length')" 5 "the journal knows the reservation"

# ---- What the owner opens --------------------------------------------------------------------------------------------
again() { agentd_stop m1; agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1 "$@"; }
again --allow-net "$PRIVATE:$ANSWER" --allow-net "$OWN"
opened() { [ "$(try "tcp $OWN")" = here ]; }
ok "--allow-net opens an address, also to nodes that run" wait_for 60 opened
is "$(try "each $PRIVATE $OWN $OWN_PRIVATE 10.99.0.2")" "tcp $PRIVATE tcp $OWN udp $PRIVATE udp $OWN end" \
	"the one with a port and the one without, and nothing else"
ok "of the one with a port no more than the port" wait_for 60 walled $PRIVATE
like "$(cat "$TMP/m1.log")" "nodes may reach $PRIVATE/32:$ANSWER" "the log says so"
again --allow-net "${PRIVATE%.*}.0/24" --allow-net "${OWN_PRIVATE%.*}.0/24" --allow-net 203.0.113.0/24
networks() { [ "$(try "each $PRIVATE 203.0.113.200 $OWN_PRIVATE $OWN 10.99.0.2 10.0.2.2")" = \
	"tcp $PRIVATE tcp 203.0.113.200 udp $PRIVATE udp 203.0.113.200 end" ]; }
ok "a network is opened without this machine's own addresses in it" wait_for 60 networks
again
shut() { [ "$(try "tcp $OWN; echo end")" = end ]; }
ok "without it all is closed again" wait_for 60 shut
is "$(try "each $INTERNET $PRIVATE $OWN")" "tcp $INTERNET udp $INTERNET end" "but the internet"

# ---- A new agent finds what one without walls made -----------------------------------------------------------------------
agentd_stop m1
for w in "$TMP"/m1/*.wall; do
	nsenter --net="/run/netns/$(basename "$w" .wall)" sh -c 'for i in all tap0; do echo 1 >/proc/sys/net/ipv4/conf/$i/rp_filter; done
		ip rule flush protocol 88; ip rule flush protocol 89; ip route flush table 88; ip route flush table 89' 2>/dev/null
	rm "$w"
done
is "$(try "tcp $PRIVATE")" here "(it had no wall)"
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1
ok "its nodes are walled in" wait_for 60 walled $PRIVATE
if [ -n "$RESOLVER" ]; then
	is "$(try 'udp 10.0.2.3 53')" here "and still reach the resolver"
else
	skip "no resolver with an IPv4 address in /etc/resolv.conf"
fi
done_testing
