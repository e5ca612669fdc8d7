#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The market's database as the operator meets it: check and backup while it runs, kill -9, restore, a second
# daemon on the same data, a disk that is full and one that is read-only.

# Where this user may, in mounts of its own: a small disk is then made, and goes with the test.
if [ -z "${STORE_T_MOUNTS-}" ]; then
	STORE_T_MOUNTS=no
	unshare -m true 2>/dev/null && STORE_T_MOUNTS=yes
	export STORE_T_MOUNTS
	[ $STORE_T_MOUNTS = no ] || exec unshare -m sh "$0" "$@"
fi
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/marketd.sh"
need jq

care() { run "$MARKETD" "$@"; }
credit() { operator POST /np/v1/accounts/acme/credits "{\"amount_dollars\":\"$1.00\"}" >/dev/null; http_status; }
balance() { operator GET '/np/v1/balance?account=acme' | jq -r .available_dollars; }

marketd_start || done_testing
operator POST /np/v1/accounts '{"name":"acme"}' >/dev/null
is "$(http_status)" 201 "an account"
is "$(credit 100)" 201 "with \$100"

# ---- While it runs ----
care check --data "$MARKETD_DATA"
is "$status" 0 "check while it runs"
like "$err" 'every balance of the market matches the ledger' "compares the ledger with the market"
like "$err" "market.db' is good" "and says that all is well"
is "$out" "" "on stderr alone"
care backup --data "$MARKETD_DATA" "$TMP/copy.db"
is "$status" 0 "backup while it runs"
is "$(stat -c %a "$TMP/copy.db")" 600 "which others cannot read"
is "$(credit 11)" 201 "the market goes on"

# ---- Killed ----
marketd_kill
care check --data "$MARKETD_DATA"
is "$status" 0 "check after kill -9"
marketd_start || done_testing
is "$(balance)" 111.000000 "what was answered before kill -9 is there"
is "$(credit 5)" 201 "and it goes on"

# ---- Restore ----
marketd_stop
is "$marketd_status" 0 "it ends well"
care check --data "$MARKETD_DATA" "$TMP/copy.db"
is "$status" 0 "check of a copy" || diag "$err"
like "$err" "'$TMP/copy.db' is good" "names it"
head -c 40000 "$TMP/copy.db" >"$TMP/torn.db"
care check --data "$MARKETD_DATA" "$TMP/torn.db"
isnt "$status" 0 "half a copy is not good"
care check "$TMP/gone.db"
is "$status" 3 "nor is one that is not there"
unlike "$err" '--data' "which has nothing to do with --data"
care restore --data "$TMP/new" "$TMP/copy.db"
is "$status" 0 "restore makes a folder" || diag "$err"
is "$(stat -c %a "$TMP/new")" 700 "for the market's user alone"
care check --data "$TMP/new"
is "$status" 0 "with a market that is good"
care restore --data "$MARKETD_DATA" "$TMP/copy.db"
is "$status" 5 "restore does not overwrite"
like "$err" "restore --force $TMP/copy.db" "and says what would"
care restore --data "$MARKETD_DATA" --force "$TMP/copy.db"
is "$status" 0 "with --force it does"
marketd_start || done_testing
is "$(balance)" 100.000000 "the market is as it was at the backup"
marketd_stop
mv "$MARKETD_DATA/market.db.before-restore" "$MARKETD_DATA/market.db"
marketd_start || done_testing
is "$(balance)" 116.000000 "and what was there was put aside, whole"

# ---- A second daemon ----
first=$MARKETD_PID first_socket=$MARKETD_SOCKET MARKETD_SOCKET=$TMP/second.sock
at_exit 'kill "$first" 2>/dev/null'
if marketd_start; then
	is "$(balance)" 116.000000 "a second daemon on the same data knows all"
	is "$(credit 4)" 201 "and writes"
	second=$MARKETD_SOCKET MARKETD_SOCKET=$first_socket
	got=$(credit 1000)
	isnt "$got" 201 "the first cannot write any more ($got)"
	MARKETD_SOCKET=$second
	is "$(balance)" 120.000000 "and has not"
	kill "$first" 2>/dev/null
	wait "$first" 2>/dev/null
	is "$(credit 1)" 201 "the second goes on when the first has ended"
fi
marketd_stop
care check --data "$MARKETD_DATA"
is "$status" 0 "and check is content"

# ---- Wrong files ----
mkdir -m 700 "$TMP/wrong"
care check --data "$TMP/wrong"
is "$status" 3 "check where no market is"
is "$(ls "$TMP/wrong")" "" "makes none"
printf 'not a database, not at all' >"$TMP/wrong/market.db"
care check --data "$TMP/wrong"
is "$status" 5 "check of another file"
like "$err" "restore --force BACKUP" "says what to do"
run timeout 60 "$MARKETD" --data "$TMP/wrong" --listen 127.0.0.1:0
isnt "$status" 0 "nor does a daemon start on it"
like "$err" "wrong/market.db' is not a market's database" "and says why"
is "$(cat "$TMP/wrong/market.db")" "not a database, not at all" "it is left as it was"
head -c 20000 "$TMP/copy.db" >"$TMP/wrong/market.db"
care check --data "$TMP/wrong"
is "$status" 11 "check of one that was cut off"
like "$err" 'is truncated: 20000 bytes are left' "says so"

# ---- Disks ----
mkdir "$TMP/disk"
if [ "$STORE_T_MOUNTS" = yes ] && mount -t tmpfs -o size=2m nanopod-test "$TMP/disk" 2>/dev/null; then
	at_exit 'umount -l "$TMP/disk"'
	MARKETD_DATA=$TMP/disk/market
	marketd_start || done_testing
	operator POST /np/v1/accounts '{"name":"acme"}' >/dev/null
	sum=0 n=0
	cat /dev/zero >"$TMP/disk/filler" 2>/dev/null
	while [ $n -lt 400 ]; do
		n=$((n + 1))
		got=$(credit 1)
		[ "$got" = 201 ] || break
		sum=$((sum + 1))
	done
	is "$got" 503 "on a full disk the market says that it cannot write (after $sum credits)"
	rm "$TMP/disk/filler"
	again() { [ "$(credit 1)" = 201 ]; }
	ok "and goes on by itself once there is room" wait_for 20 again
	is "$(balance)" "$((sum + 1)).000000" "with just what it had answered"
	marketd_stop
	care check --data "$MARKETD_DATA"
	is "$status" 0 "check is content"
	mount -o remount,ro "$TMP/disk"
	run timeout 60 "$MARKETD" --data "$MARKETD_DATA" --listen 127.0.0.1:0 --socket "$TMP/ro.sock"
	isnt "$status" 0 "on a read-only disk it does not start"
	like "$err" 'read-only|Read-only' "and says why"
else
	skip "no disk can be mounted here"
fi
done_testing
