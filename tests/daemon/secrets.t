#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A complete life, from joining to the end, while this test reads every command line of the machine many times a second:
# no token and no private key appears in one, nor in a log, a console, the market's files, or a file that others can
# read. And a buyer's "key" that is not a key, or is more than one, reaches no node.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
. "$(dirname "$0")/../lib/agentd.sh"
. "$(dirname "$0")/../lib/life.sh"
need perl

# The test itself must not put a token into a command line: http_call reads its header from a file.
as() {
	as_token=$1 as_method=$2 as_path=$3 as_body=${4-}
	shift 3; [ $# -eq 0 ] || shift
	printf 'Authorization: Bearer %s\n' "$as_token" >"$TMP/.bearer"
	http_call "$NANOPOD_URL" "$as_method" "$as_path" "$as_body" -H "@$TMP/.bearer" "$@"
}

# ---- Who looks at command lines ----------------------------------------------------------------------------------
cat >"$TMP/look.pl" <<'END'
use strict;
my ($out, $stop) = @ARGV;
my %seen;
open my $to, '>>', $out or die;
$to->autoflush(1);
# Suites that run beside this one give tokens to programs as arguments: what has another one's $TMP is none of ours.
sub other {
	open my $f, '<', "/proc/$_[0]/environ" or return;
	local $/;
	return (<$f> // '') =~ m{(?:^|\0)TMP=([^\0]*/nanopod-test\.[^\0]*)} && $1 ne $ENV{TMP};
}
while (!-e $stop) {
	opendir my $d, '/proc' or die;
	for my $pid (grep { /^\d+$/ } readdir $d) {
		next if other($pid);
		open my $f, '<', "/proc/$pid/cmdline" or next;
		local $/;
		my $line = <$f> // next;
		$line =~ tr/\0\n/  /;
		print $to "$line\n" unless $seen{$line} || other($pid) || $seen{$line}++;
	}
	closedir $d;
	select undef, undef, undef, 0.005;
}
END
: >"$TMP/cmdlines"
perl -MIO::Handle "$TMP/look.pl" "$TMP/cmdlines" "$TMP/look.stop" &
LOOK=$!
at_exit "kill $LOOK 2>/dev/null"

# ---- A life ------------------------------------------------------------------------------------------------------
life_begin
chmod 755 "$TMP"   # what others can read is to be found
JOIN=$(agentd_token)
agentd_token() { printf '%s\n' "$JOIN"; }
agentd_join m1 2
"$AGENTD" --data "$TMP/m1" status >/dev/null 2>&1
agentd_start m1 "${LIFE_OPTIONS[@]}" --grace 1 --log-level debug
NANOPOD_TOKEN=$ACME
export NANOPOD_TOKEN
"$NANOPOD" buy -t cpu -n 1 -d 1h -p 2 --name life --ssh-key "$TMP/buyer.pub" -y >"$TMP/cli.log" 2>&1 ||
	diag "$(cat "$TMP/cli.log")"
agentd_clock $((NOW + 60))
NODE=$(as "$ACME" GET '/np/v1/nodes' | json '.data[0].name')
ok "what was bought runs" wait_for 120 node_is "$NODE" running || life_say m1
I=$(node "$NODE" .id)
CLI="--ssh-config none --known-hosts none --identity $TMP/buyer --agent none"
is "$("$NANOPOD" run -r life $CLI -- echo there 2>>"$TMP/cli.log")" "$NODE: there" "and is reached"
"$NANOPOD" nodes >>"$TMP/cli.log" 2>&1
"$NANOPOD" logs -r life >>"$TMP/cli.log" 2>&1
"$NANOPOD" console "$NODE" >>"$TMP/cli.log" 2>&1
"$NANOPOD" token create spare >"$TMP/spare" 2>>"$TMP/cli.log"
"$NANOPOD" whoami >>"$TMP/cli.log" 2>&1
console_all() { for each in $(as "$ACME" GET '/np/v1/nodes?state=all' | json '.data[].id'); do as "$ACME" GET "/v2/instances/$each/logs?limit=1000" | jq -r '.data[].data | @base64d'; done; }
cp "$TMP/m1/nodes/$I/hostkey" "$TMP/hostkey.kept" && chmod 600 "$TMP/hostkey.kept"
cp "$TMP/m1/key" "$TMP/key.kept" && chmod 600 "$TMP/key.kept"
wait_for 10 eval '[ -n "$(console_all)" ]'
console_all >"$TMP/console.log"

# ---- Where secrets are not ---------------------------------------------------------------------------------------
{
	printf '%s\n' "$JOIN" "$ACME" "$FOUNDRY"
	grep -v '^-----' "$TMP/key.kept"
	# The last lines of an OpenSSH key are its private part.
	grep -v '^-----' "$TMP/hostkey.kept" | tail -n 3 | head -n 2
} >"$TMP/.secrets"
SECRETS='nps_[A-Za-z0-9_]{8,}[A-Za-z0-9_-]{20,}|npk_[A-Za-z0-9_-]{16,}|PRIVATE KEY'
# told FILE…: the files that contain a secret, by its text or its form.
# Disks without their holes: they are large.
in_disks() {
	find "${@:3}" -name disk.img 2>/dev/null | while read -r disk; do
		! tar -PcSf - "$disk" 2>/dev/null | grep -qa "$1" "$2" || echo "$disk"
	done
}
told() {
	grep -rlaF --exclude=disk.img -f "$TMP/.secrets" "$@" 2>/dev/null
	grep -rlaE --exclude=disk.img -e "$SECRETS" "$@" 2>/dev/null
	in_disks -Ff "$TMP/.secrets" "$@"
	in_disks -Ee "$SECRETS" "$@"
}
is "$(told "$TMP/key.kept" "$TMP/hostkey.kept" "$TMP/.bearer" | sort -u | wc -l)" 3 "(this finds each kind)"
is "$(told "$TMP/m1.log" "$MARKETD_LOG" "$TMP/cli.log")" "" "no secret is in what agent, market and commands say"
ok "(they say something)" test -s "$TMP/m1.log"
is "$(told "$TMP/console.log")" "" "nor in the console"
ok "(which says something too)" test -s "$TMP/console.log"
is "$(told "$MARKETD_DATA")" "" "nor in any file of the market"
is "$(told "$TMP/m1" | sort -u | sed "s,^$TMP/m1/,," | grep -v -e '^key$' -e "^nodes/$I/.*hostkey\$" -e '/ssh_host_ed25519_key$')" "" \
	"nor in one of the agent's, but for the keys themselves"
"$MARKETD" backup --data "$MARKETD_DATA" "$TMP/backup.db" >/dev/null 2>&1
is "$(told "$TMP/backup.db" "$TMP"/m1.joined "$TMP"/m1.err)" "" "nor in a copy of the market, nor in what joining said"

# Others.
is "$(stat -c %a "$TMP/m1" "$MARKETD_DATA" | tr '\n' ' ')" "700 700 " "both folders are their owner's alone"
is "$(find "$TMP/m1" "$MARKETD_DATA" -maxdepth 1 -type f -perm /077)" "" "and each file right in them"
open_files() { find "$TMP/m1" "$MARKETD_DATA" "$MARKETD_SOCKET" -type f -perm /077 -exec grep -laE -e "$SECRETS" {} + ; find "$TMP/m1" "$MARKETD_DATA" -type f -perm /077 -exec grep -laF -f "$TMP/.secrets" {} +; }
is "$(open_files 2>/dev/null)" "" "no file with wider rights holds a secret, however deep"
if [ "$(id -u)" -eq 0 ] && have setpriv; then
	stranger() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }
	ok "(another user can read what is open)" stranger grep -q agent "$TMP/m1.joined"
	is "$(stranger find "$TMP/m1" "$MARKETD_DATA" -type f 2>/dev/null)" "" "another user finds no file of theirs"
	not_ok "and does not get through the market's socket" \
		stranger curl -sS --max-time 5 --unix-socket "$MARKETD_SOCKET" http://localhost/np/v1/accounts
else
	skip "another user: needs root"
fi

# ---- Keys that are none --------------------------------------------------------------------------------------------
for name in options lines second control good; do ssh-keygen -q -t ed25519 -N '' -C $name -f "$TMP/k-$name"; done
pub() { cat "$TMP/k-$1.pub"; }
{
	printf '#cloud-config\nssh_authorized_keys:\n'
	printf '  - no-pty,no-X11-forwarding %s\n' "$(pub options)"
	printf '  - "%s\\n%s"\n' "$(pub lines)" "$(pub second)"
	printf '  - "%s\\e]0;owned\\a"\n' "$(pub control)"
	printf '  - "%s"\n' "$(awk '{ printf "%s\\n", $0 }' "$TMP/k-good")"
	printf '  - %s\n' "$(pub good)"
} >"$TMP/config"
as "$ACME" PUT "/np/v1/instances/$I/user-data" "{\"user_data\":\"$(base64 -w0 <"$TMP/config")\"}" >"$TMP/.put"
is "$(http_status)" 204 "other keys are given, most of which are none" || diag "$(cat "$TMP/.put")"
in_with() { LIFE_KEY=$TMP/k-$1 life_in "$NODE" 'echo in'; }
good() { [ "$(in_with good)" = in ]; }
ok "the one that is one lets in" wait_for 40 good || life_say m1
for name in options lines second control; do is "$(in_with $name)" "" "'$name' does not"; done
is "$(LIFE_KEY=$TMP/buyer life_in "$NODE" 'echo in')" "" "nor the one before"
said() { console_all >"$TMP/console.log"; grep -q 'key 4 is refused' "$TMP/console.log"; }
ok "the buyer is told" wait_for 20 said || diag "$(cat "$TMP/console.log")"
like "$(grep 'key 1 is' "$TMP/console.log")" 'options before a key are not accepted' "of options"
like "$(grep 'key 2 is' "$TMP/console.log")" 'newline or a control character' "of two lines"
like "$(grep 'key 3 is' "$TMP/console.log")" 'newline or a control character' "of control characters"
like "$(grep 'key 4 is' "$TMP/console.log")" 'PRIVATE key: it must never leave your machine' "and of a private key"
not_ok "no control character comes to his terminal" grep -q "$(printf '\033')" "$TMP/console.log"
BODY=$(grep -v '^-----' "$TMP/k-good" | tail -n 2 | head -n 1)
is "$(grep -laF -e "$BODY" "$TMP/console.log" "$TMP/m1.log" "$MARKETD_LOG")" "" "the private key is repeated nowhere"
is "$(grep -rlaF --exclude=disk.img -e "$(pub options | cut -d' ' -f2)" -e "$(pub second | cut -d' ' -f2)" -e "$(pub control | cut -d' ' -f2)" -e "$BODY" "$TMP/m1")" "" "and none of them is in a file of a node"
run "$NANOPOD" buy -t cpu -n 1 -d 1h -p 2 --name bad --ssh-key "$TMP/k-good" -y
isnt "$status" 0 "the command line gives no private key away"
like "$err" 'rivate key' "and says why"
unlike "$out$err" "$BODY" "without showing it"

# ---- Its end -----------------------------------------------------------------------------------------------------------
for each in $(as "$ACME" GET /np/v1/nodes | json '.data[].id'); do as "$ACME" POST "/v2/instances/$each/terminate" >/dev/null; done
ok "the end" wait_for 60 life_nothing m1 || life_say m1
agentd_stop m1
marketd_stop
: >"$TMP/look.stop"
wait "$LOOK"
ok "command lines were seen ($(wc -l <"$TMP/cmdlines"))" grep -q 'nanopod-agentd --data' "$TMP/cmdlines"
is "$(grep -aF -f "$TMP/.secrets" "$TMP/cmdlines")" "" "and none of them has a secret of these in it"
is "$(grep -aE "$SECRETS" "$TMP/cmdlines" | grep -v -e 'curl ' -e '%{http_code}' -e grep -e 'login --token')" "" \
	"nor any other (what other tests give to curl, and to 'login --token' to be refused, is left out)"
is "$(told "$TMP/m1.log" "$MARKETD_LOG" "$TMP/console.log" "$MARKETD_DATA")" "" "nor have logs and files at the end"
done_testing
