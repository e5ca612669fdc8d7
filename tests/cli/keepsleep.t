#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kept connections of a machine that slept: servers may be gone without a word, or still be there.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/sshd.sh"

sshd_setup
need pgrep
cd "$TMP" || exit 99
mkdir -m 700 run && export XDG_RUNTIME_DIR=$TMP/run SLEPT=$TMP/slept
"$BUILD/tests/lib/turns" -l port 0 trips $SSHD_PROXY &
turns=$!
at_exit 'kill -CONT $(pgrep -P $turns) 2>/dev/null; kill $turns 2>/dev/null; "$NANOPOD" keep stop 2>/dev/null'
wait_for 20 test -s port || { fail "the server listens"; done_testing; }
port=$(cat port)
printf '[127.0.0.1]:%s %s\n' "$port" "$(cut -d' ' -f1,2 "$SSHD_DIR/host.pub")" >"$SSHD_KNOWN"
{ printf 'Host far\n  HostName 127.0.0.1\n  Port %s\n' "$port"; cat "$SSHD_CONFIG"; } >far
nanopod_run() { timeout -k 5 120 "$NANOPOD" run -q -F far --keep 10m -w far -- "$@"; }
# A keeper whose clock the test moves: that of the command that made it.
nanopod_keeps() {
	LD_PRELOAD=$BUILD/tests/lib/.libs/slept.so ASAN_OPTIONS=verify_asan_link_order=0 nanopod_run "$@"
}
connections() { ls trips.* 2>/dev/null | wc -l; }
count() { "$NANOPOD" keep -o name 2>/dev/null | wc -l; }
counts() { [ "$(count)" -eq "$1" ]; }
# Whether a command made no connection.
reused() { was=$(connections); nanopod_run true && [ "$(connections)" -eq "$was" ]; }

echo 0 >slept
run_is 0 "a command that leaves its connection" nanopod_keeps true
ok "which the next one uses" reused
echo 60 >slept
run_is 0 "a command after a minute of sleep" nanopod_run true
# Its own connection, unless the keeper woke first and asked the server.
made=$(connections)
ok "makes at most one connection of its own" [ "$made" -le 2 ]
ok "once the server has answered, the next one uses a kept one" reused
ok "what was made is kept" wait_for 20 counts "$made"
"$NANOPOD" keep stop 2>/dev/null; wait_for 20 counts 0

rm -f trips.*
echo 0 >slept
run_is 0 "another one" nanopod_keeps true
kill -STOP $(pgrep -P $turns)
echo 60 >slept
run_is 0 "a server that is gone after the sleep: the next command connects again" nanopod_run "echo ran >>$TMP/ran"
is "$(cat ran)" ran "and runs once"
echo 120 >slept
run_is 0 "after another sleep as well" nanopod_run "echo ran >>$TMP/ran"
kill -CONT $(pgrep -P $turns)
"$NANOPOD" keep stop 2>/dev/null; wait_for 20 counts 0

echo 0 >slept
run_is 0 "one more" nanopod_keeps true
echo 601 >slept
before=$(connections)
run_is 0 "after a sleep that is longer than it is kept" nanopod_run true
is "$(connections)" $((before + 1)) "a command makes its own"
done_testing
