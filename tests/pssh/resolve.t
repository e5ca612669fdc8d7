#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"
. "$(dirname "$0")/with.sh"

# A name server that is silent, for this test alone.
[ "$(id -u)" -eq 0 ] && have unshare && unshare -m true 2>/dev/null ||
	skip_all "only root may have its own /etc/resolv.conf"
need perl
[ -e /etc/resolv.conf ] || skip_all "there is no /etc/resolv.conf"
sshd_setup
perl -MIO::Socket::INET -e '
	$s = IO::Socket::INET->new(Proto => "udp", LocalAddr => "127.91.53.53", LocalPort => 53) or die;
	open F, ">", $ARGV[0]; close F; sleep 1500' "$TMP/bound" 2>"$TMP/perl" &
server=$!
at_exit "kill $server 2>/dev/null; wait $server 2>/dev/null"
wait_for 5 test -e "$TMP/bound" || skip_all "port 53 cannot be had: $(cat "$TMP/perl")"
echo 'nameserver 127.91.53.53' >"$TMP/resolv.conf"
echo 'hosts: files dns' >"$TMP/nsswitch.conf"
DRIVE_UNDER="unshare -m sh -c 'mount --bind $TMP/resolv.conf /etc/resolv.conf &&
	mount --bind $TMP/nsswitch.conf /etc/nsswitch.conf && exec \"\$0\"'"
drive resolve
